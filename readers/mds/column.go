package mds

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/mds"
)

// value is the range of a value in the bytes of a span.
type value struct{ lo, hi int64 }

// decode makes a column of values, in two passes: lengths and shapes, then data. shape is the companion of a
// ragged field. The error's Sample is counted from the first value.
func decode(c *mds.Column, buf []byte, vals []value, to, shape *shardify.Column, mem *shardify.Arena) error {
	n := len(vals)
	each := func(f func(i int, b []byte) error) error {
		for i, v := range vals {
			if err := f(i, buf[v.lo:v.hi]); err != nil {
				return shardify.Amend(err, func(e *shardify.Error) { e.Sample = int64(i) })
			}
		}
		return nil
	}
	var dims, row []int64
	if to.Ragged {
		dims = mem.Int64s(n * c.Rank)
	}
	var o []int64
	if to.Levels > 0 {
		o = mem.Int64s(n + 1)
		o[0] = 0
		to.Offsets = append(to.Offsets[:0], o)
	}
	items, bytes := int64(0), int64(0)
	err := each(func(i int, b []byte) error {
		if to.Ragged {
			row = dims[i*c.Rank : (i+1)*c.Rank]
		}
		k, size, err := c.Measure(b, row)
		items, bytes = items+k, bytes+size
		if o != nil {
			o[i+1] = items
		}
		return err
	})
	if err != nil {
		return err
	}
	if to.Ragged {
		shape.Data = shardify.Bytes(dims)
	}
	to.Data = mem.Alloc(int(bytes))
	if to.Levels == 2 {
		return lists(c, each, int(items), to, mem)
	}
	at := int64(0)
	return each(func(_ int, b []byte) error {
		_, size, err := c.Measure(b, nil)
		if err != nil {
			return err
		}
		at += size
		return c.Fill(to.Data[at-size:at], b)
	})
}

// lists decodes lists of so many items.
func lists(c *mds.Column, each func(func(i int, b []byte) error) error, items int, to *shardify.Column, mem *shardify.Arena) error {
	ends := mem.Int64s(items + 1)
	to.Offsets = append(to.Offsets, ends)
	k, at := 0, 0
	ends[0] = 0
	return each(func(_ int, b []byte) error {
		return c.Items(b, func(p []byte) {
			at += copy(to.Data[at:], p)
			k++
			ends[k] = int64(at)
		})
	})
}
