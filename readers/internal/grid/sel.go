package grid

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// SelOption is the option of all readers that know dimensions.
var SelOption = format.Option{Name: "sel", Idle: format.Always, Kind: format.KindString, Quiet: true,
	Help: "take a part of the dimensions: time=2018..2020,latitude=-30..60,level=500,850 by coordinate, both ends included; lon=[0:10] by place, time=::4 every fourth"}

// Selection is what --sel says. It is used by several goroutines.
type Selection struct {
	text    string
	clauses []*clause
}

// clause is what is taken of one dimension.
type clause struct {
	flag  string // it was said with, up to the values
	text  string
	dim   string
	items []item // none: all
	step  int64  // every so many of them; 1 is all

	mu     sync.Mutex
	found  []bool           // by item, in any input
	counts map[string]int64 // places before the step, by input
	hint   string           // what an axis has
	of     string           // in this input
}

// item is a value, a range of values, or a range of places.
type item struct {
	text     string
	from, to string
	ranged   bool
	place    bool
	at       [3]*int64 // begin, end, step of places, as in Python
}

// Parse reads the value of --sel; nil if it is empty.
func Parse(text string) (*Selection, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	s := &Selection{text: text}
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if dim, first, ok := strings.Cut(part, "="); ok {
			c := &clause{dim: strings.TrimSpace(dim), step: 1}
			c.flag = "--sel " + c.dim + "="
			if c.dim == "" || s.clause(c.dim) != nil {
				return nil, misuse(text, "%q names no dimension, or one a second time", part)
			}
			s.clauses = append(s.clauses, c)
			part = strings.TrimSpace(first)
		}
		if len(s.clauses) == 0 {
			return nil, misuse(text, "%q is not DIMENSION=VALUES", part)
		}
		if err := s.clauses[len(s.clauses)-1].add(part); err != nil {
			return nil, misuse(text, "%v", err)
		}
	}
	return s, nil
}

func misuse(text, format string, args ...any) error {
	return shardify.Misuse("--sel '%s': %s", text, fmt.Sprintf(format, args...))
}

// clause is that of a dimension: by its name, or the last part of its path.
func (s *Selection) clause(dim string) *clause {
	if s == nil {
		return nil
	}
	for _, c := range s.clauses {
		if c.dim == dim {
			return c
		}
	}
	for _, c := range s.clauses {
		if c.dim == path.Base(dim) {
			return c
		}
	}
	return nil
}

// add reads one value or range.
func (c *clause) add(text string) error {
	if c.step > 1 {
		return fmt.Errorf("%s: a step ::%d comes last", c.dim, c.step)
	}
	if c.text != "" {
		c.text += ","
	}
	c.text += text
	it := item{text: text}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return fmt.Errorf("%q lacks its ]", text)
		}
		it.place = true
		parts := strings.Split(inner, ":")
		if len(parts) > 3 {
			return fmt.Errorf("%q is not [BEGIN:END:STEP]", text)
		}
		for k, p := range parts {
			if p = strings.TrimSpace(p); p == "" {
				continue
			}
			n, err := strconv.ParseInt(p, 10, 40)
			if err != nil || k == 2 && n < 1 {
				return fmt.Errorf("%q is not [BEGIN:END:STEP] of whole numbers", text)
			}
			it.at[k] = &n
		}
		if it.ranged = len(parts) > 1; !it.ranged && it.at[0] == nil {
			return fmt.Errorf("%q names no place", text)
		}
		c.items = append(c.items, it)
		return nil
	}
	if rest, step, ok := strings.Cut(text, "::"); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(step), 10, 40)
		if err != nil || n < 1 {
			return fmt.Errorf("%q: a step is ::N", text)
		}
		c.step = n
		if text = strings.TrimSpace(rest); text == "" {
			if len(c.items) > 0 {
				return fmt.Errorf("%s: a step ::%d comes after a range", c.dim, n)
			}
			return nil
		}
	}
	var ok bool
	if it.from, it.to, ok = strings.Cut(text, ".."); ok {
		it.ranged = true
	} else if from, to, ok := strings.Cut(text, ":"); ok && isNumber(from) && isNumber(to) {
		it.from, it.to, it.ranged = from, to, true
	} else {
		it.from = text
	}
	it.from, it.to = strings.TrimSpace(it.from), strings.TrimSpace(it.to)
	if it.from == "" && it.to == "" {
		return fmt.Errorf("%s=%q names no value", c.dim, text)
	}
	c.items = append(c.items, it)
	return nil
}

