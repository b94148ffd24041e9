package column

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
)

// WholeNumbers reports whether the elements of a data set are single integers.
func (a *Dataset) WholeNumbers() bool {
	leaves, err := a.Leaves(nil)
	return err == nil && len(leaves) == 1 && leaves[0].Err == nil && leaves[0].Kind == element.Numbers && leaves[0].At.Values() == 1 && leaves[0].Num.Whole()
}

// integerNamed finds an integer of a compound type, or -1.
func (a *Dataset) integerNamed(name string) int {
	leaves, err := a.Leaves(nil)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(leaves, func(l element.Leaf) bool {
		return l.Name == name && l.Err == nil && l.Kind == element.Numbers && l.At.Values() == 1 && l.Num.Whole()
	})
}

// FirstOutside is the place of the first value that is not below n, or is negative; -1 without
// such a value.
func FirstOutside(c *shardify.Column, n int64) int {
	switch c.DType {
	case shardify.I8:
		return firstAbove(shardify.View[int8](c.Data), n)
	case shardify.U8:
		return firstAbove(shardify.View[uint8](c.Data), n)
	case shardify.I16:
		return firstAbove(shardify.View[int16](c.Data), n)
	case shardify.U16:
		return firstAbove(shardify.View[uint16](c.Data), n)
	case shardify.I32:
		return firstAbove(shardify.View[int32](c.Data), n)
	case shardify.U32:
		return firstAbove(shardify.View[uint32](c.Data), n)
	case shardify.I64:
		return firstAbove(shardify.View[int64](c.Data), n)
	}
	return firstAbove(shardify.View[uint64](c.Data), n)
}

func firstAbove[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64](v []T, n int64) int {
	for i, x := range v {
		// A negative number, and one above the largest int64, becomes one above n.
		if uint64(int64(x)) >= uint64(n) {
			return i
		}
	}
	return -1
}

// Integers reads whole numbers of one dimension from row lo on.
func (a *Dataset) Integers(ctx context.Context, w *Work, dst []int64, lo int64) error {
	if !a.WholeNumbers() {
		return shardify.Mismatch("%s: no whole numbers", a.Path)
	}
	return a.integersOf(ctx, w, 0, dst, lo)
}

// integersOf is integers of leaf k, which holds one whole number.
func (a *Dataset) integersOf(ctx context.Context, w *Work, k int, dst []int64, lo int64) error {
	leaves, err := a.Leaves(nil)
	if err != nil {
		return err
	}
	l := &leaves[k]
	size := l.Num.DType.Size()
	if err := a.Backed(int64(len(dst))); err != nil {
		return err
	}
	if err := w.Grow(ctx, &w.raw, int64(len(dst))*a.RowBytes); err != nil {
		return err
	}
	if err := a.Read(ctx, &w.Buffers, w.raw, lo, lo+int64(len(dst))); err != nil {
		return err
	}
	var v [8]byte
	shift := 64 - 8*size
	for i := range dst {
		l.At.Gather(v[:], w.raw[int64(i)*a.RowBytes:], 1, int(a.Elem), size, l.Convert)
		if word := binary.LittleEndian.Uint64(v[:]) << shift; l.Num.Signed {
			dst[i] = int64(word) >> shift
		} else {
			dst[i] = int64(word >> shift)
		}
	}
	return nil
}
