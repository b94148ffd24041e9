package hdf5

import (
	"context"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// turn says in which order a data set's axes are read, where that is not the stored one:
// the samples' axis first. MATLAB stores arrays with their axes reversed, and has no
// arrays of fewer than two.
type turn struct {
	Perm    []int `json:"perm"`              // stored axes, in the order that they are read in
	Squeeze bool  `json:"squeeze,omitempty"` // axes of length 1 behind the first are dropped
	Text    bool  `json:"text,omitempty"`    // 16-bit codes along the last axis are a text
}

// turns chooses the order of axes of all data sets of a tree: as --axis says, or as
// MATLAB's files want it.
func (t *tree) turns(opts *settings) error {
	var n int64
	for rows, bytes := range t.tables {
		if bytes > t.tables[n] || bytes == t.tables[n] && rows > n {
			n = rows
		}
	}
	for i := range t.objects {
		o := &t.objects[i]
		if o.matrix != nil || o.wide {
			continue
		}
		var how *turn
		var err error
		switch {
		case opts.axis != rows.AutoAxis:
			how, err = turnTo(opts.axis, o)
		}
		if o.matlab && (opts.axis == rows.AutoAxis || o.text) {
			how = matlabTurn(o, n)
		}
		if err != nil {
			return err
		}
		if how != nil {
			if err := t.turn(o, how); err != nil {
				return shardify.Annotate(err, "", "", o.path)
			}
		}
	}
	return nil
}

// turnTo puts an axis first; nil if it is there.
func turnTo(axis int, o *object) (*turn, error) {
	rank := len(o.dims)
	if rank < 2 { // there is no choice
		return nil, nil
	}
	axis, ok := rows.PlaceOfAxis(axis, rank)
	if !ok {
		return nil, shardify.Misuse("%s has the axes 0 to %d: --columns or --object selects what has others", o.path, rank-1)
	}
	if axis == 0 {
		return nil, nil
	}
	how := &turn{Perm: []int{axis}}
	for k := range rank {
		if k != axis {
			how.Perm = append(how.Perm, k)
		}
	}
	return how, nil
}

// matlabArray notes that a data set is an array of MATLAB, and how many samples there
// would be if it were a table: the rows of a matrix, the length of a vector. Those of most
// bytes count, wanted or not.
func (t *tree) matlabArray(o *object, class string, typ *h5.Type) {
	o.matlab = class != "" && len(o.dims) >= 2
	o.text = o.matlab && class == "char" && len(o.dims) == 2 && typ.Class == h5.Integer && typ.Size == 2
	if !o.matlab || o.text || len(o.dims) != 2 || o.dims[0]*o.dims[1] == 1 {
		return
	}
	n := o.dims[1]
	if n == 1 {
		n = o.dims[0]
	}
	if t.tables == nil {
		t.tables = map[int64]int64{}
	}
	t.tables[n] += o.bytes
}

// matlabTurn finds the samples' axis of an array in a MATLAB file, which is n long if
// that is known: the rows of matrices, stored last; of arrays with more axes MATLAB's
// first or last one. The other axes come as MATLAB has them.
func matlabTurn(o *object, n int64) *turn {
	rank := len(o.dims)
	if rank < 2 {
		return nil
	}
	axis := rank - 1
	switch {
	case o.text:
	case rank == 2 && o.dims[1] == 1: // a row vector
		axis = 0
	case rank > 2 && o.dims[rank-1] != n:
		axis = 0
	}
	how := &turn{Perm: []int{axis}, Squeeze: rank == 2, Text: o.text}
	for k := rank - 1; k >= 0; k-- {
		if k != axis {
			how.Perm = append(how.Perm, k)
		}
	}
	return how
}

// turn changes what is known of a data set.
func (t *tree) turn(o *object, how *turn) error {
	f := t.file
	f.mu.Lock()
	delete(f.arrays, o.path)
	if f.turns == nil {
		f.turns = map[string]*turn{}
	}
	f.turns[o.path] = how
	f.mu.Unlock()
	a, err := f.array(o.path)
	if err != nil {
		return err
	}
	stored := *o
	stored.wanted = slices.Clone(o.wanted)
	unlimited, axes := o.unlimited, o.axes
	o.unlimited, o.axes = nil, nil
	for k := range a.dims {
		o.unlimited = append(o.unlimited, unlimited[how.Perm[k]])
		if len(axes) == len(how.Perm) {
			o.axes = append(o.axes, axes[how.Perm[k]])
		}
	}
	o.dims, o.elem, o.unit, o.how = a.dims, a.elem, a.unit(), how
	o.stored = &stored
	if how.Text {
		for i := range o.wanted {
			o.wanted[i].leaf = a.codeText(t.media)
		}
	}
	return nil
}

// codeText is the leaf of a text of 16-bit codes.
func (a *array) codeText(media string) leaf {
	return leaf{kind: texts, size: int(a.elem), media: media, codes16: true, big: a.set.Type.Order == h5.BigEndian}
}

// unturned undoes turns: in a set of groups or data sets that are samples axes stay as
// they are stored.
func (t *tree) unturned(opts *settings) error {
	if opts.axis != rows.AutoAxis {
		return shardify.Mismatch("--axis goes with samples that are rows or files")
	}
	f := t.file
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range t.objects {
		if o := &t.objects[i]; o.stored != nil {
			*o = *o.stored
			delete(f.arrays, o.path)
			delete(f.turns, o.path)
		}
	}
	return nil
}

// axis is the stored axis whose rows are read.
func (a *array) axis() int {
	if a.how == nil {
		return 0
	}
	return a.how.Perm[0]
}

// asStored is the array whose chunks and pieces are read.
func (a *array) asStored() *array {
	if a.base != nil {
		return a.base
	}
	return a
}

// turned is an array whose axes are read in another order.
func (a *array) turned(how *turn) (*array, error) {
	rank := len(a.dims)
	seen := make([]bool, rank)
	for _, k := range how.Perm {
		if k < 0 || k >= rank || seen[k] {
			return nil, shardify.Corrupt(-1, "axes %v of a data set of %d", how.Perm, rank)
		}
		seen[k] = true
	}
	if len(how.Perm) != rank || rank == 0 {
		return nil, errChanged("%d axes", rank)
	}
	b := &array{file: a.file, path: a.path, set: a.set, elem: a.elem, rows: 1, rowElems: 1, base: a, how: how, strides: make([]int64, rank)}
	step := a.elem
	for i := rank - 1; i >= 0; i-- {
		b.strides[how.Perm[i]] = step
		step *= a.dims[how.Perm[i]]
	}
	for i, k := range how.Perm {
		switch n := a.dims[k]; {
		case how.Text && i == rank-1:
			b.elem *= n
		case i > 0 && how.Squeeze && n == 1:
		default:
			b.dims = append(b.dims, n)
		}
	}
	if how.Squeeze && len(b.dims) == 1 && b.dims[0] == 1 {
		b.dims = nil
	}
	if len(b.dims) > 0 {
		b.rows = b.dims[0]
		b.rowElems = dimsBytes(b.dims[1:], 1)
	}
	b.rowBytes = b.rowElems * b.elem
	return b, nil
}

// turnBytes is about how much is read of an array to be turned at once.
const turnBytes = 1 << 20

// readTurned reads rows [lo, hi) along the axis that comes first.
func (a *array) readTurned(ctx context.Context, w *work, dst []byte, lo, hi int64) error {
	b := a.base
	if err := b.ready(); err != nil {
		return err
	}
	switch l := &a.set.Layout; {
	case b.chunks != nil:
		return a.turnChunks(ctx, w, dst, lo, hi)
	case l.Class == h5.Contiguous && l.Addr != h5.Undefined && b.pieces == nil:
		return a.turnContiguous(ctx, w, dst, lo, hi)
	}
	axis := a.how.Perm[0]
	first, last := int64(0), b.rows
	if axis == 0 {
		first, last = lo, hi
	}
	step := max(turnBytes/max(b.rowBytes, 1), 1)
	for r := first; r < last; r += step {
		n := min(step, last-r)
		if err := w.grow(ctx, &w.turn, n*b.rowBytes); err != nil {
			return err
		}
		if err := b.read(ctx, w, w.turn, r, r+n); err != nil {
			return err
		}
		shape := slices.Clone(b.dims)
		shape[0] = n
		origin := make([]int64, len(shape))
		origin[0] = r
		a.scatter(dst, w.turn, origin, shape, shape, lo, hi)
	}
	return nil
}

// turnContiguous reads the runs of rows [lo, hi), those that lie near each other at once.
func (a *array) turnContiguous(ctx context.Context, w *work, dst []byte, lo, hi int64) error {
	b, axis := a.base, a.how.Perm[0]
	inner := dimsBytes(b.dims[axis+1:], b.elem)
	outer := dimsBytes(b.dims[:axis], 1)
	stride := b.dims[axis] * inner
	shape := slices.Clone(b.dims)
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
			if err := w.grow(ctx, &w.turn, (m-1)*stride+run); err != nil {
				return err
			}
			if err := b.file.readAt(w.turn, a.set.Layout.Addr+o*stride+lo0*inner); err != nil {
				return err
			}
			for k := range m {
				for d, at := axis-1, o+k; d >= 0; d-- {
					origin[d], at = at%b.dims[d], at/b.dims[d]
				}
				a.scatter(dst, w.turn[k*stride:], origin, shape, shape, lo, hi)
			}
		}
	}
	return nil
}

