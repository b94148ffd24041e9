package grid

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/cf"
)

// Axis is a dimension, as a selection sees it.
type Axis struct {
	Name string
	N    int64
	// Coord gives its values; nil without a coordinate. It is called where they are needed.
	Coord func() (*Coord, error)
}

// Coord is the values of a dimension, of one of three kinds.
type Coord struct {
	Floats []float64
	Ints   []int64
	Texts  []string

	Single bool // the floats are of 32 bits
	// Time: the integers count Unit since 1970 in the calendar.
	Time     bool
	Unit     cf.Unit
	Calendar string
	East     bool // degrees east, which are the same modulo 360
	Units    string
}

// MaxBytes bounds a coordinate.
const MaxBytes = 1 << 30

// Numbers are n values of a type, as data has them; d is what made them of others, or nil.
func Numbers(data []byte, typ shardify.DType, n int64, d *cf.Decoder) *Coord {
	c := &Coord{}
	if typ.IsFloat() {
		c.Single, c.Floats = typ == shardify.F32, make([]float64, n)
		numeric.Convert(shardify.Bytes(c.Floats), shardify.F64, data, typ)
	} else {
		c.Ints = make([]int64, n)
		numeric.Convert(shardify.Bytes(c.Ints), shardify.I64, data, typ)
	}
	if d != nil {
		if calendar, ok := d.Time(); ok {
			c.Time, c.Unit, c.Calendar = true, d.Into(), calendar
		}
	}
	return c
}

// In gives the values their units.
func (c *Coord) In(units string) {
	c.Units = units
	switch strings.ToLower(strings.TrimSpace(units)) {
	case "degrees_east", "degree_east", "degrees_e", "degree_e", "degreese", "degreee":
		c.East = true
	}
}

// Len is the number of values.
func (c *Coord) Len() int64 { return int64(len(c.Floats) + len(c.Ints) + len(c.Texts)) }

// text is a value for people.
func (c *Coord) text(i int) string {
	switch {
	case c.Texts != nil:
		return strconv.Quote(c.Texts[i])
	case c.Floats != nil && c.Single:
		return strconv.FormatFloat(c.Floats[i], 'g', -1, 32)
	case c.Floats != nil:
		return strconv.FormatFloat(c.Floats[i], 'g', -1, 64)
	case !c.Time:
		return strconv.FormatInt(c.Ints[i], 10)
	case c.Ints[i] == cf.NaT:
		return "NaT"
	case c.Calendar != "":
		return fmt.Sprintf("%d %s since 1970 (%s)", c.Ints[i], c.Unit.Name(), c.Calendar)
	case c.Unit == cf.Seconds:
		return time.Unix(c.Ints[i], 0).UTC().Format("2006-01-02T15:04:05")
	}
	return time.Unix(0, c.Ints[i]).UTC().Format("2006-01-02T15:04:05.999999999")
}

// shown is the most values that an error lists.
const shown = 12

// describe lists the values.
func (c *Coord) describe() string {
	n := int(c.Len())
	if n == 0 {
		return "it has no values"
	}
	if n > shown {
		return fmt.Sprintf("its %d values go from %s to %s", n, c.text(0), c.text(n-1))
	}
	list := make([]string, n)
	for i := range list {
		list[i] = c.text(i)
	}
	return "its values are " + strings.Join(list, ", ")
}

// near is the distance up to which a value is taken for v: what rounding makes of it, and a
// small part of the smallest distance of neighbouring values.
func (c *Coord) near(v float64) float64 {
	size, least := math.Abs(v), format.Spacing(c.Floats)
	if c.East {
		size = max(size, 360)
	}
	rounding := size * 0x1p-52
	if c.Single {
		rounding = size * 0x1p-23
	}
	return max(min(1e-6*least, 1e-6*size), min(rounding, least/8))
}

// monotone: the values rise, or fall, all along.
func (c *Coord) monotone() bool {
	rise := func(a, b float64) int {
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	}
	v := c.numbers()
	if len(v) < 2 {
		return true
	}
	way := rise(v[0], v[1])
	for i := 1; i < len(v); i++ {
		if way == 0 || rise(v[i-1], v[i]) != way {
			return false
		}
	}
	return true
}

// numbers are the values as floats.
func (c *Coord) numbers() []float64 {
	if c.Floats != nil {
		return c.Floats
	}
	out := make([]float64, len(c.Ints))
	for i, v := range c.Ints {
		out[i] = float64(v)
	}
	return out
}

