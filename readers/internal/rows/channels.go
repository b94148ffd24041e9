package rows

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/grid"
)

// stacked is a field that is made of channels.
type stacked struct {
	field shardify.Field
	parts []stackPart
	names []string // of the channels
	elem  int      // values of a channel
}

// ChannelDim is the name of the dimension of channels.
const ChannelDim = "channel"

// stackPart is n channels from place at on of a column.
type stackPart struct{ column, at, n int }

// outer is a field of the schema: a column that is read, or a stack of channels.
type outer struct {
	column int
	stack  *stacked
}

// stack makes fields of channels: they take the place of their first parts, which are fields
// no more.
func (s *Set) stack(c *grid.Channels) error {
	if c == nil {
		return nil
	}
	stacks := map[int]*stacked{} // by the column of the first part
	part := make([]bool, len(s.schema))
	extra := int64(0)
	for _, g := range c.Groups {
		x, err := s.channels(c, &g)
		if err != nil {
			return err
		}
		first := x.parts[0].column
		for stacks[first] != nil { // also the first of another one
			if first++; first == len(s.schema) {
				return shardify.Misuse("--channels: %s and another field begin alike", g.Name)
			}
		}
		stacks[first] = x
		for _, p := range x.parts {
			part[p.column] = true
		}
		extra = satAdd(extra, int64(x.field.ElemBytes()))
	}
	s.outer = nil
	for i := range s.schema {
		if x := stacks[i]; x != nil {
			s.outer = append(s.outer, outer{-1, x})
		}
		if !part[i] {
			s.outer = append(s.outer, outer{i, nil})
		}
	}
	for i := range s.layouts {
		s.layouts[i].fixed = satAdd(s.layouts[i].fixed, extra)
	}
	if err := shardify.ValidateSchema(s.Schema()); err != nil {
		return fmt.Errorf("--channels: %w", err)
	}
	return nil
}

// channels finds the columns of a group.
func (s *Set) channels(c *grid.Channels, g *grid.Group) (*stacked, error) {
	x := &stacked{field: shardify.Field{Name: g.Name}}
	var shape []int
	var dims, names, units []string
	for i := range g.Parts {
		p := &g.Parts[i]
		k := shardify.FieldIndex(s.schema, p.Field)
		if k < 0 {
			return nil, shardify.Mismatch("--channels: no field %s", p.Field)
		}
		f := &s.schema[k]
		if f.Levels > 0 || f.Nullable || f.DType == shardify.Bool {
			return nil, shardify.Mismatch("--channels: %s is not a field of numbers that all samples have", p.Field)
		}
		grid, axes, one := f.Shape, f.Dims(), stackPart{column: k, n: 1}
		if p.More() {
			if len(grid) == 0 {
				return nil, shardify.Mismatch("--channels: %s has no dimension of which @ could take a place", p.Field)
			}
			if one.at, one.n = c.Place(p), 1; p.All {
				one.at, one.n = 0, grid[0]
			}
			if grid = grid[1:]; one.at >= f.Shape[0] {
				return nil, shardify.Mismatch("--channels: %s has %d places, and @%s is not one of them", p.Field, f.Shape[0], p.Value)
			}
			axes = axes[min(1, len(axes)):]
		}
		if i == 0 {
			shape, dims = grid, axes
		} else if !slices.Equal(shape, grid) {
			return nil, shardify.Mismatch("--channels: %s has the grid %v, %s has %v", g.Parts[0].Field, shape, p.Field, grid)
		}
		if err := s.oneGrid(g.Parts[0].Field, p.Field, axes); err != nil {
			return nil, err
		}
		x.parts = append(x.parts, one)
		if x.field.DType = widest(x.field.DType, f.DType); p.All {
			for n := range one.n {
				names, units = append(names, fmt.Sprintf("%s@[%d]", p.Field, n)), append(units, f.Attrs["unit"])
			}
			continue
		}
		name := p.Field
		if p.Value != "" {
			name += "@" + p.Value
		}
		names, units = append(names, name), append(units, f.Attrs["unit"])
	}
	x.elem = 1
	for _, d := range shape {
		x.elem *= d
	}
	x.field.Shape = append([]int{len(names)}, shape...)
	x.field.Attrs = map[string]string{"channels": strings.Join(names, ",")}
	if slices.ContainsFunc(units, func(u string) bool { return u != "" }) {
		x.field.Attrs["units"] = strings.Join(units, ",")
	}
	if x.names = names; len(dims) > 0 && !slices.Contains(dims, ChannelDim) {
		x.field.NameDims(append([]string{ChannelDim}, dims...))
	}
	return x, x.field.Validate()
}

// oneGrid refuses channels of one shape whose dimensions of one name have other coordinates.
func (s *Set) oneGrid(first, other string, dims []string) error {
	for _, name := range dims {
		a, b := s.dimension(first, name), s.dimension(other, name)
		if a == nil || b == nil || a.Len() != b.Len() {
			continue
		}
		if one, two := a.Differ(b); one != "" {
			return shardify.Mismatch("--channels: the coordinate %s %s of %s, %s of %s", name, one, first, two, other)
		}
	}
	return nil
}

// widest is the floating-point type for values of both types. Whole numbers of 16 bits and
// less are f32.
func widest(a, b shardify.DType) shardify.DType {
	switch {
	case b.IsInt() && b.Size() <= 2:
		b = shardify.F32
	case b.IsInt():
		b = shardify.F64
	}
	switch {
	case a == shardify.Invalid || a == b:
		return b
	case a == shardify.F64 || b == shardify.F64:
		return shardify.F64
	}
	return shardify.F32
}

// stackBatch makes the columns of a batch those of the schema.
func (s *Set) stackBatch(b *shardify.Batch, mem *shardify.Arena) {
	columns := make([]shardify.Column, len(s.outer))
	for i, o := range s.outer {
		if o.stack == nil {
			columns[i] = b.Columns[o.column]
			continue
		}
		columns[i] = shardify.Column{Field: o.stack.field, Data: mem.Alloc(b.Samples * o.stack.field.ElemBytes())}
		o.stack.fill(columns[i].Data, b)
	}
	b.Columns = columns
}

// fill writes all samples' channels, part by part.
func (x *stacked) fill(dst []byte, b *shardify.Batch) {
	to, row, at := x.field.DType.Size(), x.field.ElemBytes(), 0
	for _, p := range x.parts {
		c := &b.Columns[p.column]
		size := c.DType.Size()
		n, from := p.n*x.elem, p.at*x.elem*size
		for i := range b.Samples {
			numeric.Convert(dst[i*row+at:][:n*to], x.field.DType, c.Data[i*c.ElemBytes()+from:][:n*size], c.DType)
		}
		at += n * to
	}
}
