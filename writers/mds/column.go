package mds

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tar"
)

// column turns one field of a batch into values.
type column struct {
	columnType
	elem  int
	inner []int64 // shape of one element
	rank  int     // of the companion with the shape
	// Of the current batch.
	data    []byte
	offsets []int64
	texts   []int64
	shape   []byte
	// Of the current sample.
	head   []byte // in front of the value: shape, list
	lo, hi int
	dims   []int64
}

func newColumn(schema []shardify.Field, m columnType) column {
	c := column{columnType: m, elem: 1}
	if m.Field >= 0 {
		f := &schema[m.Field]
		c.elem = f.ElemBytes()
		for _, d := range f.Shape {
			c.inner = append(c.inner, int64(d))
		}
	}
	if m.Shape >= 0 {
		c.rank = schema[m.Shape].Shape[0]
	}
	return c
}

// bind takes the column's data from a batch of the sink's schema.
func (c *column) bind(b *shardify.Batch) {
	col := b.Keys
	if c.Field >= 0 {
		col = &b.Columns[c.Field]
	}
	c.data, c.offsets, c.texts = col.Data, nil, nil
	if len(col.Offsets) > 0 {
		c.offsets = col.Offsets[0]
	}
	if len(col.Offsets) > 1 {
		c.texts = col.Offsets[1]
	}
	if c.Shape >= 0 {
		c.shape = b.Columns[c.Shape].Data
	}
}

// sample prepares the value of sample i: c.head and data[lo:hi].
func (c *column) sample(i int) (err error) {
	if c.Kind == kindFixed {
		c.lo, c.hi = i*c.Size, (i+1)*c.Size
		return nil
	}
	from, to := c.offsets[i], c.offsets[i+1]
	c.head = c.head[:0]
	switch c.Kind {
	case kindStrings:
		c.lo, c.hi = 0, 0
		c.head, err = tar.AppendTexts(c.head, c.data, c.texts[from:to+1])
		return err
	case kindArray:
		if err := c.dimensions(i, to-from); err != nil {
			return err
		}
		c.head = appendShape(c.head, c.dims)
	}
	c.lo, c.hi = int(from)*c.elem, int(to)*c.elem
	return nil
}

// dimensions is the shape of an array of n elements.
func (c *column) dimensions(i int, n int64) error {
	c.dims = c.dims[:0]
	if c.Shape < 0 {
		c.dims = append(append(c.dims, n), c.inner...)
		return nil
	}
	product := int64(1)
	for row := c.shape[i*c.rank*8 : (i+1)*c.rank*8]; len(row) > 0; row = row[8:] {
		d := int64(binary.LittleEndian.Uint64(row))
		if d < 0 || d > 0 && product > math.MaxInt64/d {
			return shardify.Mismatch("shape does not fit %d values", n)
		}
		product *= d
		c.dims = append(c.dims, d)
	}
	if product != n {
		return shardify.Mismatch("shape %v for %d values", c.dims, n)
	}
	c.dims = append(c.dims, c.inner...)
	return nil
}

// size of the value that sample prepared.
func (c *column) size() int { return len(c.head) + c.hi - c.lo }

// copyOf adds the number of a copy to the name.
func (c *column) copyOf(id shardify.ID) {
	if id.Copy == 0 {
		return
	}
	c.head = tar.AppendCopy(append(c.head, c.data[c.lo:c.hi]...), id)
	c.lo, c.hi = 0, 0
}

// newColumns are those of a schema.
func newColumns(schema []shardify.Field, keyed bool) ([]column, []byte, error) {
	list, err := columnTypes(schema, keyed)
	if err != nil {
		return nil, nil, err
	}
	cols := make([]column, len(list))
	for i := range list {
		cols[i] = newColumn(schema, list[i])
	}
	return cols, configText(slices.Clip(list)), nil
}
