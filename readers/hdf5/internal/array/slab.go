package array

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
)

// slab is a selection of ranges in each dimension. Dimensions whose elements are
// all selected are joined with the one before.
type slab struct {
	unit  int64 // elements side by side in each selected place
	dims  []slabDim
	count int64 // elements in all
}

// slabDim selects ranges of one dimension: equal ones that repeat, or a list.
type slabDim struct {
	start, stride, block int64
	list                 []span // in ascending order; else nil
	n                    int64  // coordinates selected
	step                 int64  // elements from one coordinate to the next
}

// span is the coordinates [lo, hi), the first of which is the n-th selected.
type span struct{ lo, hi, n int64 }

// at is the k-th selected coordinate, and how many follow it side by side.
func (d *slabDim) at(k int64) (x, more int64) {
	if d.list == nil {
		in := k % d.block
		return d.start + k/d.block*d.stride + in, d.block - in - 1
	}
	i, found := slices.BinarySearchFunc(d.list, k, func(s span, k int64) int { return cmp.Compare(s.n, k) })
	if !found {
		i--
	}
	s := d.list[i]
	return s.lo + k - s.n, s.hi - s.lo - (k - s.n) - 1
}

// before is the number of selected coordinates below x.
func (d *slabDim) before(x int64) (n int64) {
	if d.list == nil {
		if x <= d.start {
			return 0
		}
		x -= d.start
		return min(x/d.stride*d.block+min(x%d.stride, d.block), d.n)
	}
	for _, s := range d.list {
		n += min(max(x-s.lo, 0), s.hi-s.lo)
	}
	return n
}

func newSlab(sel *dataset.Selection, dims []int64) (slab, error) {
	s := slab{unit: 1, count: 1}
	ranges, err := selected(sel, dims)
	if err != nil {
		return s, err
	}
	step := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		d := ranges[i]
		d.step = step
		s.count *= d.n
		if i > 0 && len(s.dims) == 0 && d.n == dims[i] {
			s.unit *= d.n
		} else {
			s.dims = append(s.dims, d)
		}
		step *= dims[i]
	}
	slices.Reverse(s.dims)
	return s, nil
}

// selected is what a selection takes of each dimension.
func selected(sel *dataset.Selection, dims []int64) ([]slabDim, error) {
	out := make([]slabDim, len(dims))
	switch {
	case sel.Kind == dataset.SelectAll:
		for i, n := range dims {
			out[i] = slabDim{stride: max(n, 1), block: max(n, 1), n: n}
		}
		return out, nil
	case sel.Kind != dataset.SelectSlab:
		return nil, shardify.Unsupported("a selection of points")
	case sel.Boxes != nil:
		return boxes(sel.Boxes, dims)
	}
	outside := shardify.Corrupt(-1, "a selection outside of %v", dims)
	if len(sel.Start) != len(dims) || len(sel.Stride) != len(dims) || len(sel.Count) != len(dims) || len(sel.Block) != len(dims) {
		return nil, outside
	}
	for i, size := range dims {
		d := slabDim{start: sel.Start[i], stride: sel.Stride[i], block: sel.Block[i]}
		count := sel.Count[i]
		if count == datatype.Unlimited || d.block == datatype.Unlimited {
			return nil, shardify.Unsupported("a selection without end")
		}
		switch {
		case d.start < 0 || d.block < 0 || count < 0:
			return nil, outside
		case count == 0 || d.block == 0:
			d.block = 0
		case count > size || d.block > size || d.start > size-d.block || count > 1 && (d.stride < d.block || count-1 > (size-d.start-d.block)/d.stride):
			return nil, outside
		}
		d.n = count * d.block
		if count <= 1 || d.stride == d.block {
			d.stride, d.block = max(d.n, 1), max(d.n, 1)
		}
		out[i] = d
	}
	return out, nil
}

// maxBoxes bounds the boxes of one selection.
const maxBoxes = 1 << 16

// boxes finds the ranges of each dimension whose combinations the boxes are: the
// form in which older libraries write regular selections.
func boxes(list []dataset.Box, dims []int64) ([]slabDim, error) {
	if len(list) > maxBoxes {
		return nil, shardify.Unsupported("a selection of %d boxes", len(list))
	}
	out := make([]slabDim, len(dims))
	combinations := 1
	for i, size := range dims {
		var all []span
		for _, b := range list {
			if len(b.First) != len(dims) || len(b.Last) != len(dims) || b.First[i] < 0 || b.Last[i] < b.First[i] || b.Last[i] >= size {
				return nil, shardify.Corrupt(-1, "a selection outside of %v", dims)
			}
			all = append(all, span{b.First[i], b.Last[i] + 1, 0})
		}
		slices.SortFunc(all, func(a, b span) int { return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi)) })
		all = slices.Compact(all)
		d := &out[i]
		for k := range all {
			if k > 0 && all[k].lo < all[k-1].hi {
				return nil, shardify.Unsupported("an irregular selection")
			}
			all[k].n = d.n
			d.n += all[k].hi - all[k].lo
		}
		d.list = all
		if combinations *= len(all); combinations > len(list) {
			break
		}
	}
	seen := map[string]bool{} // the same box twice is not two
	for _, b := range list {
		seen[fmt.Sprint(b.First)] = true
	}
	if combinations != len(list) || len(seen) != len(list) {
		return nil, shardify.Unsupported("an irregular selection")
	}
	return out, nil
}

// at is where element n of the selection is, and how many follow it side by
// side.
func (s *slab) at(n int64) (off, run int64) {
	off = n % s.unit
	run = s.unit - off
	n /= s.unit
	for i := len(s.dims) - 1; i >= 0; i-- {
		d := &s.dims[i]
		x, more := d.at(n % d.n)
		n /= d.n
		if i == len(s.dims)-1 {
			run += more * s.unit
		}
		off += x * d.step
	}
	return off, run
}

// rows is which of the selected rows are in [lo, hi): a range of their numbers.
func (s *slab) rows(lo, hi int64) (a, b int64) {
	if len(s.dims) == 0 {
		return 0, 1
	}
	return s.dims[0].before(lo), s.dims[0].before(hi)
}

// row is the coordinate of selected row k.
func (s *slab) row(k int64) int64 {
	if len(s.dims) == 0 {
		return 0
	}
	x, _ := s.dims[0].at(k)
	return x
}

// perRow is the number of selected elements in a selected row.
func (s *slab) perRow() int64 {
	if len(s.dims) == 0 || s.dims[0].n == 0 {
		return s.count
	}
	return s.count / s.dims[0].n
}