func isNumber(s string) bool {
	_, err := number(strings.TrimSpace(s))
	return err == nil
}

// Text is the option's value, "" without a selection.
func (s *Selection) Text() string {
	if s == nil {
		return ""
	}
	return s.text
}

// unknown is the first dimension of the selection that is not in dims; "" if all are.
func (s *Selection) unknown(dims []string) string {
	for _, c := range s.clauses {
		if !slices.ContainsFunc(dims, func(d string) bool { return s.clause(d) == c }) {
			return c.dim
		}
	}
	return ""
}

// takes reports whether the selection names a dimension.
func (s *Selection) takes(dim string) bool { return s.clause(dim) != nil }

// pick is what is taken of an axis, nil for all of it. A value that the axis does not have is an
// error, and so is an empty result.
func (s *Selection) pick(a *Axis) (Pick, error) {
	if c := s.clause(a.Name); c != nil {
		return c.pick(a)
	}
	return nil, nil
}

func (c *clause) pick(a *Axis) (Pick, error) {
	found, coord, err := c.resolve(a)
	if err != nil {
		return nil, err
	}
	var p Pick
	seen := map[int64]bool{}
	for k, list := range found {
		if len(list) == 0 {
			return nil, c.nothing(c.items[k].text, a, coord)
		}
		if len(found) == 1 { // of which none is there twice
			p = list
			break
		}
		list.each(func(at int64) {
			if seen[at] && err == nil {
				err = shardify.Misuse("%s%s takes place %d twice", c.flag, c.text, at)
			}
			seen[at] = true
			p = p.add(at)
		})
	}
	if p = p.every(c.step); err != nil || len(p) == 0 {
		if err != nil {
			return nil, err
		}
		return nil, c.nothing(c.text, a, coord)
	}
	return p, nil
}

// rows is what is taken of the axis of the samples of an input, which keep their order: nil
// for all of it, and maybe nothing, since other inputs have other samples. several: there
// are such.
func (s *Selection) rows(a *Axis, input string, several bool) (Pick, error) {
	c := s.clause(a.Name)
	if c == nil {
		return nil, nil
	}
	if several && slices.ContainsFunc(c.items, func(it item) bool { return it.place }) {
		return nil, shardify.Misuse("%s%s: places count within one input, and there are several; select by value", c.flag, c.text)
	}
	found, coord, err := c.resolve(a)
	if err != nil {
		return nil, err
	}
	p := Pick{}
	if len(found) == 1 {
		p = append(p, found[0]...)
	} else {
		var all []int64
		for _, f := range found {
			f.each(func(at int64) { all = append(all, at) })
		}
		slices.Sort(all)
		for _, at := range slices.Compact(all) {
			p = p.add(at)
		}
	}
	c.note(found, a, coord, input, p.Len(a.N))
	if c.step > 1 {
		p = append(Pick{}, p.every(c.step)...)
	}
	return p, nil
}

// note keeps what was found in an input: n places, of which the step takes some.
func (c *clause) note(found []Pick, a *Axis, coord *Coord, input string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil {
		c.found, c.counts = make([]bool, len(found)), map[string]int64{}
	}
	for k := range found {
		c.found[k] = c.found[k] || len(found[k]) > 0
	}
	if c.step > 1 {
		c.counts[input] = n
	}
	if c.hint == "" || input < c.of { // the same one, whichever is looked at first
		c.of = input
		if c.hint = fmt.Sprintf("%s has %d places", a.Name, a.N); coord != nil {
			c.hint = fmt.Sprintf("of the coordinate %s in %s %s", a.Name, input, coord.describe())
		}
	}
}

