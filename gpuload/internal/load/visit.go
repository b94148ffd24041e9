package load

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/trace"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/filemap"
)

// Rows at random places of files are copied out of mappings, where that is safe (package filemap): a
// call of the system for each row and tensor takes longer than the copy. What a visit finds wrong is
// read again with pread, which names shard and byte.

const (
	// visitRow is the bytes of a row, a tensor, from which pread is as fast as a mapping, unless rows are
	// copied past the caches.
	visitRow = 32 << 10
	// visitRun is the bytes of a run, a tensor, from which the system reads ahead by itself.
	visitRun = 1 << 20
	// visitLook: once in so many visits, while all pages are in memory, one looks for page faults.
	visitLook = 8
	// visitPiece is what one goroutine copies of a batch at least.
	visitPiece = 4 << 20
	// gapBytes is how many bytes may be between ranges that are read from storage by one request.
	gapBytes = 16 << 10
)

// visit is what a Reader needs to copy rows out of mappings.
type visit struct {
	used  []*OpenShard // by the batch
	open  []int32      // by place of a shard: its number in used, from 1 on
	first [][]int64    // by tensor, of used: where it begins, from base
	base  unsafe.Pointer
	lists [][2][]int64 // by tensor of offsets, by run: the first element, and the one behind the last
	rows  int64        // of all runs
	// follow: each run's rows follow those of the one before in the table.
	follow bool
	cold   []coldRange
	// sure: no visit of late waited for a page of a file, so that there is no need to ask which are in memory.
	sure   bool
	visits int
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
	start := trace.Nanos()
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
	pieces := int(min(max(n/visitPiece, 1), int64(len(runs))))
	v.visits++
	waited := atomic.Bool{}
	err = l.Crew.Each(pieces, func(k int) error {
		lo, hi := len(runs)*k/pieces, len(runs)*(k+1)/pieces
		if sure && v.visits%visitLook > 0 {
			return filemap.Guard(func() error { return l.copyRuns(t, runs, lo, hi) })
		}
		runtime.LockOSThread() // whose faults are counted
		defer runtime.UnlockOSThread()
		before := filemap.Faults()
		err := filemap.Guard(func() error { return l.copyRuns(t, runs, lo, hi) })
		if filemap.Faults() != before {
			waited.Store(true)
		}
		return err
	})
	if err != nil || !l.bools(t, runs) {
		return false, nil
	}
	v.sure = len(v.cold) == 0 && !waited.Load()
	l.ReadNanos.Add(trace.Nanos() - start)
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
	all := r.Bytes / max(r.Samples, 1) * rows
	each := all / int64(len(runs)*len(l.Layout.Tensors))
	return each < visitRow || each < visitRun && hasRows && all >= pastBatch, each < visitRun && !l.has(index.LeadOffsets)
}

// enter opens the shards of runs. It reports whether all of them can be mapped.
func (l *Reader) enter(runs []Run) bool {
	v := &l.visit
	if v.open == nil {
		v.open, v.lists = make([]int32, len(l.Shards.Shards)), make([][2][]int64, len(l.Layout.Tensors))
		v.first = make([][]int64, len(l.Layout.Tensors))
	}
	v.cold, v.rows, v.follow = v.cold[:0], 0, true
	for i := range runs {
		r := &runs[i]
		if v.open[r.Sh.place] == 0 && !l.use(r.Sh) {
			return false
		}
		h := v.of(r)
		if r.Lo < 0 || r.Hi > h.Mmap.Samples {
			return false
		}
		v.follow = v.follow && r.Row-runs[0].Row == v.rows
		v.rows += r.Hi - r.Lo
	}
	return true
}

// use opens a shard for a batch.
func (l *Reader) use(sh *Shard) bool {
	v := &l.visit
	if len(v.used) == l.mostOpen() {
		return false
	}
	h, err := l.Acquire(sh)
	if err != nil {
		return false
	}
	v.used = append(v.used, h)
	v.open[sh.place] = int32(len(v.used))
	if h.mapping() == nil {
		return false
	}
	if len(v.used) == 1 {
		v.base = unsafe.Pointer(unsafe.SliceData(h.mapped.Bytes))
	}
	for i := range l.Layout.Tensors {
		v.first[i] = append(v.first[i], int64(uintptr(unsafe.Pointer(unsafe.SliceData(v.bytes(h, i))))-uintptr(v.base)))
	}
	return true
}

