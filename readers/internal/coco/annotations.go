package coco

import (
	"bytes"
	"context"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
)

// part is a column of annotations, in the order of their images.
type part struct {
	shardify.Column
	from int      // the column of the file
	mask bool     // values may be missing
	lens []uint32 // of lists, in the order of the file
	sub  []uint32 // of the lists in them
}

// annotations are those of a file. They are read twice: to measure and to place the values, so that
// no value is held twice.
type annotations struct {
	t     *Table
	fill  bool
	here  map[int64]bool // the categories of the file
	rows  map[any]int32  // of images, by id
	cols  []part
	of    []int32 // the images of annotations
	at    []int32 // their places among those that have an image; -1: none
	ends  []int64 // of the annotations of each image
	bytes int64
	n     int
}

// read reads the values.
func (a *annotations) read(ctx context.Context, src shardify.Source) error {
	if err := key.ReadEach(ctx, src, readBytes, shardify.NewPool(maxTable), a.measure); err != nil {
		return err
	}
	a.place()
	a.n = 0
	return key.ReadEach(ctx, src, readBytes, shardify.NewPool(maxTable), a.put)
}

// measure finds the images and the lengths of lists.
func (a *annotations) measure(b *shardify.Batch) error {
	if a.n+b.Samples >= math.MaxInt32 {
		return shardify.Unsupported("more than %d annotations", math.MaxInt32)
	}
	r := &rows{cols: b.Columns, n: b.Samples, first: a.n}
	ids, err := r.ids("annotations", "image_id")
	if err != nil {
		return err
	}
	if err := check(r, a.here); err != nil {
		return err
	}
	for k := range b.Samples {
		row, ok := a.rows[id(ids, k)]
		if !ok {
			if row = -1; a.t.Strays == 0 {
				a.t.Stray = r.called(k) + " of image " + text(ids, k)
			}
			a.t.Strays++
		} else {
			a.ends[row+1]++
		}
		a.of = append(a.of, row)
	}
	for i := range a.cols {
		c := &a.cols[i]
		x := &b.Columns[c.from]
		if a.bytes += x.Bytes(); a.bytes >= maxTable {
			return key.ErrTooLarge
		}
		for k, ok := range x.Valid {
			if ok == 0 && !c.mask && !a.fill {
				return missing(x.Name, r.called(k))
			}
		}
		for l, o := range x.Offsets {
			lens := &c.lens
			if l > 0 {
				lens = &c.sub
			}
			for k := range len(o) - 1 {
				*lens = append(*lens, uint32(o[k+1]-o[k]))
			}
		}
	}
	a.n += b.Samples
	return nil
}

// place gives each annotation its place, by counting.
func (a *annotations) place() {
	for i := range a.ends[1:] {
		a.ends[i+1] += a.ends[i]
	}
	next := make([]int32, len(a.ends))
	a.at = a.of
	for k, row := range a.of {
		if row >= 0 {
			a.at[k] = int32(a.ends[row]) + next[row]
			next[row]++
		}
	}
	n := int(a.ends[len(a.ends)-1])
	for i := range a.cols {
		a.cols[i].allocate(a.at, n)
	}
}

// allocate makes the offsets of n values, and room for them.
func (c *part) allocate(at []int32, n int) {
	items := int64(n)
	if c.Levels > 0 {
		o := make([]int64, n+1)
		for k, p := range at {
			if p >= 0 {
				o[p+1] = int64(c.lens[k])
			}
		}
		items = sum(o)
		c.Offsets = append(c.Offsets[:0], o)
	}
	if c.Levels > 1 {
		o, from := make([]int64, items+1), 0
		for k, p := range at {
			lens := c.sub[from : from+int(c.lens[k])]
			if from += len(lens); p >= 0 {
				for j, size := range lens {
					o[c.Offsets[0][p]+int64(j)+1] = int64(size)
				}
			}
		}
		items = sum(o)
		c.Offsets = append(c.Offsets, o)
	}
	c.sub = nil
	size := items * int64(c.ElemBytes())
	c.Data = shardify.Bytes(make([]uint64, (size+7)/8))[:size]
}

// sum makes offsets of lengths.
func sum(o []int64) int64 {
	for i := range o[1:] {
		o[i+1] += o[i]
	}
	return o[len(o)-1]
}

// put puts values where they belong.
func (a *annotations) put(b *shardify.Batch) error {
	changed := shardify.Corrupt(-1, "the file changes while it is read")
	if a.n+b.Samples > len(a.at) {
		return changed
	}
	at := a.at[a.n : a.n+b.Samples]
	for i := range a.cols {
		c := &a.cols[i]
		x := &b.Columns[c.from]
		for k, p := range at {
			if p < 0 {
				continue
			}
			from, to := x.Range(k, k+1)
			lo, hi := c.Range(int(p), int(p)+1)
			if to-from != hi-lo {
				return changed
			}
			copy(c.Data[lo:hi], x.Data[from:to])
			if x.Valid == nil || x.Valid[k] != 0 {
				continue
			}
			if c.Levels == 0 && c.DType.IsFloat() {
				noNumbers(&c.Column, int(p))
			}
			if c.mask && c.Valid == nil {
				c.Valid = bytes.Repeat([]byte{1}, int(a.ends[len(a.ends)-1]))
			}
			if c.mask {
				c.Valid[p] = 0
			}
		}
	}
	a.n += b.Samples
	return nil
}
