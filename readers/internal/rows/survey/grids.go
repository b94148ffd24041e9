package survey

import (
	"errors"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/grid"
)

// Coord is the coordinate of a dimension of a field, other than that of the samples. Inputs with
// other values have another grid: their samples are not of one set.
type Coord struct {
	Field  string
	Dim    int    // of the array
	Name   string // of the dimension
	Values *grid.Coord
}

// Compare makes the coordinates of an array, but for that of the samples, facts about the fields
// from first on, which are of it. picks are what is taken of its dimensions. Without several
// inputs, only those are read that a set keeps.
func (f *Facts) Compare(a *grid.Array, picks []grid.Pick, first int, several bool) error {
	for d, names := range a.Names {
		if len(names) == 0 || a.Rows && (d == 0 || len(a.Names[0]) > 0 && names[0] == a.Names[0][0]) {
			continue
		}
		read := a.Coord(d)
		if read == nil {
			continue
		}
		n := a.Shape[d]
		if len(picks) > d {
			n = picks[d].Len(n)
		}
		if n > format.MaxCoord {
			f.Left = append(f.Left, format.Leftover{Name: "coordinate " + names[0], Reason: fmt.Sprintf("%d values, and a set keeps up to %d", n, format.MaxCoord)})
			if !several {
				continue
			}
		}
		c, err := read()
		if errors.Is(err, shardify.ErrUnsupported) || err == nil && c == nil { // there are no values to compare
			continue
		}
		if err != nil {
			return shardify.Annotate(err, "", "", names[0])
		}
		if len(picks) > d {
			c = c.Taken(picks[d])
		}
		for _, x := range f.Fields[first:] {
			f.Coords = append(f.Coords, Coord{x.Name, d, names[0], c})
		}
	}
	return nil
}

// inputCoord is the coordinate that an input gives a dimension.
type inputCoord struct {
	input  uint32
	name   string
	values *grid.Coord
}

// dimCoord is what some inputs say about a dimension: the first of them, and the first of those
// with other values. It does not depend on the order of add.
type dimCoord struct {
	first, other inputCoord
	varies       bool // in length: the field is ragged, and so noted
}

func (c *dimCoord) add(g inputCoord) {
	if g.values == nil {
		return
	}
	same := func(x *inputCoord) bool {
		if x.values == nil {
			return false
		}
		one, _ := x.values.Differ(g.values)
		return one == ""
	}
	switch {
	case c.first.values == nil:
		c.first = g
	case c.first.values.Len() != g.values.Len():
		c.varies = true
	case same(&c.first):
		c.first.input = min(c.first.input, g.input)
	case same(&c.other):
		c.other.input = min(c.other.input, g.input)
	case c.other.values == nil || g.input < c.other.input:
		c.other = g
	}
	if c.other.values != nil && c.other.input < c.first.input {
		c.first, c.other = c.other, c.first
	}
}

// differ says in what the inputs differ, "" if in nothing.
func (c *dimCoord) differ(t *format.Table) string {
	if c.varies || c.other.values == nil {
		return ""
	}
	one, other := c.first.values.Differ(c.other.values)
	return fmt.Sprintf("the coordinate %s %s in %s, %s in %s", c.first.name, one, t.Shown(int(c.first.input)), other, t.Shown(int(c.other.input)))
}

// dimCoords are those of the dimensions of a field.
type dimCoords []dimCoord

func (c dimCoords) upTo(dim int) dimCoords {
	if n := dim + 1 - len(c); n > 0 {
		c = append(c, make(dimCoords, n)...)
	}
	return c
}

// grids refuses fields whose coordinates differ, and has those that do not, by field and dimension.
func (m *merger) grids(u *Unifier) map[string]map[string]*grid.Coord {
	same := map[string]map[string]*grid.Coord{}
	fields := map[string][]string{}
	var texts []string
	for _, c := range m.cands.list {
		for _, x := range c.coords() {
			if text := x.differ(m.table); text != "" {
				texts = append(texts, text)
				fields[text] = append(fields[text], c.name)
			} else if name := x.first.name; !x.varies && x.first.values != nil && same[c.name][name] == nil {
				if same[c.name] == nil {
					same[c.name] = map[string]*grid.Coord{}
				}
				same[c.name][name] = x.first.values
			}
		}
	}
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		all := fields[text]
		u.refuse(fmt.Sprintf("field%s %s: %s", []string{"", "s"}[min(len(all)-1, 1)], examples(all, len(all)), text))
	}
	return same
}

// coords is what all files say about the dimensions of a field.
func (c *candidate) coords() (all dimCoords) {
	for _, r := range c.refs {
		for d, x := range r.layout.coords[c.name] {
			all = all.upTo(d)
			all[d].add(x.first)
			all[d].add(x.other)
			all[d].varies = all[d].varies || x.varies
		}
	}
	return all
}