// turnChunks decodes the chunks that hold a part of rows [lo, hi), each once.
func (a *array) turnChunks(ctx context.Context, w *work, dst []byte, lo, hi int64) error {
	c, axis := a.base.chunks, a.how.Perm[0]
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
		fill(dst, a.set.Fill)
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
			shape[d] = min(c.dims[d], a.base.dims[d]-coord[d])
		}
		a.scatter(dst, data, coord, shape, c.dims, lo, hi)
	}
	return nil
}

// whole reads and decodes one chunk.
func (c *chunks) whole(ctx context.Context, w *work, j job) ([]byte, error) {
	if j.Size < 0 || j.Addr < 0 || j.Size > c.a.file.size-j.Addr {
		return nil, shardify.Corrupt(j.Addr, "chunk of %d bytes in a file of %d", j.Size, c.a.file.size)
	}
	if err := w.grow(ctx, &w.in, j.Size); err != nil {
		return nil, err
	}
	if err := c.a.file.readAt(w.in, j.Addr); err != nil {
		return nil, err
	}
	if more := c.pipe.Needs(c.size) - w.pipe.Memory(); more > 0 && !c.stored(j) {
		if err := w.hold(ctx, more); err != nil {
			return nil, err
		}
	}
	if w.decoded != nil {
		w.decoded[c]++
	}
	return c.apart(ctx, w, j, w.in)
}

// scatter puts a block of the stored array, that begins at origin and whose rows have the
// lengths of full, into rows [lo, hi) of the turned one.
func (a *array) scatter(dst, src []byte, origin, shape, full []int64, lo, hi int64) {
	axis := a.how.Perm[0]
	from := strides(full, a.base.elem)
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
	scatterFrom(dst[to:], src, n, from, a.strides, a.base.elem)
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

// text16 is the text of 16-bit codes.
func text16(buf []byte, b []byte, big bool) []byte {
	codes := make([]uint16, len(b)/2)
	for i := range codes {
		if codes[i] = le.Uint16(b[2*i:]); big {
			codes[i] = be.Uint16(b[2*i:])
		}
	}
	return append(buf, strings.TrimRight(string(utf16.Decode(codes)), " \x00")...)
}
