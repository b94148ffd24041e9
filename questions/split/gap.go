package split

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/transform/expr"
)

var (
	distance = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([a-z]*)$`) })
	// units of times, in microseconds.
	units = map[string]*big.Rat{"w": big.NewRat(7*24*3600e6, 1), "d": big.NewRat(24*3600e6, 1), "h": big.NewRat(3600e6, 1), "min": big.NewRat(60e6, 1), "s": big.NewRat(1e6, 1), "ms": big.NewRat(1e3, 1), "us": big.NewRat(1, 1), "ns": big.NewRat(1, 1e3)}
)

// maxBounds is the most constants of the conditions of a split with a gap.
const maxBounds = 256

// findGap finds which samples of a split by conditions are within its gap: the conditions of Rule.Near,
// and that of Rule.Placed.
func findGap(r *splits.Rule) error {
	if r.Gap == "" {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return shardify.Hint(shardify.Usage("--split: gap=%s: %s", r.Gap, fmt.Sprintf(format, args...)),
			`a gap is between values of one field, as in 'val=time >= "2019-01-01"; train=rest; gap=24h'`)
	}
	b, err := bordersOf(r)
	if err != nil {
		return wrong("%v", err)
	}
	gap, err := b.width(r.Gap)
	if err != nil {
		return wrong("%v", err)
	}
	back := new(big.Rat).Neg(gap)
	r.Near = nil
	for from := 0; from < b.places(); {
		to := from
		for to+1 < b.places() && b.part[to+1] == b.part[from] {
			to++
		}
		if part := b.part[from]; part >= 0 && part != b.rest {
			if from > 0 {
				before, err := b.within(from, back)
				if err != nil {
					return wrong("%v", err)
				}
				r.Near = append(r.Near, splits.Near{Where: before, Part: part})
			}
			if to+1 < b.places() && b.rest >= 0 {
				behind, err := b.within(to+1, gap)
				if err != nil {
					return wrong("%v", err)
				}
				r.Near = append(r.Near, splits.Near{Where: behind, Part: part, Rest: true})
			}
		}
		from = to + 1
	}
	first, err := b.bounds[0].Shifted(new(big.Rat))
	if err != nil {
		return wrong("%v", err)
	}
	r.Placed = fmt.Sprintf("%s < %s || %s >= %s", b.field, first, b.field, first)
	return nil
}

// borders are the constants of conditions, and the part of each place: in front of the first, at it,
// between it and the next, and so on.
type borders struct {
	field  string // as an expression
	bounds []expr.Bound
	part   []int // -1: no part
	rest   int   // -1: no part
}

func (b *borders) places() int { return len(b.part) }

func bordersOf(r *splits.Rule) (*borders, error) {
	b := &borders{rest: -1}
	var orders []*expr.Order
	name := ""
	for i, text := range r.Conditions() {
		if text == "" {
			b.rest = i
			orders = append(orders, nil)
			continue
		}
		e, err := expr.Parse(text)
		if err != nil {
			return nil, err
		}
		o, err := e.Order()
		if err != nil {
			return nil, err
		}
		if name != "" && name != o.Field {
			return nil, fmt.Errorf("the conditions compare two fields, %s and %s", name, o.Field)
		}
		name, orders, b.bounds = o.Field, append(orders, o), append(b.bounds, o.Bounds...)
	}
	if len(b.bounds) == 0 {
		return nil, errors.New("no condition compares an ordered field")
	}
	if len(b.bounds) > maxBounds {
		return nil, fmt.Errorf("%d constants, at most %d", len(b.bounds), maxBounds)
	}
	for _, c := range b.bounds {
		if (c.Time == "") != (b.bounds[0].Time == "") {
			return nil, fmt.Errorf("the conditions compare %s with times and with numbers", name)
		}
	}
	r.Over, b.field = name, expr.Quote(name)
	slices.SortStableFunc(b.bounds, func(x, y expr.Bound) int { return x.At.Cmp(y.At) })
	b.bounds = slices.CompactFunc(b.bounds, func(x, y expr.Bound) bool { return x.At.Cmp(y.At) == 0 })
	in := func(at *big.Rat, behind bool) int {
		for i, o := range orders {
			if o != nil && o.Holds(at, behind) {
				return i
			}
		}
		return b.rest
	}
	b.part = append(b.part, in(new(big.Rat).Sub(b.bounds[0].At, big.NewRat(1, 1)), false))
	for _, c := range b.bounds {
		b.part = append(b.part, in(c.At, false), in(c.At, true))
	}
	return b, nil
}

// width is a gap as the bounds count.
func (b *borders) width(text string) (*big.Rat, error) {
	m := distance().FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("want a number, as 5, or a time, as 24h")
	}
	n, ok := new(big.Rat).SetString(m[1])
	unit := units[m[2]]
	times := b.bounds[0].Time != ""
	switch {
	case !ok || n.Sign() <= 0:
		return nil, errors.New("want more than nothing")
	case m[2] != "" && unit == nil:
		return nil, fmt.Errorf("%s is no unit of time: want w, d, h, min, s, ms, us or ns", m[2])
	case times && unit == nil:
		return nil, fmt.Errorf("%s is compared with times: want a unit, as in gap=%sh or gap=%sd", b.field, m[1], m[1])
	case !times && unit != nil:
		return nil, fmt.Errorf("%s is compared with numbers: want a number in its unit, as in gap=%s", b.field, m[1])
	case times:
		if n.Mul(n, unit); !n.IsInt() {
			return nil, errors.New("want whole microseconds")
		}
	}
	return n, nil
}

// within is a condition for the values beside the beginning of a place: those less than by in front
// of it, if by is negative, or behind it.
func (b *borders) within(place int, by *big.Rat) (string, error) {
	c := b.bounds[(place-1)/2]
	at, err := c.Shifted(new(big.Rat))
	if err != nil {
		return "", err
	}
	far, err := c.Shifted(by)
	if err != nil {
		return "", err
	}
	ops := [2]string{">=", "<"} // the place begins with c
	if place%2 == 0 {
		ops = [2]string{">", "<="}
	}
	if by.Sign() > 0 {
		at, far = far, at
	}
	return strings.Join([]string{b.field, ops[0], far, "&&", b.field, ops[1], at}, " "), nil
}
