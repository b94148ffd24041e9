package load

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/filemap"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// Rows at random places of files are copied out of mappings, where that is safe (package filemap): a
// call of the system for each row and tensor takes longer than the copy. What a visit finds wrong is
// read again with pread, which names shard and byte.

const (
	// visitRow is the bytes of a row, a tensor, from which pread is as fast as a mapping.
	visitRow = 32 << 10
	// visitRun is the bytes of a run, a tensor, from which the system reads ahead by itself.
	visitRun = 1 << 20
	// visitPiece is what one goroutine copies of a batch at least.
	visitPiece = 4 << 20
	// gapBytes is how many bytes may be between ranges that are read from storage by one request.
	gapBytes = 16 << 10
)

// visit is what a Reader needs to copy rows out of mappings.
type visit struct {
	open  []*OpenShard // by place of a shard: those in use
	used  []*OpenShard
	of    []*OpenShard // by run
	lists [][2][]int64 // by tensor of offsets, by run: the first element, and the one behind the last
	rows  int64        // of all runs
	// follow: each run's rows follow those of the one before in the table.
	follow bool
	cold   []coldRange
	// sure: the last visit waited for no page of a file, so that there is no need to ask which are in memory.
	sure bool
	// warm: the last batch of long runs was in memory, so that a look at a few rows of the next one is enough.
	warm  bool
	turns int
}

// coldRange is bytes of a shard that are not in memory.
type coldRange struct {
	h      *OpenShard
	lo, hi int64
}

// mapping is the shard in memory, or nil where it cannot be mapped.
func (h *OpenShard) mapping() *filemap.File {
	h.mapOnce.Do(func() {
		f := storage.OSFile(h.File)
		if f == nil || h.Mmap == nil || h.fetched() {
			return
		}
		for _, j := range h.Tensors {
			if !h.Mmap.Placed(j) || h.Mmap.Places[j].Hi > h.Record.Bytes {
				return
			}
		}
		h.mapped, _ = filemap.Open(f, h.Record.Bytes)
	})
	return h.mapped
}

// visited is Load out of mappings. It is not done where that cannot be, or was not possible: Load
// reads what there is then, and says what is wrong.
func (l *Reader) visited(ctx context.Context, t *Table, rows int64, runs []Run) (done bool, err error) {
	short, long := l.visits(runs)
	if !short && !long || ctx.Err() != nil || !filemap.Safe() {
		l.Warm.Store(false)
		return false, nil
	}
	start := Nanos()
	v := &l.visit
	defer func() {
		l.leave()
		l.Warm.Store(v.sure)
	}()
	entered := l.enter(runs)
	if !short || !entered {
		if v.sure = false; !short && entered {
			l.demandLong(t, runs)
		}
		return false, nil
	}
	if err := t.Reset(rows); err != nil {
		v.sure = false
		return false, err
	}
	sure := v.sure
	v.sure = false
	err = filemap.Guard(func() error { return l.offsets(t, runs, sure) })
	if err != nil || layOut(t, index.LeadOffsets) != nil {
		return false, nil
	}
	for i := range l.Layout.Tensors {
		if l.Layout.Tensors[i].Lead == index.LeadElements && t.setCount(i, t.total(l.Layout.ColumnOf(i).Offsets)) != nil {
			return false, nil
		}
	}
	if !sure {
		l.demand(t, runs)
	}
	n := t.Size()
	pieces := min(max(n/visitPiece, 1), int64(len(runs)))
	ok := make([]bool, pieces)
	err = l.Crew.Each(int(pieces), func(k int) error {
		lo, hi := len(runs)*k/int(pieces), len(runs)*(k+1)/int(pieces)
		runtime.LockOSThread() // whose faults are counted
		defer runtime.UnlockOSThread()
		before := filemap.Faults()
		err := filemap.Guard(func() error { return l.copyRuns(t, runs, lo, hi) })
		ok[k] = filemap.Faults() == before
		return err
	})
	if err != nil || !l.bools(t, runs) {
		return false, nil
	}
	v.sure = len(v.cold) == 0 && !slices.Contains(ok, false)
	l.ReadNanos.Add(Nanos() - start)
	l.ReadBytes.Add(n)
	return true, nil
}

// visits reports whether runs are short enough for a visit, or else so that they are to be asked for all at
// once.
func (l *Reader) visits(runs []Run) (short, long bool) {
	if len(runs) == 0 || l.Once || runs[0].Sh.Tar != nil || l.has(index.LeadLists) {
		return false, false
	}
	rows := int64(0)
	for i := range runs {
		rows += runs[i].Hi - runs[i].Lo
	}
	r := runs[0].Sh.Record
	each := r.Bytes / max(r.Samples, 1) * rows / int64(len(runs)*len(l.Layout.Tensors))
	return each < visitRow, each < visitRun && !l.has(index.LeadOffsets)
}

