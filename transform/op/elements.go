package op

import (
	"github.com/shardify/shardify"
)

// Element is an element of a list: its place, and a key in an order that unsigned numbers have.
type Element struct {
	Key uint64
	At  int64
}

// SameLengths compares the lists of two columns.
func SameLengths(b *shardify.Batch, x, y int) error {
	p, q := b.Columns[x].Offsets[0], b.Columns[y].Offsets[0]
	if &p[0] == &q[0] {
		return nil
	}
	for i := range b.Samples {
		if p[i+1]-p[i] != q[i+1]-q[i] {
			return AtSample(shardify.Mismatch("%s has %d elements, %s has %d", b.Columns[x].Name, p[i+1]-p[i], b.Columns[y].Name, q[i+1]-q[i]), b, i)
		}
	}
	return nil
}

// Reorder makes a column of the elements of p, or its lists, in their order.
func Reorder(c *shardify.Column, p []Element, mem *shardify.Arena) {
	src := c.Data
	if c.Levels > 1 {
		reorderLists(c, src, p, mem)
		return
	}
	c.Data = mem.Alloc(len(p) * c.ElemBytes())
	switch size := c.ElemBytes(); size {
	case 1:
		permute(c.Data, src, p)
	case 2:
		permute(shardify.View[uint16](c.Data), shardify.View[uint16](src), p)
	case 4:
		permute(shardify.View[uint32](c.Data), shardify.View[uint32](src), p)
	case 8:
		permute(shardify.View[uint64](c.Data), shardify.View[uint64](src), p)
	default:
		for i, e := range p {
			copy(c.Data[i*size:(i+1)*size], src[int(e.At)*size:])
		}
	}
}

func permute[T any](dst, src []T, p []Element) {
	for i, e := range p {
		dst[i] = src[e.At]
	}
}

func reorderLists(c *shardify.Column, src []byte, p []Element, mem *shardify.Arena) {
	size := int64(c.ElemBytes())
	from, to := c.Offsets[1], mem.Int64s(len(p)+1)
	to[0] = 0
	for i, e := range p {
		to[i+1] = to[i] + from[e.At+1] - from[e.At]
	}
	c.Data = mem.Alloc(int(to[len(p)] * size))
	for i, e := range p {
		lo, hi := from[e.At], from[e.At+1]
		copy(c.Data[to[i]*size:to[i+1]*size], src[lo*size:hi*size])
	}
	c.Offsets = [][]int64{c.Offsets[0], to}
}

// Bits reads integers, sign-extended to 64 bits.
func Bits(c *shardify.Column) func(k int) uint64 {
	switch c.DType {
	case shardify.I8:
		return bitsAs[int8](c)
	case shardify.I16:
		return bitsAs[int16](c)
	case shardify.I32:
		return bitsAs[int32](c)
	case shardify.I64:
		return bitsAs[int64](c)
	case shardify.U8:
		return bitsAs[uint8](c)
	case shardify.U16:
		return bitsAs[uint16](c)
	case shardify.U32:
		return bitsAs[uint32](c)
	}
	return bitsAs[uint64](c)
}

func bitsAs[T Integer](c *shardify.Column) func(k int) uint64 {
	x := shardify.View[T](c.Data)
	return func(k int) uint64 { return uint64(x[k]) }
}

// Integer is the types of integers.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}