// of is the shard of a run.
func (v *visit) of(r *Run) *OpenShard { return v.used[v.open[r.Sh.place]-1] }

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
		l.visit.open[h.place] = 0
		l.Release(h)
	}
	l.visit.used = l.visit.used[:0]
	for i := range l.visit.first {
		l.visit.first[i] = l.visit.first[i][:0]
	}
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
				l.ask(&runs[k], i, runs[k].Lo, runs[k].Hi+1)
			}
			l.fetchCold()
		}
		from, to, into := v.lists[i][0][:0], v.lists[i][1][:0], t.Int64s(i)
		for k := range runs {
			r := &runs[k]
			h := v.of(r)
			o := shardify.View[int64](v.bytes(h, i))[r.Lo : r.Hi+1]
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

// bytes is tensor i of a shard.
func (v *visit) bytes(h *OpenShard, i int) []byte {
	p := &h.Mmap.Places[h.Tensors[i]]
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
			l.ask(&runs[k], i, lo, hi)
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
		for k := v.turns % min(fewRuns, len(runs)); k < len(runs); k += fewRuns {
			some = append(some, runs[k])
		}
		if l.demand(t, some); len(v.cold) == 0 {
			return
		}
		v.cold = v.cold[:0]
	}
	l.demand(t, runs)
	v.warm = len(v.cold) == 0
}

// ask notes rows [lo, hi) of tensor i of a run's shard if they are not in memory.
func (l *Reader) ask(r *Run, i int, lo, hi int64) {
	h := l.visit.of(r)
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

// copyRuns copies runs [lo, hi), past the caches where that is worth it.
func (l *Reader) copyRuns(t *Table, runs []Run, lo, hi int) error {
	v := &l.visit
	past := hasRows && t.Size() >= pastBatch
	for i := range l.Layout.Tensors {
		if t.Absent != nil && t.Absent[i] {
			continue
		}
		row := l.Layout.Tensors[i].Row
		switch l.Layout.Tensors[i].Lead {
		case index.LeadSamples:
			past := past && row >= pastRow
			if v.follow && v.rows <= shortRuns*int64(len(runs)) && !past {
				l.copyEach(t, runs[lo:hi], i)
				continue
			}
			for k := lo; k < hi; k++ {
				r := &runs[k]
				to, from := t.Part(i, r.Row, r.Row+r.Hi-r.Lo), v.bytes(v.of(r), i)[r.Lo*row:r.Hi*row]
				if past {
					CopyPast(to, from)
				} else {
					copy(to, from)
				}
			}
		case index.LeadElements:
			o := l.Layout.ColumnOf(i).Offsets
			dst, begins, from := t.Bytes(i), t.Int64s(o), v.lists[o]
			for k := lo; k < hi; k++ {
				if next := k + listsRuns; next < hi {
					ahead := v.bytes(v.of(&runs[next]), i)
					prefetchRows(unsafe.Pointer(unsafe.SliceData(ahead)), &from[0][next], 1, int(row), listsLines)
				}
				r := &runs[k]
				copy(dst[begins[r.Row]*row:], v.bytes(v.of(r), i)[from[0][k]*row:from[1][k]*row])
			}
		}
	}
	return nil
}

// listsRuns is how many lists ahead the first listsLines lines come from memory.
const listsRuns, listsLines = 4, 16

// shortRuns is up to how many rows a run, on average, all rows are copied one by one.
const shortRuns = 4

// copyEach copies the rows of runs of any shards one by one, so that the processor may have those that
// follow coming from memory.
func (l *Reader) copyEach(t *Table, runs []Run, i int) {
	v := &l.visit
	var at [256]int64 // where rows begin, from base
	size := l.Layout.Tensors[i].Row
	n, to := 0, runs[0].Row
	flush := func() {
		if n > 0 && size > 0 {
			copyFrom(unsafe.Pointer(unsafe.SliceData(t.Part(i, to, to+int64(n)))), v.base, int(size), 1, at[:n])
		}
		n, to = 0, to+int64(n)
	}
	for k := range runs {
		r := &runs[k]
		begin := v.first[i][v.open[r.Sh.place]-1]
		for row := r.Lo; row < r.Hi; row++ {
			if n == len(at) {
				flush()
			}
			at[n] = begin + row*size
			n++
		}
	}
	flush()
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