// enter opens the shards of runs. It reports whether all of them can be mapped.
func (l *Reader) enter(runs []Run) bool {
	v := &l.visit
	if v.open == nil {
		v.open, v.lists = make([]*OpenShard, len(l.Shards.Shards)), make([][2][]int64, len(l.Layout.Tensors))
	}
	v.of, v.cold, v.rows, v.follow = v.of[:0], v.cold[:0], 0, true
	for i := range runs {
		r := &runs[i]
		h := v.open[r.Sh.place]
		if h == nil {
			var err error
			if len(v.used) == l.mostOpen() {
				return false
			}
			if h, err = l.Acquire(r.Sh); err != nil {
				return false
			}
			v.open[r.Sh.place], v.used = h, append(v.used, h)
			if h.mapping() == nil {
				return false
			}
		}
		if r.Lo < 0 || r.Hi > h.Mmap.Samples {
			return false
		}
		v.of, v.rows = append(v.of, h), v.rows+r.Hi-r.Lo
		v.follow = v.follow && r.Row-runs[0].Row == v.rows-(r.Hi-r.Lo)
	}
	return true
}

// mostOpen is how many shards a batch may have open.
func (l *Reader) mostOpen() int {
	if len(l.Shards.Shards) <= l.Open {
		return l.Open
	}
	return max(l.Open/(l.Crew.helpers()+1), 1)
}

// leave ends the use of the shards of a batch.
func (l *Reader) leave() {
	for _, h := range l.visit.used {
		l.visit.open[h.place] = nil
		l.Release(h)
	}
	l.visit.used = l.visit.used[:0]
}

// offsets writes the lengths of the lists of runs, and notes where these are.
func (l *Reader) offsets(t *Table, runs []Run, sure bool) error {
	v := &l.visit
	for i := range l.Layout.Tensors {
		if l.Layout.Tensors[i].Lead != index.LeadOffsets {
			continue
		}
		if !sure {
			for k := range runs {
				l.ask(k, i, runs[k].Lo, runs[k].Hi+1)
			}
			l.fetchCold()
		}
		from, to, into := v.lists[i][0][:0], v.lists[i][1][:0], t.Int64s(i)
		for k := range runs {
			r, h := &runs[k], v.of[k]
			o := shardify.View[int64](v.bytes(h, h.Tensors[i]))[r.Lo : r.Hi+1]
			first := o[0] // each is read once: the file may be written to meanwhile
			at, most := first, h.Mmap.Indexed(h.Tensors[i])
			for j, next := range o[1:] {
				if next < at {
					return errOffsets
				}
				into[r.Row+1+int64(j)] = next - at
				at = next
			}
			if first < 0 || at > most || r.Lo == 0 && first != 0 || r.Hi == h.Record.Samples && at != most {
				return errOffsets
			}
			from, to = append(from, first), append(to, at)
		}
		v.lists[i] = [2][]int64{from, to}
	}
	return nil
}

// errOffsets is read again, for a better one.
var errOffsets = shardify.Corrupt(-1, "offsets")

// bytes is a tensor of a shard.
func (v *visit) bytes(h *OpenShard, j int) []byte {
	p := &h.Mmap.Places[j]
	return h.mapped.Bytes[p.Lo:p.Hi]
}

// span is which rows of tensor i run k takes.
func (l *Reader) span(runs []Run, k, i int) (lo, hi int64) {
	if l.Layout.Tensors[i].Lead == index.LeadElements {
		o := &l.visit.lists[l.Layout.ColumnOf(i).Offsets]
		return o[0][k], o[1][k]
	}
	return runs[k].Lo, runs[k].Hi
}

// demand has the system read what is not in memory of all tensors but offsets.
func (l *Reader) demand(t *Table, runs []Run) {
	for i := range l.Layout.Tensors {
		if l.Layout.Tensors[i].Lead == index.LeadOffsets || t.Absent != nil && t.Absent[i] {
			continue
		}
		for k := range runs {
			lo, hi := l.span(runs, k, i)
			l.ask(k, i, lo, hi)
		}
	}
	l.fetchCold()
}

// fewRuns is one of how many long runs is looked at where the last batch was in memory.
const fewRuns = 16

// demandLong is demand for runs that are read by calls, which takes no longer than they do where all is
// in memory.
func (l *Reader) demandLong(t *Table, runs []Run) {
	v := &l.visit
	if v.warm {
		v.turns++
		some := make([]Run, 0, len(runs)/fewRuns+1)
		of := v.of
		v.of = nil
		for k := v.turns % min(fewRuns, len(runs)); k < len(runs); k += fewRuns {
			some, v.of = append(some, runs[k]), append(v.of, of[k])
		}
		l.demand(t, some)
		if v.of = of; len(v.cold) == 0 {
			return
		}
		v.cold = v.cold[:0]
	}
	l.demand(t, runs)
	v.warm = len(v.cold) == 0
}

