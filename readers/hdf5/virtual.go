package hdf5

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// mapping says which elements of another array stand where in a virtual one: the
// n-th of one selection is the n-th of the other.
type mapping struct {
	src      *array
	from, to slab
}

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

// maxMappings bounds the work for one virtual data set.
const maxMappings = 1 << 20

func newMappings(a *array) ([]mapping, error) {
	list, err := a.set.Mappings()
	if err != nil {
		return nil, err
	}
	if len(list) > maxMappings {
		return nil, shardify.Unsupported("a virtual data set of %d parts", len(list))
	}
	if a.set.Type.HasVarLen() {
		return nil, shardify.Unsupported("a virtual data set of variable-length values")
	}
	out := make([]mapping, 0, len(list))
	for i := range list {
		m, ok, err := a.mapping(&list[i])
		if err != nil {
			return nil, located(err, -1, "part %d of the virtual data set (%s of %s)", i, list[i].Dataset, list[i].File)
		}
		if ok {
			out = append(out, m)
		}
	}
	return out, nil
}

// mapping opens the source of a part; ok is false for an empty one.
func (a *array) mapping(m *h5.Mapping) (out mapping, ok bool, err error) {
	if m.Source.Kind == h5.SelectNone || m.Virtual.Kind == h5.SelectNone {
		return out, false, nil
	}
	if out.to, err = newSlab(&m.Virtual, a.dims); err != nil {
		return out, false, err
	}
	if out.src, err = a.source(m); err != nil {
		return out, false, err
	}
	if !sameType(a.set.Type, out.src.set.Type) {
		return out, false, shardify.Unsupported("the source has another type")
	}
	if out.from, err = newSlab(&m.Source, out.src.dims); err != nil {
		return out, false, err
	}
	if out.from.count != out.to.count {
		return out, false, shardify.Corrupt(-1, "%d elements for %d", out.from.count, out.to.count)
	}
	return out, out.to.count > 0, nil
}

func (a *array) source(m *h5.Mapping) (*array, error) {
	f := a.file
	name, err := literal(m.File)
	if err != nil {
		return nil, err
	}
	path, err := literal(m.Dataset)
	if err != nil {
		return nil, err
	}
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	o, err := f.other(name) // a new one even for itself, so that circles end
	if err != nil {
		return nil, err
	}
	return o.array(path)
}

// literal is a name without placeholders.
func literal(s string) (string, error) {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' {
			if i++; i == len(s) || s[i] != '%' {
				return "", shardify.Unsupported("the name %q stands for many", s)
			}
		}
		out = append(out, s[i])
	}
	return string(out), nil
}

func newSlab(sel *h5.Selection, dims []int64) (slab, error) {
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
func selected(sel *h5.Selection, dims []int64) ([]slabDim, error) {
	out := make([]slabDim, len(dims))
	switch {
	case sel.Kind == h5.SelectAll:
		for i, n := range dims {
			out[i] = slabDim{stride: max(n, 1), block: max(n, 1), n: n}
		}
		return out, nil
	case sel.Kind != h5.SelectSlab:
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
		if count == h5.Unlimited || d.block == h5.Unlimited {
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
func boxes(list []h5.Box, dims []int64) ([]slabDim, error) {
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

// at is where element n of the selection stands, and how many follow it side by
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

// sourceBytes is about how much of a source is read at once.
const sourceBytes = 4 << 20

func (a *array) readVirtual(ctx context.Context, w *work, dst []byte, lo, hi int64) error {
	fill(dst, a.set.Fill)
	if w.sub == nil {
		w.sub = &work{}
	}
	for i := range a.maps {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := &a.maps[i]
		ra, rb := m.to.rows(lo, hi)
		if ra >= rb {
			continue
		}
		n, end := ra*m.to.perRow(), rb*m.to.perRow()
		if err := m.copy(ctx, w, dst, lo*a.rowElems, n, end); err != nil {
			return located(err, -1, "virtual data set, source %s", m.src.path)
		}
	}
	return nil
}

// copy copies elements [n, end) of the selections; dst begins with element base.
func (m *mapping) copy(ctx context.Context, w *work, dst []byte, base, n, end int64) error {
	per, src := m.from.perRow(), m.src
	for n < end {
		first := n / per
		last := min((end-1)/per, first)
		lo := m.from.row(first)
		for last < (end-1)/per && (m.from.row(last+1)+1-lo)*src.rowBytes <= sourceBytes {
			last++
		}
		hi := m.from.row(last) + 1
		w.raw = grow(w.raw, (hi-lo)*src.rowBytes)
		if err := src.backed(hi - lo); err != nil {
			return err
		}
		if err := src.read(ctx, w.sub, w.raw, lo, hi); err != nil {
			return err
		}
		for stop := min((last+1)*per, end); n < stop; {
			from, run := m.from.at(n)
			to, also := m.to.at(n)
			k := min(run, also, stop-n)
			copy(dst[(to-base)*src.elem:][:k*src.elem], w.raw[(from-lo*src.rowElems)*src.elem:])
			n += k
		}
	}
	return nil
}

// sameType tells whether elements of two types have the same bytes for the same
// values.
func sameType(a, b *h5.Type) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Class != b.Class || a.Size != b.Size || a.Order != b.Order || a.Signed != b.Signed || a.BitOffset != b.BitOffset ||
		a.Precision != b.Precision || a.Float != b.Float || a.Padding != b.Padding || a.VarString != b.VarString ||
		len(a.Members) != len(b.Members) || len(a.Dims) != len(b.Dims) || string(a.Values) != string(b.Values) {
		return false
	}
	for i := range a.Dims {
		if a.Dims[i] != b.Dims[i] {
			return false
		}
	}
	for i := range a.Members {
		if a.Members[i].Name != b.Members[i].Name || a.Members[i].Offset != b.Members[i].Offset || !sameType(a.Members[i].Type, b.Members[i].Type) {
			return false
		}
	}
	return sameType(a.Base, b.Base)
}