// Rest is the error about samples that were asked for and are in none of the inputs, which
// it names in order, and about a step that does not go on from one input to the next.
func (s *Selection) Rest(inputs iter.Seq[string]) error {
	if s == nil {
		return nil
	}
	for _, c := range s.clauses {
		if err := c.rest(inputs); err != nil {
			return err
		}
	}
	return nil
}

func (c *clause) rest(inputs iter.Seq[string]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := slices.Index(c.found, false); k >= 0 {
		text := c.text
		if len(c.items) > 0 {
			text = c.items[k].text
		}
		return shardify.Mismatch("%s%s takes nothing: %s", c.flag, text, c.hint)
	}
	odd := ""
	for name := range inputs {
		n := c.counts[name]
		if odd != "" && n > 0 {
			return shardify.Mismatch("%s%s: the step does not go on behind %s, of which it counts %d; select by value, or convert one input at a time", c.flag, c.text, odd, c.counts[odd])
		}
		if n%c.step != 0 {
			odd = name
		}
	}
	return nil
}

func (c *clause) nothing(text string, a *Axis, coord *Coord) error {
	if coord == nil {
		return shardify.Mismatch("%s%s takes nothing of %s, which has %d places", c.flag, text, a.Name, a.N)
	}
	return shardify.Mismatch("%s%s takes nothing of %s: %s", c.flag, text, a.Name, coord.describe())
}

// resolve finds the places of each item; without items, of the whole axis.
func (c *clause) resolve(a *Axis) (found []Pick, coord *Coord, err error) {
	if len(c.items) == 0 && a.N > 0 {
		return []Pick{{{0, a.N, 1}}}, nil, nil
	}
	for i := range c.items {
		it := &c.items[i]
		if it.place {
			found = append(found, it.places(a.N))
			continue
		}
		if coord == nil {
			if a.Coord != nil {
				if coord, err = a.Coord(); err != nil {
					return nil, nil, err
				}
			}
			if coord == nil {
				return nil, nil, shardify.Mismatch("%s%s: %s has no coordinate; [BEGIN:END] selects by place", c.flag, it.text, a.Name)
			}
			if coord.Len() != a.N {
				return nil, nil, shardify.Mismatch("%s%s: the coordinate of %s has %d values for %d places", c.flag, it.text, a.Name, coord.Len(), a.N)
			}
		}
		var p Pick
		if it.ranged {
			p, err = coord.between(it.from, it.to)
		} else {
			p, err = coord.value(it.from)
		}
		if err != nil {
			return nil, nil, shardify.Misuse("%s%s: %v", c.flag, it.text, err)
		}
		found = append(found, p)
	}
	return found, coord, nil
}

// places are those of a range of an axis of n, counted from the end where negative.
func (it *item) places(n int64) Pick {
	place := func(k int, def int64) int64 {
		switch p := it.at[k]; {
		case p == nil:
			return def
		case *p < 0 && k < 2:
			return *p + n
		default:
			return *p
		}
	}
	lo, hi, step := place(0, 0), min(place(1, n), n), place(2, 1)
	if !it.ranged {
		hi = lo + 1
	} else {
		lo = max(lo, 0)
	}
	if lo < 0 || lo >= hi || hi > n {
		return nil
	}
	return Pick{{lo, (hi-lo-1)/step + 1, step}}
}

// Only is the part of a value of --sel that concerns some dimensions, "" without one.
func Only(text string, dims []string) (string, error) {
	s, err := Parse(text)
	if err != nil || s == nil {
		return "", err
	}
	var parts []string
	for _, c := range s.clauses {
		if slices.ContainsFunc(dims, func(dim string) bool { return s.clause(dim) == c }) {
			parts = append(parts, c.dim+"="+c.text)
		}
	}
	return strings.Join(parts, ","), nil
}