// ask notes rows [lo, hi) of tensor i if they are not in memory.
func (l *Reader) ask(k, i int, lo, hi int64) {
	h := l.visit.of[k]
	j := h.Tensors[i]
	at, row := h.Mmap.Places[j].Lo, h.Mmap.Tensors[j].Row
	if lo, hi = at+lo*row, at+hi*row; lo < hi && !h.mapped.Resident(lo, hi) {
		l.visit.cold = append(l.visit.cold, coldRange{h, lo, hi})
	}
}

// fetchCold has the system read what was noted, in the order of the files, all at the same time.
func (l *Reader) fetchCold() {
	c := l.visit.cold
	slices.SortFunc(c, func(a, b coldRange) int {
		return cmp.Or(cmp.Compare(a.h.place, b.h.place), cmp.Compare(a.lo, b.lo))
	})
	for k := 0; k < len(c); {
		h, lo, hi := c[k].h, c[k].lo, c[k].hi
		for k++; k < len(c) && c[k].h == h && c[k].lo <= hi+gapBytes; k++ {
			hi = max(hi, c[k].hi)
		}
		h.mapped.WillNeed(lo, hi)
	}
}

// copyRuns copies runs [lo, hi).
func (l *Reader) copyRuns(t *Table, runs []Run, lo, hi int) error {
	v := &l.visit
	for i := range l.Layout.Tensors {
		if t.Absent != nil && t.Absent[i] {
			continue
		}
		switch l.Layout.Tensors[i].Lead {
		case index.LeadSamples:
			if v.follow && v.rows <= shortRuns*int64(len(runs)) {
				l.copyEach(t, runs[lo:hi], v.of[lo:hi], i)
				continue
			}
			for k, r := range runs[lo:hi] {
				h, row := v.of[lo+k], l.Layout.Tensors[i].Row
				copy(t.Part(i, r.Row, r.Row+r.Hi-r.Lo), v.bytes(h, h.Tensors[i])[r.Lo*row:r.Hi*row])
			}
		case index.LeadElements:
			o, row := l.Layout.ColumnOf(i).Offsets, l.Layout.Tensors[i].Row
			dst, begins := t.Bytes(i), t.Int64s(o)
			for k := lo; k < hi; k++ {
				h := v.of[k]
				copy(dst[begins[runs[k].Row]*row:], v.bytes(h, h.Tensors[i])[v.lists[o][0][k]*row:v.lists[o][1][k]*row])
			}
		}
	}
	return nil
}

// shortRuns is up to how many rows a run, on average, all rows are copied one by one.
const shortRuns = 4

// copyEach copies the rows of runs of any shards one by one, so that the processor may have those that
// follow coming from memory.
func (l *Reader) copyEach(t *Table, runs []Run, of []*OpenShard, i int) {
	var at [256]int64 // where rows begin, from base
	size := l.Layout.Tensors[i].Row
	base := unsafe.Pointer(unsafe.SliceData(of[0].mapped.Bytes))
	n, to := 0, runs[0].Row
	flush := func() {
		if n > 0 && size > 0 {
			copyFrom(t.Part(i, to, to+int64(n)), base, int(size), at[:n])
		}
		n, to = 0, to+int64(n)
	}
	var last *OpenShard
	first := int64(0) // of a shard's tensor, from base
	for k := range runs {
		r, h := &runs[k], of[k]
		if h != last {
			last = h
			j := h.Tensors[i]
			first = int64(uintptr(unsafe.Pointer(unsafe.SliceData(h.mapped.Bytes)))-uintptr(base)) + h.Mmap.Places[j].Lo
		}
		for row := r.Lo; row < r.Hi; row++ {
			if n == len(at) {
				flush()
			}
			at[n] = first + row*size
			n++
		}
	}
	flush()
}

// copyFrom copies rows that begin so many bytes behind base.
func copyFrom(dst []byte, base unsafe.Pointer, size int, at []int64) {
	d := unsafe.Pointer(unsafe.SliceData(dst))
	if size < 64 {
		copyStretch(d, base, size, 1, at)
		return
	}
	copyStretches(d, base, size, 1, at)
}

// bools reports whether all booleans of runs are 0 or 1.
func (l *Reader) bools(t *Table, runs []Run) bool {
	for i := range l.Layout.Tensors {
		spec := &l.Layout.Tensors[i]
		if spec.DType != shardify.Bool || t.Absent != nil && t.Absent[i] {
			continue
		}
		for k := range runs {
			lo, hi := t.Span(i, runs[k].Row, runs[k].Row+runs[k].Hi-runs[k].Lo)
			for _, b := range t.Part(i, lo, hi) {
				if b > 1 {
					return false
				}
			}
		}
	}
	return true
}
