package array

import (
	"cmp"
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/filter"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/internal/grid"
)

// Buffers are the memory of one reader, reused from span to span.
type Buffers struct {
	in    []byte // stored bytes of neighbouring chunks
	out   []byte // a decoded chunk
	turn  []byte // stored rows before they are turned
	jobs  []job
	coord []int64
	kept  []kept // rows of chunks that spans use in part
	pipe  filter.Scratch
	sub   *Buffers // of a virtual data set's sources
	rows  []byte   // of such a source
	// Decoded counts the chunks that were decoded, if a test wants it.
	Decoded map[*Array]int

	scratch shardify.Scratch
	mem     *shardify.Arena // of the current span; nil where memory is not counted
	others  others          // what the reader holds besides; may be nil
	shared  *Buffers        // that counts for this one, too
	bytes   int64           // of kept
	keep    int64           // of them, at most
}

// others are a reader's further buffers, which count as these do.
type others interface {
	Held() int64
	Drop()
}

// job is the reading of one stored chunk.
type job struct {
	dataset.Chunk
	n int64 // its number
}

// kept is a decoded row of chunks, or what is taken of it.
type kept struct {
	a    *Array
	row  int64 // of the array, the first
	data []byte
}

const (
	// gap is how many bytes may be between two stored chunks that are read at once: less
	// than a disk delivers in the time of a seek.
	gap = 64 << 10
	// together bounds what is read at once.
	together = 1 << 20
	// keepAll bounds the rows of chunks that a reader keeps decoded.
	keepAll = 32 << 20
)

// KeepRow is the largest row of chunks that is kept. Tests make it small.
var KeepRow int64 = 8 << 20

// Grow makes a buffer one of n bytes of any content.
func (w *Buffers) Grow(ctx context.Context, b *[]byte, n int64) error {
	if have := int64(cap(*b)); have < n {
		if err := w.hold(ctx, n-have); err != nil {
			return err
		}
		*b = nil
		*b = make([]byte, n)
	}
	*b = (*b)[:n]
	return nil
}

// hold says that so much more is about to be held.
func (w *Buffers) hold(ctx context.Context, more int64) error {
	top := w
	if w.shared != nil {
		top = w.shared
	}
	if top.mem == nil {
		return nil
	}
	return top.scratch.Hold(ctx, top.mem, top.Memory()+more)
}

// Memory is the bytes of all buffers.
func (w *Buffers) Memory() int64 {
	n := int64(cap(w.in)+cap(w.out)+cap(w.rows)+cap(w.turn)) + w.bytes + w.pipe.Memory()
	if w.others != nil {
		n += w.others.Held()
	}
	if w.sub != nil {
		n += w.sub.Memory()
	}
	return n
}

// Begin prepares for a span.
func (w *Buffers) Begin(ctx context.Context, mem *shardify.Arena, others others) error {
	w.mem, w.others = mem, others
	if err := w.hold(ctx, 0); err != nil { // it counts among the readers
		return err
	}
	w.keep = min(keepAll, w.scratch.Share())
	return nil
}

// End drops what is more than the reader's share of memory: what the next span may need
// goes last.
func (w *Buffers) End(ctx context.Context) error {
	defer func() { w.mem = nil }()
	if share := w.scratch.Share(); w.Memory() > share {
		w.in, w.out, w.rows, w.turn, w.sub, w.pipe = nil, nil, nil, nil, nil, filter.Scratch{}
		if w.others != nil {
			w.others.Drop()
		}
		for w.bytes > share {
			w.evict()
		}
	}
	return w.hold(ctx, 0)
}

// Share is how much of the memory it may hold between spans.
func (w *Buffers) Share() int64 { return w.scratch.Share() }

// Close drops all of it.
func (w *Buffers) Close() {
	w.scratch.Close()
	*w = Buffers{}
}

// Keeps is the rows of chunks that are kept, their bytes, and those that were counted.
func (w *Buffers) Keeps() (rows int, bytes, counted int64) {
	for i := range w.kept {
		bytes += int64(cap(w.kept[i].data))
	}
	return len(w.kept), bytes, w.bytes
}

// evict drops the row of chunks that was kept first.
func (w *Buffers) evict() {
	w.bytes -= int64(cap(w.kept[0].data))
	w.kept = slices.Delete(w.kept, 0, 1)
}

