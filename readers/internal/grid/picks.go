package grid

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// Array is an array, as a Taker sees it.
type Array struct {
	Field string
	Names [][]string // of each dimension: the name that errors have, then others; none for one without
	Shape []int64
	Rows  bool // the first dimension is the samples'
	// Coord is the coordinate of a dimension; nil without one.
	Coord func(d int) func() (*Coord, error)
}

// Taker applies a selection and channels to the arrays of one input.
type Taker struct {
	Sel      *Selection
	Channels *Channels
	Input    string
	Several  bool   // there are other inputs
	Rows     Pick   // of the samples' dimension
	Why      string // what was taken, in words

	taken map[string]*taken // by dimension
	names []string          // of all dimensions
}

// taken is what is taken of a dimension.
type taken struct {
	pick  Pick
	n     int64
	field string
}

// Take finds what is taken of each dimension of an array; nil is all of all. more is the
// dimension that channels take places of, -1 without.
func (t *Taker) Take(a *Array, more int) (picks []Pick, err error) {
	some := false
	for d := range a.Shape {
		var p Pick
		if len(a.Names[d]) > 0 {
			if p, err = t.dimension(a, d); err != nil {
				return nil, err
			}
		}
		if d == more {
			at := Axis{Name: strings.Join(a.Names[d][:min(1, len(a.Names[d]))], ""), N: a.Shape[d], Coord: a.Coord(d)}
			one, err := t.Channels.pick(a.Field, &at)
			if err != nil {
				return nil, err
			}
			if one != nil {
				p = one
			}
		}
		picks, some = append(picks, p), some || p != nil
	}
	if !some {
		return nil, nil
	}
	return picks, nil
}

func (t *Taker) dimension(a *Array, d int) (Pick, error) {
	name, n := a.Names[d][0], a.Shape[d]
	for _, also := range a.Names[d] {
		t.names = append(t.names, also)
		if t.Sel.takes(also) {
			name = also
		}
	}
	if !t.Sel.takes(name) {
		return nil, nil
	}
	if have := t.taken[name]; have != nil {
		if have.n != n {
			return nil, shardify.Mismatch("its dimension %s has %d places, that of %s has %d: --sel takes no part of them together", name, n, have.field, have.n)
		}
		return have.pick, nil
	}
	at := Axis{Name: name, N: n, Coord: a.Coord(d)}
	var p Pick
	var err error
	if a.Rows && d == 0 {
		p, err = t.Sel.rows(&at, t.Input, t.Several)
		t.Rows = p
	} else {
		p, err = t.Sel.pick(&at)
	}
	if err != nil {
		return nil, err
	}
	if t.taken == nil {
		t.taken = map[string]*taken{}
	}
	t.Why += fmt.Sprintf("; of %s %d of %d are taken", name, p.Len(n), n)
	t.taken[name] = &taken{p, n, a.Field}
	return p, nil
}

// unknown is the error about a dimension that --sel names and that no array has.
func (t *Taker) Unknown() error {
	if t.Sel == nil {
		return nil
	}
	if name := t.Sel.unknown(t.names); name != "" {
		slices.Sort(t.names)
		return shardify.Mismatch("--sel: no dimension %s; the fields have %s", name, strings.Join(slices.Compact(t.names), ", "))
	}
	return nil
}

// More is the dimension of an array that channels take places of: the one that those without
// such places do not have (plain are the names of theirs), else the first behind the samples'.
// -1: channels take none of this array; it is an error if it has none.
func (t *Taker) More(a *Array, plain map[string]bool) (int, error) {
	if !t.Channels.More(a.Field) {
		return -1, nil
	}
	for d := 1; d < len(a.Shape) && len(plain) > 0; d++ {
		if len(a.Names[d]) > 0 && !plain[a.Names[d][0]] {
			return d, nil
		}
	}
	if len(a.Shape) < 2 {
		return -1, shardify.Mismatch("--channels: %s has no dimension of which @ could take a place", a.Field)
	}
	return 1, nil
}
