package array

import (
	"context"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/readers/internal/grid"
)

// Order says in which order a data set's axes are read, where that is not the stored one:
// the samples' axis first. MATLAB stores arrays with their axes reversed, and has no
// arrays of fewer than two.
type Order struct {
	Perm    []int `json:"perm"`              // stored axes, in the order that they are read in
	Squeeze bool  `json:"squeeze,omitempty"` // axes of length 1 behind the first are dropped
	Text    bool  `json:"text,omitempty"`    // characters along the last axis are a text
	// Picks is what is taken of each stored axis; nil is all of all axes.
	Picks []grid.Pick `json:"picks,omitempty"`
}

// As is the order of axes as they are stored.
func As(rank int) *Order {
	o := &Order{}
	for k := range rank {
		o.Perm = append(o.Perm, k)
	}
	return o
}

// pick is what is taken of a stored axis.
func (o *Order) pick(k int) grid.Pick {
	if k >= len(o.Picks) {
		return nil
	}
	return o.Picks[k]
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
	b := &Array{File: a.File, Path: a.Path, Set: a.Set, Elem: a.Elem, Rows: 1, RowElems: 1, base: a, Order: how, strides: make([]int64, rank), places: make([]grid.Places, rank)}
	step := a.Elem
	for i := rank - 1; i >= 0; i-- {
		k := how.Perm[i]
		p := how.pick(k)
		if err := p.Check(a.Dims[k]); err != nil {
			return nil, err
		}
		b.places[k] = p.Places(a.Dims[k])
		b.strides[k] = step
		step *= p.Len(a.Dims[k])
	}
	for i, k := range how.Perm {
		switch n := how.pick(k).Len(a.Dims[k]); {
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
	if b.Elem > math.MaxInt32 {
		return nil, shardify.Unsupported("texts of %d bytes", b.Elem)
	}
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
	if a.Order.Text && len(b.Dims) == 1 { // one text
		return b.Read(ctx, w, dst, 0, b.Rows)
	}
	if at, n, ok := a.stretch(lo, hi); ok {
		return a.atRow(b.Read(ctx, w, dst, at, at+n))
	}
	switch l := &a.Set.Layout; {
	case b.chunks != nil:
		return a.readBlocks(ctx, w, dst, lo, hi)
	case l.Class == dataset.Contiguous && l.Addr != meta.Undefined && b.pieces == nil:
		return a.turnContiguous(ctx, w, dst, lo, hi)
	}
	axis := a.Order.Perm[0]
	step := max(turnBytes/max(b.RowBytes, 1), 1)
	shape, origin := slices.Clone(b.Dims), make([]int64, len(b.Dims))
	for r := int64(0); r < b.Rows; r += step {
		n := min(step, b.Rows-r)
		if shape[0], origin[0] = n, r; len(a.portions(0, r, r+n, lo, hi)) == 0 {
			if axis == 0 && r > 0 && a.Order.Picks == nil {
				break
			}
			continue
		}
		if err := w.Grow(ctx, &w.turn, n*b.RowBytes); err != nil {
			return err
		}
		if err := b.Read(ctx, w, w.turn, r, r+n); err != nil {
			return err
		}
		a.scatter(dst, w.turn, 0, origin, shape, shape, lo, hi)
	}
	return nil
}

// chunkJobs lists the stored chunks that hold a part of rows [lo, hi), by place in the file.
// missing: there are others, which were never written.
func (a *Array) chunkJobs(w *Buffers, lo, hi int64) (jobs []job, missing bool) {
	c := a.base.chunks
	axes := make([][]int64, len(c.dims)) // the chunks along each that are touched
	jobs = w.jobs[:0]
	for d, size := range c.dims {
		from, to := int64(0), a.places[d].Len
		if d == a.Order.Perm[0] {
			from, to = lo, hi
		}
		if axes[d] = a.places[d].Blocks(from, to, size); len(axes[d]) == 0 {
			return jobs, false
		}
	}
	for at := make([]int, len(axes)); ; {
		n := int64(0)
		for d, g := range c.table.Grid {
			n = n*g + axes[d][at[d]]
		}
		if k, ok := c.table.Get(n); ok {
			jobs = append(jobs, job{k, n})
		} else {
			missing = true
		}
		d := len(at) - 1
		for ; d >= 0; d-- {
			if at[d]++; at[d] < len(axes[d]) {
				break
			}
			at[d] = 0
		}
		if d < 0 {
			break
		}
	}
	w.jobs = jobs
	slices.SortFunc(jobs, byPlace)
	return jobs, missing
}

// readBlocks reads rows [lo, hi). Blocks that are needed in part are kept, as the next span
// needs the other part.
func (a *Array) readBlocks(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	partial := func(start, end int64) bool {
		return (lo > start || hi < end) && !a.base.chunks.plain && (end-start)*a.RowBytes <= KeepRow
	}
	for lo < hi {
		start, end := a.block(lo)
		if partial(start, end) {
			data, err := a.keep(ctx, w, start, end, a.turnChunks)
			if err != nil {
				return err
			}
			n := min(hi, end) - lo
			copy(dst[:n*a.RowBytes], data[(lo-start)*a.RowBytes:])
			dst, lo = dst[n*a.RowBytes:], lo+n
			continue
		}
		stop := hi
		if start, end := a.block(hi - 1); start > lo && partial(start, end) {
			stop = start
		}
		if err := a.turnChunks(ctx, w, dst[:(stop-lo)*a.RowBytes], lo, stop); err != nil {
			return err
		}
		dst, lo = dst[(stop-lo)*a.RowBytes:], stop
	}
	return nil
}

// turnChunks decodes the chunks that hold a part of rows [lo, hi), each once.
func (a *Array) turnChunks(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	c := a.base.chunks
	jobs, missing := a.chunkJobs(w, lo, hi)
	if missing {
		Fill(dst, a.Set.Fill)
	}
	coord, shape := make([]int64, len(c.dims)), make([]int64, len(c.dims))
	for _, j := range jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		data, err := c.whole(ctx, w, j)
		if err != nil {
			return a.atRow(c.at(err, j))
		}
		c.table.Coord(j.n, coord)
		for d := range coord {
			coord[d] *= c.dims[d]
			shape[d] = min(c.dims[d], a.base.Dims[d]-coord[d])
		}
		a.scatter(dst, data, 0, coord, shape, c.dims, lo, hi)
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
	return c.decodeOwn(ctx, w, j, w.in)
}
