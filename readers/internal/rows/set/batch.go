package set

import (
	"context"
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// maxBatch bounds what is read at once: no machine has more memory.
const maxBatch = 1 << 40

// Begin checks a span and returns its input, and a batch with a column for each
// field of the schema. A column's Field is that of the file: its own dtype and
// shape. The reader sets Data, and Offsets and Valid where they apply, for columns
// with in.Field(i) >= 0. Columns of one Counter share the slices of Offsets.
func (s *Set) Begin(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (Input, *shardify.Batch, error) {
	if err := context.Cause(ctx); err != nil {
		return Input{}, nil, err
	}
	fs := &s.found.Files
	f, err := fs.find(sp)
	if err != nil {
		return Input{}, nil, fmt.Errorf("%s: %w", s.of.Format, err)
	}
	if n := fs.bytes(f, sp.Samples()); n > maxBatch {
		err := shardify.Unsupported("%d samples must be read together and take %s", sp.Samples(), shardify.FormatSize(n))
		return Input{}, nil, shardify.Annotate(err, "read", s.of.Table.Shown(int(f.Input)), "")
	}
	schema := s.found.Schema
	b := mem.Batch(len(schema))
	b.Samples = int(sp.Samples())
	b.First = shardify.ID{Input: sp.Input, Sample: sp.Lo}
	columns := fs.mappings[f.Layout].columns
	shapes := fs.shapes.list[f.shape]
	for i := range schema {
		c := shardify.Column{Field: schema[i]}
		c.DType = columns[i].dtype
		if columns[i].how == fixed {
			c.Levels, c.Ragged, c.Counter = 0, false, ""
			c.Shape = make([]int, schema[i+1].Shape[0])
			for k := range c.Shape {
				var d uint64
				shapes = nextUvarint(shapes, &d)
				c.Shape[k] = int(d)
			}
		}
		b.Columns = append(b.Columns, c)
	}
	return s.input(f), b, nil
}

// Finish makes the columns those of the schema: widened, given a shape, filled. It
// returns b.
func (s *Set) Finish(in *Input, b *shardify.Batch, mem *shardify.Arena) (*shardify.Batch, error) {
	columns := in.mapping().columns
	f := finisher{mem: mem, samples: b.Samples}
	for i := range b.Columns {
		c, want := &b.Columns[i], s.found.Schema[i]
		switch columns[i].how {
		case missing:
			f.fill(c, want)
		case fixed:
			f.ragged(c, &b.Columns[i+1])
		}
		if columns[i].dtype != want.DType {
			if err := f.widen(c, want.DType); err != nil {
				return nil, shardify.Annotate(err, "read", in.Name(), "")
			}
		}
		c.Field = want
	}
	if s.stacks != nil {
		s.stacks.batch(b, mem)
	}
	return b, nil
}

// finisher makes columns of one batch. Offsets of empty lists are made once, which
// also lets columns of one counter share them.
type finisher struct {
	mem     *shardify.Arena
	samples int
	zeros   []int64
	none    []byte
}

// fill makes a column of missing values.
func (f *finisher) fill(c *shardify.Column, want shardify.Field) {
	if f.none == nil {
		f.none = f.mem.Alloc(f.samples)
		clear(f.none)
	}
	c.Valid = f.none
	if want.Levels == 0 {
		c.Data = f.mem.Alloc(f.samples * want.ElemBytes())
		clear(c.Data)
		return
	}
	if f.zeros == nil {
		f.zeros = f.mem.Int64s(f.samples + 1)
		clear(f.zeros)
	}
	c.Offsets = [][]int64{f.zeros, f.zeros[:1]}[:want.Levels]
}

// ragged makes a column that is fixed in this file one of any shape, and its
// companion.
func (f *finisher) ragged(c, shape *shardify.Column) {
	offsets, n := f.mem.Int64s(f.samples+1), int64(c.Elem())
	for i := range offsets {
		offsets[i] = int64(i) * n
	}
	c.Offsets = [][]int64{offsets}
	dims := f.mem.Int64s(f.samples * len(c.Shape))
	for i := 0; i < len(dims); i += len(c.Shape) {
		for k, d := range c.Shape {
			dims[i+k] = int64(d)
		}
	}
	shape.Data = shardify.Bytes(dims)
}

// widen replaces the values by those of another type.
func (f *finisher) widen(c *shardify.Column, to shardify.DType) error {
	from := c.DType
	if len(c.Data)%from.Size() != 0 || len(c.Data)/from.Size() > math.MaxInt/8 {
		return shardify.Mismatch("field %s has %d bytes of %s", c.Name, len(c.Data), from)
	}
	data := f.mem.Alloc(len(c.Data) / from.Size() * to.Size())
	coltype.Widen(data, c.Data, to, from)
	c.Data = data
	return nil
}
