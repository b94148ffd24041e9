package rows

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

// given is the coordinate that an input gives a dimension.
type given struct {
	input  uint32
	name   string
	values *grid.Coord
}

// course is what some inputs say about a dimension: the first of them, and the first of those
// with other values. It does not depend on the order of add.
type course struct {
	first, other given
	varies       bool // in length: the field is ragged, and so noted
}

func (c *course) add(g given) {
	if g.values == nil {
		return
	}
	same := func(x *given) bool {
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
func (c *course) differ(t *format.Table) string {
	if c.varies || c.other.values == nil {
		return ""
	}
	one, other := c.first.values.Differ(c.other.values)
	return fmt.Sprintf("the coordinate %s %s in %s, %s in %s", c.first.name, one, t.Shown(int(c.first.input)), other, t.Shown(int(c.other.input)))
}

// courses are those of the dimensions of a field.
type courses []course

func (c courses) at(dim int) courses {
	if n := dim + 1 - len(c); n > 0 {
		c = append(c, make(courses, n)...)
	}
	return c
}

// sameGrids refuses fields whose coordinates differ, and keeps those that do not.
func (m *merger) sameGrids(u *Unifier) {
	m.set.coords = map[string][]dimension{}
	fields := map[string][]string{}
	var texts []string
	for _, c := range m.cands {
		var all courses
		for _, r := range c.refs {
			for d, x := range r.layout.coords[c.name] {
				all = all.at(d)
				all[d].add(x.first)
				all[d].add(x.other)
				all[d].varies = all[d].varies || x.varies
			}
		}
		for i := range all {
			if text := all[i].differ(m.table); text != "" {
				texts = append(texts, text)
				fields[text] = append(fields[text], c.name)
			} else if x := &all[i]; !x.varies && x.first.values != nil {
				m.set.coords[c.name] = append(m.set.coords[c.name], dimension{x.first.name, x.first.values})
			}
		}
	}
	slices.Sort(texts)
	for _, text := range slices.Compact(texts) {
		all := fields[text]
		u.refuse(fmt.Sprintf("field%s %s: %s", []string{"", "s"}[min(len(all)-1, 1)], examples(all, len(all)), text))
	}
}

// dimension is one of a field's, with its coordinate.
type dimension struct {
	name   string
	values *grid.Coord
}

// dimension is the one of a field with a name; nil if it has no coordinate.
func (s *Set) dimension(field, name string) *grid.Coord {
	for _, d := range s.coords[field] {
		if d.name == name {
			return d.values
		}
	}
	return nil
}

// Coords implements format.Gridded, after a survey.
func (s *Set) Coords() map[string]format.Coord {
	all := map[string]format.Coord{}
	own := map[string]bool{} // names of dimensions whose values differ
	type entry struct {
		field, dim string
		coord      *format.Coord
		weights    map[string]format.Coord
	}
	var list []entry
	add := func(field, dim string, c *format.Coord, weights map[string]format.Coord) {
		if c == nil {
			return
		}
		if have, ok := all[dim]; !ok {
			all[dim] = *c
		} else if !have.Same(c) {
			own[dim] = true
		}
		list = append(list, entry{field, dim, c, weights})
	}
	for _, f := range s.Schema() {
		from, channels := f.Name, []string(nil)
		if i := slices.IndexFunc(s.outer, func(o outer) bool { return o.stack != nil && o.stack.field.Name == f.Name }); i >= 0 {
			from, channels = s.schema[s.outer[i].stack.parts[0].column].Name, s.outer[i].stack.names
		}
		for d, dim := range f.Dims() {
			if d == 0 && channels != nil {
				c := &format.Coord{DType: format.CoordText, Texts: channels}
				if c.Check() == nil {
					add(f.Name, dim, c, nil)
				}
			} else if c := s.dimension(from, dim); c != nil && c.Len() == int64(f.Shape[d]) {
				add(f.Name, dim, c.Kept(), c.Weights())
			}
		}
	}
	for _, x := range list {
		key := x.dim
		if own[key] {
			delete(all, key)
			key = format.CoordOf(x.field, x.dim)
			all[key] = *x.coord
		}
		for suffix, w := range x.weights {
			all[key+suffix] = w
		}
	}
	return all
}