// round gives a number the precision of the values.
func (c *Coord) round(v float64) float64 {
	if c.Single {
		return float64(float32(v))
	}
	return v
}

// value are the places of one value.
func (c *Coord) value(text string) (found Pick, err error) {
	switch {
	case c.Texts != nil:
		for i, t := range c.Texts {
			if t == text {
				found = found.add(int64(i))
			}
		}
		return found, nil
	case c.Time:
		return c.period(text, text)
	}
	v, err := number(text)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && c.Ints != nil && !c.East {
		for i, x := range c.Ints {
			if x == n {
				found = found.add(int64(i))
			}
		}
		return found, nil
	}
	v, best, near := c.round(v), int64(-1), math.Inf(1)
	for i, x := range c.numbers() {
		d := math.Abs(x - v)
		if c.East {
			d = math.Mod(d, 360)
			d = min(d, 360-d)
		}
		switch {
		case d == 0:
			found = found.add(int64(i))
		case d < near:
			best, near = int64(i), d
		}
	}
	if len(found) == 0 && best >= 0 && c.Floats != nil && near <= c.near(v) {
		found = found.add(best)
	}
	return found, nil
}

// period are the places of times from one date to another, both with all that they name.
func (c *Coord) period(from, to string) (found Pick, err error) {
	ends := [2]int64{math.MinInt64 + 1, math.MaxInt64}
	bounds := [2][2]int64{}
	for k, text := range []string{from, to} {
		if text == "" {
			bounds[k] = [2]int64{ends[k], ends[k]}
			continue
		}
		lo, hi, ok := cf.Period(text, c.Calendar, c.Unit)
		if !ok {
			return nil, fmt.Errorf("%q is not a date of this calendar: 2018, 2018-01, 2018-01-31, 2018-01-31T06:00 are some", text)
		}
		bounds[k] = [2]int64{lo, hi}
	}
	lo, hi := bounds[0][0], bounds[1][1]
	if bounds[1][0] < lo && from != "" && to != "" {
		lo, hi = bounds[1][0], bounds[0][1]
	}
	for i, v := range c.Ints {
		if v != cf.NaT && v >= lo && v <= hi {
			found = found.add(int64(i))
		}
	}
	return found, nil
}

// between are the places of values from one end to the other, both included. Either end may
// be empty.
func (c *Coord) between(from, to string) (found Pick, err error) {
	switch {
	case c.Texts != nil:
		return nil, fmt.Errorf("texts have no range: name them one by one, or by place as [0:10]")
	case c.Time:
		return c.period(from, to)
	}
	lo, hi := math.Inf(-1), math.Inf(1)
	if from != "" {
		if lo, err = number(from); err != nil {
			return nil, err
		}
	}
	if to != "" {
		if hi, err = number(to); err != nil {
			return nil, err
		}
	}
	lo, hi = c.round(lo), c.round(hi)
	v := c.numbers()
	if len(v) == 0 {
		return nil, nil
	}
	if c.East && from != "" && to != "" && !(lo <= hi && lo >= slices.Min(v) && hi <= slices.Max(v)) {
		return c.eastward(v, lo, hi), nil
	}
	if lo > hi {
		lo, hi = hi, lo
	}
	for i, x := range v {
		if x >= lo && x <= hi {
			found = found.add(int64(i))
		}
	}
	return found, nil
}

// eastward are the places from lo eastward to hi, modulo 360, those that go on beyond the end
// of the axis behind those before it.
func (c *Coord) eastward(v []float64, lo, hi float64) (found Pick) {
	width := hi - lo
	if width < 0 {
		width = math.Mod(width, 360) + 360
	}
	near := c.near(lo)
	from := func(x float64) float64 { // the distance from lo, up to rounding
		d := math.Mod(math.Mod(x-lo, 360)+360, 360)
		if 360-d <= near {
			return 0
		}
		return d
	}
	for i, x := range v {
		if from(x) <= width+near {
			found = found.add(int64(i))
		}
	}
	if !c.monotone() {
		return found
	}
	// It goes round if the distance from lo falls on a rising axis, or rises on a falling one.
	rising, last := v[0] < v[len(v)-1], math.NaN()
	var head, tail Pick
	found.each(func(at int64) {
		d := from(v[at])
		if tail != nil || rising && d < last || !rising && d > last {
			tail = tail.add(at)
		} else {
			head = head.add(at)
		}
		last = d
	})
	return append(tail, head...)
}

func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return v, nil
}
