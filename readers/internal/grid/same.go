package grid

import (
	"fmt"
	"math"
	"slices"

	"github.com/shardify/shardify/format"
)

// Taken is the coordinate of the places that are taken.
func (c *Coord) Taken(p Pick) *Coord {
	if p == nil {
		return c
	}
	x := *c
	x.Floats, x.Ints, x.Texts = valuesAt(c.Floats, p), valuesAt(c.Ints, p), valuesAt(c.Texts, p)
	return &x
}

// valuesAt are the values at places; those behind the end are left out.
func valuesAt[T any](all []T, p Pick) (out []T) {
	for _, r := range p {
		for at := r.At; at < min(r.end(), int64(len(all))); at += r.Step {
			out = append(out, all[at])
		}
	}
	return out
}

// Differ says in what two coordinates of equally many values differ, in words for each: both are
// empty where the values are the same. The type does not count: f32 and f64 of a number are the same.
func (c *Coord) Differ(d *Coord) (one, other string) {
	i := c.firstOther(d)
	if i < 0 {
		return "", ""
	}
	if one, other = c.course(), d.course(); one == other {
		one, other = fmt.Sprintf("has %s at place %d", c.text(i), i), fmt.Sprintf("has %s", d.text(i))
	}
	return one, other
}

// firstOther is the first place where two coordinates of equally many values differ; -1 if none.
func (c *Coord) firstOther(d *Coord) int {
	n := int(c.Len())
	var same func(i int) bool
	switch {
	case n == 0, c.Time == d.Time && c.Unit == d.Unit && c.Calendar == d.Calendar && slices.Equal(c.Floats, d.Floats) && slices.Equal(c.Ints, d.Ints) && slices.Equal(c.Texts, d.Texts):
		return -1
	case (c.Texts == nil) != (d.Texts == nil), c.Time != d.Time, c.Calendar != d.Calendar:
		return 0
	case c.Texts != nil:
		same = func(i int) bool { return c.Texts[i] == d.Texts[i] }
	case c.Ints != nil && d.Ints != nil && c.Unit == d.Unit:
		same = func(i int) bool { return c.Ints[i] == d.Ints[i] }
	case c.Time:
		same = func(i int) bool {
			return math.Abs(float64(float64(c.Ints[i])*float64(c.Unit))-float64(float64(d.Ints[i])*float64(d.Unit))) <= 1e4 // nanoseconds
		}
	default:
		a, b := c.numbers(), d.numbers()
		near := format.Tolerance(a)
		same = func(i int) bool {
			x, y := a[i], b[i]
			return x == y || math.Abs(x-y) <= near || c.round(y) == d.round(x) || math.IsNaN(x) && math.IsNaN(y)
		}
	}
	for i := range n {
		if !same(i) {
			return i
		}
	}
	return -1
}

// course says from where to where the values go.
func (c *Coord) course() string {
	n := int(c.Len())
	if n == 1 {
		return "is " + c.text(0)
	}
	way := "goes"
	if v := c.numbers(); c.Texts == nil && c.monotone() {
		if way = "rises"; v[0] > v[1] {
			way = "falls"
		}
	}
	return fmt.Sprintf("%s from %s to %s", way, c.text(0), c.text(n-1))
}

// Memo keeps the coordinates of an input, so that each is read once.
type Memo[K comparable] map[K]*Coord

// Once is read that reads no coordinate a second time.
func (m Memo[K]) Once(k K, read func() (*Coord, error)) func() (*Coord, error) {
	return func() (*Coord, error) {
		c, ok := m[k]
		if ok {
			return c, nil
		}
		c, err := read()
		if err == nil {
			m[k] = c
		}
		return c, err
	}
}
