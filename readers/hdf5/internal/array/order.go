package array

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// Order says in which order a data set's axes are read, where that is not the stored one:
// the samples' axis first. MATLAB stores arrays with their axes reversed, and has no
// arrays of fewer than two.
type Order struct {
	Perm    []int `json:"perm"`              // stored axes, in the order that they are read in
	Squeeze bool  `json:"squeeze,omitempty"` // axes of length 1 behind the first are dropped
	Text    bool  `json:"text,omitempty"`    // 16-bit codes along the last axis are a text
}

// Axis is the stored axis whose rows are read.
func (a *Array) Axis() int {
	if a.Order == nil {
		return 0
	}
	return a.Order.Perm[0]
}

// asStored is the array whose chunks and pieces are read.
func (a *Array) asStored() *Array {
	if a.base != nil {
		return a.base
	}
	return a
}

// turned is an array whose axes are read in another order.
func (a *Array) turned(how *Order) (*Array, error) {
	rank := len(a.Dims)
	seen := make([]bool, rank)
	for _, k := range how.Perm {
		if k < 0 || k >= rank || seen[k] {
			return nil, shardify.Corrupt(-1, "axes %v of a data set of %d", how.Perm, rank)
		}
		seen[k] = true
	}
	if len(how.Perm) != rank || rank == 0 {
		return nil, shardify.Mismatch("changed since the plan, or damaged: it has %d axes", rank)
	}
	b := &Array{File: a.File, Path: a.Path, Set: a.Set, Elem: a.Elem, Rows: 1, RowElems: 1, base: a, Order: how, strides: make([]int64, rank)}
	step := a.Elem
	for i := rank - 1; i >= 0; i-- {
		b.strides[how.Perm[i]] = step
		step *= a.Dims[how.Perm[i]]
	}
	for i, k := range how.Perm {
		switch n := a.Dims[k]; {
		case how.Text && i == rank-1:
			b.Elem *= n
		case i > 0 && how.Squeeze && n == 1:
		default:
			b.Dims = append(b.Dims, n)
		}
	}
	if how.Squeeze && len(b.Dims) == 1 && b.Dims[0] == 1 {
		b.Dims = nil
	}
	if len(b.Dims) > 0 {
		b.Rows = b.Dims[0]
		b.RowElems = dimsBytes(b.Dims[1:], 1)
	}
	b.RowBytes = b.RowElems * b.Elem
	return b, nil
}

// turnBytes is about how much is read of an array to be turned at once.
const turnBytes = 1 << 20

// readTurned reads rows [lo, hi) along the axis that comes first.
func (a *Array) readTurned(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	b := a.base
	if err := b.ready(); err != nil {
		return err
	}
	switch l := &a.Set.Layout; {
	case b.chunks != nil:
		return a.turnChunks(ctx, w, dst, lo, hi)
	case l.Class == h5.Contiguous && l.Addr != h5.Undefined && b.pieces == nil:
		return a.turnContiguous(ctx, w, dst, lo, hi)
	}
	axis := a.Order.Perm[0]
	first, last := int64(0), b.Rows
	if axis == 0 {
		first, last = lo, hi
	}
	step := max(turnBytes/max(b.RowBytes, 1), 1)
	for r := first; r < last; r += step {
		n := min(step, last-r)
		if err := w.Grow(ctx, &w.turn, n*b.RowBytes); err != nil {
			return err
		}
		if err := b.Read(ctx, w, w.turn, r, r+n); err != nil {
			return err
		}
		shape := slices.Clone(b.Dims)
		shape[0] = n
		origin := make([]int64, len(shape))
		origin[0] = r
		a.scatter(dst, w.turn, origin, shape, shape, lo, hi)
	}
	return nil
}

// turnContiguous reads the runs of rows [lo, hi), those that lie near each other at once.
func (a *Array) turnContiguous(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	b, axis := a.base, a.Order.Perm[0]
	inner := dimsBytes(b.Dims[axis+1:], b.Elem)
	outer := dimsBytes(b.Dims[:axis], 1)
	stride := b.Dims[axis] * inner
	shape := slices.Clone(b.Dims)
	for k := range axis {
		shape[k] = 1
	}
	origin := make([]int64, len(shape))
	for lo0, step := lo, max(turnBytes/max(inner, 1), 1); lo0 < hi; lo0 += step {
		n := min(step, hi-lo0)
		run := n * inner
		together := int64(1)
		if stride-run < gap {
			together = max(turnBytes/max(stride, 1), 1)
		}
		shape[axis], origin[axis] = n, lo0
		for o := int64(0); o < outer; o += together {
			if err := ctx.Err(); err != nil {
				return err
			}
			m := min(together, outer-o)
			if err := w.Grow(ctx, &w.turn, (m-1)*stride+run); err != nil {
				return err
			}
			if err := b.File.ReadFull(w.turn, a.Set.Layout.Addr+o*stride+lo0*inner); err != nil {
				return err
			}
			for k := range m {
				for d, at := axis-1, o+k; d >= 0; d-- {
					origin[d], at = at%b.Dims[d], at/b.Dims[d]
				}
				a.scatter(dst, w.turn[k*stride:], origin, shape, shape, lo, hi)
			}
		}
	}
	return nil
}

