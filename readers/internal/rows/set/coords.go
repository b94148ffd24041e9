package set

import (
	"github.com/shardify/shardify/format"
)

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
		if x := s.stacks.named(f.Name); x != nil {
			from, channels = s.found.Schema[x.parts[0].column].Name, x.names
		}
		for d, dim := range f.Dims() {
			if d == 0 && channels != nil {
				c := &format.Coord{DType: format.CoordText, Texts: channels}
				if c.Check() == nil {
					add(f.Name, dim, c, nil)
				}
			} else if c := s.found.Coords[from][dim]; c != nil && c.Len() == int64(f.Shape[d]) {
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