// read reads rows [lo, hi). Rows of chunks that are needed in part are kept, as
// the next span needs the other part.
func (c *chunks) read(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	c0, rowBytes := c.dims[0], c.a.RowBytes
	for lo < hi {
		row := lo / c0
		start, end := row*c0, min((row+1)*c0, c.a.Rows)
		if part := lo > start || hi < end; part && !c.plain && (end-start)*rowBytes <= KeepRow {
			data, err := c.a.keep(ctx, w, start, end, c.readRows)
			if err != nil {
				return err
			}
			n := min(hi, end) - lo
			copy(dst[:n*rowBytes], data[(lo-start)*rowBytes:])
			dst, lo = dst[n*rowBytes:], lo+n
			continue
		}
		stop := hi
		if last := hi / c0 * c0; last > lo && last < hi && hi < c.a.Rows {
			stop = last // the rest is part of a row of chunks
		}
		if err := c.readRows(ctx, w, dst[:(stop-lo)*rowBytes], lo, stop); err != nil {
			return err
		}
		dst, lo = dst[(stop-lo)*rowBytes:], stop
	}
	return nil
}

// keep returns rows [start, end), those of a row of chunks, which a reader has once.
func (a *Array) keep(ctx context.Context, w *Buffers, start, end int64, read func(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error) ([]byte, error) {
	for i := range w.kept {
		if k := w.kept[i]; k.a == a && k.row == start {
			return k.data, nil
		}
	}
	var data []byte
	for i := range w.kept {
		if w.kept[i].a == a { // the row before: no longer wanted
			data = w.kept[i].data
			w.bytes -= int64(cap(data))
			w.kept = slices.Delete(w.kept, i, i+1)
			break
		}
	}
	n := (end - start) * a.RowBytes
	for len(w.kept) > 0 && w.bytes+n > w.keep {
		if data == nil {
			data = w.kept[0].data
		}
		w.evict()
	}
	if err := w.Grow(ctx, &data, n); err != nil {
		return nil, err
	}
	if err := read(ctx, w, data, start, end); err != nil {
		return nil, err
	}
	w.kept = append(w.kept, kept{a, start, data})
	w.bytes += int64(cap(data))
	return data, nil
}

// readRows reads rows [lo, hi), each chunk once: sorted by place in the file,
// neighbours by one read.
func (c *chunks) readRows(ctx context.Context, w *Buffers, dst []byte, lo, hi int64) error {
	first, last := lo/c.dims[0]*c.inner, ((hi-1)/c.dims[0]+1)*c.inner
	jobs := w.jobs[:0]
	missing := false
	for n := first; n < last; n++ {
		k, ok := c.table.Get(n)
		if !ok {
			missing = true
			continue
		}
		jobs = append(jobs, job{k, n})
	}
	w.jobs = jobs
	if missing {
		Fill(dst, c.a.Set.Fill)
	}
	if !slices.IsSortedFunc(jobs, byPlace) {
		slices.SortFunc(jobs, byPlace)
	}
	for i := 0; i < len(jobs); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := c.readSome(ctx, w, jobs[i:], dst, lo, hi)
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

func byPlace(a, b job) int { return cmp.Compare(a.Addr, b.Addr) }

// readSome reads the first of the jobs and those that are near it.
func (c *chunks) readSome(ctx context.Context, w *Buffers, jobs []job, dst []byte, lo, hi int64) (int, error) {
	if c.direct && c.stored(jobs[0]) {
		return c.readDirect(jobs, dst, lo, hi)
	}
	start := jobs[0].Addr
	end := start
	n := 0
	for ; n < len(jobs); n++ {
		j := &jobs[n]
		if j.Size < 0 || j.Addr < 0 || j.Size > c.a.File.Size-j.Addr {
			return 0, c.at(shardify.Corrupt(j.Addr, "chunk of %d bytes in a file of %d", j.Size, c.a.File.Size), *j)
		}
		if n > 0 && (j.Addr-end > gap || j.Addr+j.Size-start > together || c.direct && c.stored(*j)) {
			break
		}
		end = max(end, j.Addr+j.Size)
	}
	if err := w.Grow(ctx, &w.in, end-start); err != nil {
		return 0, err
	}
	if err := c.a.File.ReadFull(w.in, start); err != nil {
		return 0, err
	}
	for _, j := range jobs[:n] {
		if err := c.decode(ctx, w, j, w.in[j.Addr-start:][:j.Size], dst, lo, hi); err != nil {
			return 0, c.at(err, j)
		}
	}
	return n, nil
}

// stored: the chunk's bytes are its elements.
func (c *chunks) stored(j job) bool { return c.plain || j.Mask == dataset.AllFilters }

// readDirect reads stored rows to where they belong, together with those that
// follow both in the file and in the array.
func (c *chunks) readDirect(jobs []job, dst []byte, lo, hi int64) (int, error) {
	at := func(j job) (off, from, to int64) { // place in the file, in dst
		r0 := j.n * c.dims[0]
		a, b := max(lo, r0), min(hi, r0+c.dims[0])
		return j.Addr + (a-r0)*c.a.RowBytes, (a - lo) * c.a.RowBytes, (b - lo) * c.a.RowBytes
	}
	off, from, to := at(jobs[0])
	n := 0
	for ; n < len(jobs); n++ {
		o, f, t := at(jobs[n])
		if !c.stored(jobs[n]) || o != off+f-from || n > 0 && f != to {
			break
		}
		if jobs[n].Size < c.size {
			return 0, c.at(shardify.Corrupt(jobs[n].Addr, "chunk of %d bytes has %d", c.size, jobs[n].Size), jobs[n])
		}
		to = t
	}
	if n == 0 {
		panic("hdf5: a stored chunk that is not")
	}
	if err := c.a.File.ReadFull(dst[from:to], off); err != nil {
		return 0, c.at(err, jobs[0])
	}
	return n, nil
}

// decode decodes a chunk, into its place if it is whole and in one piece there.
func (c *chunks) decode(ctx context.Context, w *Buffers, j job, in, dst []byte, lo, hi int64) error {
	if w.Decoded != nil {
		w.Decoded[c.a]++
	}
	r0 := j.n / c.inner * c.dims[0]
	a, b := max(lo, r0), min(hi, r0+c.dims[0])
	if more := c.pipe.Needs(c.size) - w.pipe.Memory(); more > 0 && !c.stored(j) {
		if err := w.hold(ctx, more); err != nil {
			return err
		}
	}
	if c.direct && b-a == c.dims[0] {
		to := dst[(a-lo)*c.a.RowBytes:][:c.size]
		return c.pipe.Decode(to, in, j.Mask, &w.pipe)
	}
	out, err := c.decodeOwn(ctx, w, j, in)
	if err != nil {
		return err
	}
	c.place(w, j.n, dst, out, lo, a, b)
	return nil
}

// decodeOwn decodes a chunk to a place of its own, if it is not there as it is.
func (c *chunks) decodeOwn(ctx context.Context, w *Buffers, j job, in []byte) ([]byte, error) {
	if c.stored(j) {
		if int64(len(in)) < c.size {
			return nil, shardify.Corrupt(-1, "chunk of %d bytes has %d", c.size, len(in))
		}
		return in, nil
	}
	if c.size > LargeClaim && c.size/c.ratio > j.Size {
		return nil, shardify.Corrupt(-1, "chunk of %d bytes cannot come from %d", c.size, j.Size)
	}
	if err := w.Grow(ctx, &w.out, c.size); err != nil {
		return nil, err
	}
	return w.out, c.pipe.Decode(w.out, in, j.Mask, &w.pipe)
}

// place copies rows [a, b) of chunk n to dst, which begins with row lo.
func (c *chunks) place(w *Buffers, n int64, dst, src []byte, lo, a, b int64) {
	w.coord = slices.Grow(w.coord[:0], len(c.dims))
	coord := c.table.Coord(n, w.coord[:len(c.dims)])
	from := (a - coord[0]*c.dims[0]) * c.from[0]
	to := (a - lo) * c.to[0]
	count := b - a
	if c.run == 0 {
		copy(dst[to:], src[from:][:count*c.from[0]])
		return
	}
	for range count {
		c.placeInner(dst[to:], src[from:], 1, coord)
		to, from = to+c.to[0], from+c.from[0]
	}
}

// placeInner copies what is inside dimension d.
func (c *chunks) placeInner(dst, src []byte, d int, coord []int64) {
	origin := coord[d] * c.dims[d]
	count := min(c.dims[d], c.a.Dims[d]-origin)
	dst = dst[origin*c.to[d]:]
	if d == c.run {
		n := count * c.from[d]
		copy(dst[:n], src[:n])
		return
	}
	if d+1 == c.run {
		c.placeRuns(dst, src, d, count, coord)
		return
	}
	var to, from int64
	for range count {
		c.placeInner(dst[to:], src[from:], d+1, coord)
		to, from = to+c.to[d], from+c.from[d]
	}
}

// placeRuns is the innermost loop: count separate runs.
func (c *chunks) placeRuns(dst, src []byte, d int, count int64, coord []int64) {
	origin := coord[c.run] * c.dims[c.run]
	n := min(c.dims[c.run], c.a.Dims[c.run]-origin) * c.from[c.run]
	grid.Copy(dst[origin*c.to[c.run]:], src, count, n, c.to[d], c.from[d])
}

// at says in which chunk an error is.
func (c *chunks) at(err error, j job) error {
	coord := c.table.Coord(j.n, make([]int64, len(c.dims)))
	return &RowError{coord[0] * c.dims[0], located(err, j.Addr, "chunk %v", coord)}
}