// turnChunks decodes the chunks that hold a part of rows [lo, hi), each once.
func (a *Array) turnChunks(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	c, axis := a.base.chunks, a.Order.Perm[0]
	jobs, missing := w.jobs[:0], false
	from, to := make([]int64, len(c.dims)), slices.Clone(c.table.Grid)
	from[axis], to[axis] = lo/c.dims[axis], (hi-1)/c.dims[axis]+1
	for at := slices.Clone(from); ; {
		n := int64(0)
		for d, g := range c.table.Grid {
			n = n*g + at[d]
		}
		if k, ok := c.table.Get(n); ok {
			jobs = append(jobs, job{k, n})
		} else {
			missing = true
		}
		d := len(at) - 1
		for ; d >= 0; d-- {
			if at[d]++; at[d] < to[d] {
				break
			}
			at[d] = from[d]
		}
		if d < 0 {
			break
		}
	}
	w.jobs = jobs
	if missing {
		Fill(dst, a.Set.Fill)
	}
	slices.SortFunc(jobs, byPlace)
	coord := make([]int64, len(c.dims))
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := c.whole(ctx, w, j)
		if err != nil {
			return c.at(err, j)
		}
		c.table.Coord(j.n, coord)
		shape := make([]int64, len(coord))
		for d := range coord {
			coord[d] *= c.dims[d]
			shape[d] = min(c.dims[d], a.base.Dims[d]-coord[d])
		}
		a.scatter(dst, data, coord, shape, c.dims, lo, hi)
	}
	return nil
}

// whole reads and decodes one chunk.
func (c *chunks) whole(ctx context.Context, w *Buffers, j job) ([]byte, error) {
	if j.Size < 0 || j.Addr < 0 || j.Size > c.a.File.Size-j.Addr {
		return nil, shardify.Corrupt(j.Addr, "chunk of %d bytes in a file of %d", j.Size, c.a.File.Size)
	}
	if err := w.Grow(ctx, &w.in, j.Size); err != nil {
		return nil, err
	}
	if err := c.a.File.ReadFull(w.in, j.Addr); err != nil {
		return nil, err
	}
	if more := c.pipe.Needs(c.size) - w.pipe.Memory(); more > 0 && !c.stored(j) {
		if err := w.hold(ctx, more); err != nil {
			return nil, err
		}
	}
	if w.Decoded != nil {
		w.Decoded[c.a]++
	}
	return c.apart(ctx, w, j, w.in)
}

// scatter puts a block of the stored array, that begins at origin and whose rows have the
// lengths of full, into rows [lo, hi) of the turned one.
func (a *Array) scatter(dst, src []byte, origin, shape, full []int64, lo, hi int64) {
	axis := a.Order.Perm[0]
	from := strides(full, a.base.Elem)
	n := slices.Clone(shape)
	to := int64(0)
	for d := range n {
		first, last := origin[d], origin[d]+n[d]
		if d == axis {
			first, last = max(first, lo), min(last, hi)
			if first >= last {
				return
			}
			to -= lo * a.strides[d]
			src = src[(first-origin[d])*from[d]:]
		}
		n[d] = last - first
		to += first * a.strides[d]
	}
	scatterFrom(dst[to:], src, n, from, a.strides, a.base.Elem)
}

func scatterFrom(dst, src []byte, n, from, to []int64, elem int64) {
	if len(n) > 1 {
		for i := range n[0] {
			scatterFrom(dst[i*to[0]:], src[i*from[0]:], n[1:], from[1:], to[1:], elem)
		}
		return
	}
	count, step := n[0], to[0]
	if step == elem {
		copy(dst[:count*elem], src)
		return
	}
	var at int64
	switch elem {
	case 1:
		for i := range count {
			dst[at] = src[i]
			at += step
		}
	case 2:
		for i := range count {
			le.PutUint16(dst[at:], le.Uint16(src[2*i:]))
			at += step
		}
	case 4:
		for i := range count {
			le.PutUint32(dst[at:], le.Uint32(src[4*i:]))
			at += step
		}
	case 8:
		for i := range count {
			le.PutUint64(dst[at:], le.Uint64(src[8*i:]))
			at += step
		}
	default:
		for i := range count {
			copy(dst[at:at+elem], src[i*elem:])
			at += step
		}
	}
}
