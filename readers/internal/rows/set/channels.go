package set

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows"
)

// stacked is a field that is made of channels.
type stacked struct {
	field shardify.Field
	parts []stackPart
	names []string // of the channels
	elem  int      // values of a channel
}

// channelDim is the name of the dimension of channels.
const channelDim = "channel"

// stackPart is n channels from place at on of a column.
type stackPart struct{ column, at, n int }

// stacks are the fields of a set, some of which are stacks of channels.
type stacks []outer

// outer is a field of the set: a column that is read, or a stack of channels.
type outer struct {
	column int
	stack  *stacked
}

// newStacks makes fields of channels: they take the place of their first parts, which are fields
// no more.
func newStacks(c *grid.Channels, found *Found) (stacks, error) {
	at := map[int]*stacked{} // by the column of the first part
	part := make([]bool, len(found.Schema))
	for _, g := range c.Groups {
		x, err := found.channels(c, &g)
		if err != nil {
			return nil, err
		}
		first := x.parts[0].column
		for at[first] != nil { // also the first of another one
			if first++; first == len(found.Schema) {
				return nil, shardify.Misuse("--channels: %s and another field begin alike", g.Name)
			}
		}
		at[first] = x
		for _, p := range x.parts {
			part[p.column] = true
		}
	}
	var s stacks
	for i := range found.Schema {
		if x := at[i]; x != nil {
			s = append(s, outer{-1, x})
		}
		if !part[i] {
			s = append(s, outer{i, nil})
		}
	}
	return s, nil
}

// schema has the fields, of those that are read.
func (s stacks) schema(read []shardify.Field) []shardify.Field {
	out := make([]shardify.Field, len(s))
	for i, o := range s {
		if o.stack != nil {
			out[i] = o.stack.field
		} else {
			out[i] = read[o.column]
		}
	}
	return out
}

// bytes is what a sample of all stacks takes.
func (s stacks) bytes() (n int64) {
	for _, o := range s {
		if o.stack != nil {
			n = rows.SatAdd(n, int64(o.stack.field.ElemBytes()))
		}
	}
	return n
}

// named is the stack with a name; nil without such a stack.
func (s stacks) named(name string) *stacked {
	for _, o := range s {
		if o.stack != nil && o.stack.field.Name == name {
			return o.stack
		}
	}
	return nil
}

// channels finds the columns of a group.
func (found *Found) channels(c *grid.Channels, g *grid.Group) (*stacked, error) {
	x := &stacked{field: shardify.Field{Name: g.Name}}
	var shape []int
	var dims, names, units []string
	for i := range g.Parts {
		p := &g.Parts[i]
		k := shardify.FieldIndex(found.Schema, p.Field)
		if k < 0 {
			return nil, shardify.Mismatch("--channels: no field %s", p.Field)
		}
		f := &found.Schema[k]
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
		if err := found.oneGrid(g.Parts[0].Field, p.Field, axes); err != nil {
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
	if x.names = names; len(dims) > 0 && !slices.Contains(dims, channelDim) {
		x.field.NameDims(append([]string{channelDim}, dims...))
	}
	return x, x.field.Validate()
}

// oneGrid refuses channels of one shape whose dimensions of one name have other coordinates.
func (found *Found) oneGrid(first, other string, dims []string) error {
	for _, name := range dims {
		a, b := found.Coords[first][name], found.Coords[other][name]
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

// batch makes the columns of a batch those of the set.
func (s stacks) batch(b *shardify.Batch, mem *shardify.Arena) {
	columns := make([]shardify.Column, len(s))
	for i, o := range s {
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
