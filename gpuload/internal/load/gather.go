package load

import (
	"unsafe"

	"github.com/shardify/shardify/index"
)

// Segment is rows of a table that follow each other in a batch, from row at on. Each of Rows
// stands for so many rows from it on: for one if Each is 0.
type Segment struct {
	From *Table
	Rows []int64
	At   int64
	Each int64
}

func (s *Segment) each() int64 { return max(s.Each, 1) }

// gatherSplit is the bytes from which a batch is worth more than one goroutine.
const gatherSplit = 4 << 20

// Gather makes t the batch of these segments; rows behind them are empty lists and
// zeros.
func Gather(c *Crew, t *Table, rows int64, from []Segment) error {
	if err := LayOutBatch(t, rows, from); err != nil {
		return err
	}
	return CopyBatch(c, t, from, nil, t.Size())
}

// LayOutBatch sets the offsets and the sizes of a batch.
func LayOutBatch(t *Table, rows int64, from []Segment) error {
	if err := t.Reset(rows); err != nil {
		return err
	}
	l := t.Layout
	for i := range l.Tensors {
		if l.Tensors[i].Lead == index.LeadOffsets {
			gatherLengths(t, i, from)
		}
	}
	for i := range l.Tensors {
		if l.Tensors[i].Lead == index.LeadLists {
			if err := gatherLists(t, i, from); err != nil {
				return err
			}
		}
	}
	for i := range l.Tensors {
		if l.Tensors[i].Lead == index.LeadElements {
			if err := t.setCount(i, t.total(lastOffsets(l.ColumnOf(i)))); err != nil {
				return err
			}
		}
	}
	return nil
}

// CopyBatch copies the data of a batch that was laid out, except for the tensors that
// are in skip. t is all of the batch, or a part of one of size bytes.
func CopyBatch(c *Crew, t *Table, from []Segment, skip []bool, size int64) error {
	n := int64(0)
	for i := range from {
		n += int64(len(from[i].Rows)) * from[i].each()
	}
	parts := min(max(t.Size()/gatherSplit, 1), 64, max(n, 1))
	err := c.Each(int(parts), func(k int) error {
		gatherPart(t, from, n*int64(k)/parts, n*int64(k+1)/parts, skip, size >= pastBatch)
		return nil
	})
	if n < t.Rows {
		t.Zero(n)
	}
	return err
}

// Zero clears rows of fixed fields from row n on.
func (t *Table) Zero(n int64) {
	for i := range t.Layout.Tensors {
		if t.Layout.Tensors[i].Lead == index.LeadSamples && (t.Absent == nil || !t.Absent[i]) {
			clear(t.Part(i, n, t.Rows))
		}
	}
}

// gatherLengths sets the offsets of the lists of a batch.
func gatherLengths(t *Table, i int, from []Segment) {
	to := t.Int64s(i)
	at, k := int64(0), 1
	for j := range from {
		o, each := from[j].From.Int64s(i), from[j].each()
		for _, r := range from[j].Rows {
			for e := r; e < r+each; e++ {
				at += o[e+1] - o[e]
				to[k] = at
				k++
			}
		}
	}
	for ; k < len(to); k++ {
		to[k] = at
	}
}

// gatherLists sets the offsets of lists in lists.
func gatherLists(t *Table, i int, from []Segment) error {
	outer := t.Layout.ColumnOf(i).Offsets
	if err := t.setCount(i, t.total(outer)+1); err != nil {
		return err
	}
	to := t.Int64s(i)
	to[0] = 0
	at, k := int64(0), 1
	for j := range from {
		lists, o := from[j].From.Int64s(outer), from[j].From.Int64s(i)
		each := from[j].each()
		for _, r := range from[j].Rows {
			for e := lists[r]; e < lists[r+each]; e++ {
				at += o[e+1] - o[e]
				to[k] = at
				k++
			}
		}
	}
	return nil
}

// gatherPart copies the data of rows [lo, hi) of a batch, past the caches where that is worth it.
func gatherPart(t *Table, from []Segment, lo, hi int64, skip []bool, past bool) {
	past = past && hasRows
	for _, s := range from {
		// Several rows that belong together are copied with the first of them.
		each := s.each()
		a, b := (max(lo-s.At, 0)+each-1)/each, min((max(hi-s.At, 0)+each-1)/each, int64(len(s.Rows)))
		if a >= b {
			continue
		}
		rows := s.Rows[a:b]
		a, b = a*each, b*each
		for i := range t.Layout.Tensors {
			spec := &t.Layout.Tensors[i]
			if skip != nil && skip[i] {
				continue
			}
			switch spec.Lead {
			case index.LeadSamples:
				to, row := t.Part(i, s.At+a, s.At+b), int(s.From.Layout.Tensors[i].Row)
				switch k := t.Caster(i); {
				case k != nil:
					k.rows(to, s.From.Bytes(i), row, int(each), rows)
				case past && row*int(each) >= pastRow:
					copyRowsPast(to, s.From.Bytes(i), row, int(each), rows)
				case each > 1:
					copySpans(to, s.From.Bytes(i), row, int(each), rows)
				default:
					copyRows(to, s.From.Bytes(i), row, rows)
				}
			case index.LeadElements:
				copyLists(t, s.From, i, s.At+a, each, rows)
			}
		}
	}
}

// copyLists copies the elements of rows of another table, each times so many, to rows from at on.
func copyLists(t, from *Table, i int, at, each int64, rows []int64) {
	c, row, k := t.Layout.ColumnOf(i), from.Layout.Tensors[i].Row, t.Caster(i)
	outer := from.Int64s(c.Offsets)
	to := t.Int64s(c.Offsets)[at]
	var inner []int64
	if c.Offsets1 >= 0 {
		inner = from.Int64s(c.Offsets1)
		to = t.Int64s(c.Offsets1)[to]
	}
	dst, src := t.Bytes(i)[to*t.Layout.Tensors[i].Row:], from.Bytes(i)
	var now, next listsAhead
	next.find(outer, inner, rows, each, src, int(row))
	for len(rows) > 0 {
		n := min(len(rows), len(now.lo))
		now = next
		if rows = rows[n:]; len(rows) > 0 {
			next.find(outer, inner, rows, each, src, int(row))
		}
		for j := range n {
			lo, hi := now.lo[j], now.hi[j]
			size := int(hi-lo) * int(t.Layout.Tensors[i].Row)
			if k == nil {
				copy(dst[:size], src[lo*row:hi*row])
			} else {
				k.Convert(dst[:size], src[lo*row:hi*row])
			}
			dst = dst[size:]
		}
	}
}

// listsAhead is where the lists of some rows are, whose first lines come from memory while those of the rows
// before them are copied.
type listsAhead struct{ lo, hi [8]int64 }

// find finds as many of the rows as there is room for.
func (l *listsAhead) find(outer, inner, rows []int64, each int64, src []byte, row int) {
	n := min(len(rows), len(l.lo))
	for j, r := range rows[:n] {
		lo, hi := outer[r], outer[r+each]
		if inner != nil {
			lo, hi = inner[lo], inner[hi]
		}
		l.lo[j], l.hi[j] = lo, hi
	}
	if n > 0 && len(src) > 0 {
		prefetchRows(unsafe.Pointer(unsafe.SliceData(src)), &l.lo[0], n, row, 4)
	}
}

// copyRows copies rows of src, each of size bytes, one after the other. Rows of
// usual sizes are moved by loads and stores of that size, which takes half the time
// of a call of memmove. A row outside of src is a bug of ours and panics.
func copyRows(dst, src []byte, size int, rows []int64) {
	if size == 0 || len(rows) == 0 {
		return
	}
	checkRows(dst, src, size, 1, rows)
	copyFrom(unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src)), size, size, rows)
}

// copyFrom copies rows, of which row r begins r*step bytes behind s. The caller has checked all bounds.
func copyFrom(d, s unsafe.Pointer, size, step int, rows []int64) {
	lines := linesRow
	if step != size { // out of mappings, whose pages are small: the processor looks for pages longer than it moves lines
		lines = linesMapped
	}
	switch {
	case size < 64: // the processor has several of them under way
		copyStretch(d, s, size, step, rows)
	case hasRows && size%64 == 0 && size <= lines:
		for len(rows) > 0 {
			n := min(len(rows), linesPiece)
			copyLines(d, s, &rows[0], n, size, step, max(linesAhead/size, 2))
			d, rows = unsafe.Add(d, n*size), rows[n:]
		}
	default:
		copyStretches(d, s, size, step, rows)
	}
}

// Rows of whole cache lines, up to linesRow bytes, are copied linesPiece at a time, which
// cannot be interrupted; those that are fetched before their turn fill a small part of the
// nearest cache.
const linesRow, linesMapped, linesPiece, linesAhead = 1 << 10, 256, 16 << 10, 4 << 10

// copyStretches copies rows while the first lines of those that follow come from memory:
// the processor looks ahead by a few rows only, and has the rest of a long row coming once it
// sees a stream. Row r begins r*step bytes behind s.
func copyStretches(d, s unsafe.Pointer, size, step int, rows []int64) {
	lines := min((size+63)/64, 4)
	each := max(32/lines, 2048/size, 1)
	prefetchRows(s, &rows[0], min(each, len(rows)), step, lines)
	for len(rows) > each {
		prefetchRows(s, &rows[each], min(each, len(rows)-each), step, lines)
		copyStretch(d, s, size, step, rows[:each])
		d, rows = unsafe.Add(d, each*size), rows[each:]
	}
	copyStretch(d, s, size, step, rows)
}

// copySpans is copyRows for each rows that follow each other from a row on.
func copySpans(dst, src []byte, size, each int, rows []int64) {
	n := size * each
	if n == 0 || len(rows) == 0 {
		return
	}
	checkRows(dst, src, size, each, rows)
	s := unsafe.Pointer(unsafe.SliceData(src))
	lines := min((n+63)/64, 4)
	ahead := max(32/lines, 2048/n, 1)
	prefetchRows(s, &rows[0], min(ahead, len(rows)), size, lines)
	for len(rows) > 0 {
		k := min(ahead, len(rows))
		if k < len(rows) {
			prefetchRows(s, &rows[k], min(ahead, len(rows)-k), size, lines)
		}
		for _, r := range rows[:k] {
			copy(dst[:n], src[int(r)*size:])
			dst = dst[n:]
		}
		rows = rows[k:]
	}
}

// checkRows panics where copying rows, each times so many, would leave src or dst.
func checkRows(dst, src []byte, size, each int, rows []int64) {
	limit := uint64(max(len(src)/size-each+1, 0))
	for _, r := range rows {
		if uint64(r) >= limit {
			panic("gpuload: gather of a row outside of its table")
		}
	}
	if len(dst) < len(rows)*each*size {
		panic("gpuload: gather into too small a slot")
	}
}

// Batches from pastBatch bytes on hold more than the caches that are near a core. Stores
// that go past them save reading the old content: a third of the traffic, and of the time.
// Rows must be long enough for the fence behind each.
const pastBatch, pastRow = 8 << 20, 4 << 10

// pastPiece is what is copied by one call, which cannot be interrupted.
const pastPiece = 1 << 20

// copyRowsPast is copySpans past the caches.
func copyRowsPast(dst, src []byte, size, each int, rows []int64) {
	checkRows(dst, src, size, each, rows)
	n := size * each
	for j, r := range rows {
		CopyPast(dst[j*n:(j+1)*n], src[int(r)*size:int(r)*size+n])
	}
}

// CopyPast copies a row past the caches, where that can be.
func CopyPast(to, from []byte) {
	if !hasRows {
		copy(to, from)
		return
	}
	head := min(int(-Address(to)&15), len(to))
	copy(to[:head], from)
	for to, from = to[head:], from[head:]; len(to) >= 64; {
		n := min(len(to)&^63, pastPiece)
		copyPast(unsafe.Pointer(unsafe.SliceData(to)), unsafe.Pointer(unsafe.SliceData(from)), n)
		to, from = to[n:], from[n:]
	}
	copy(to, from)
}

// copyStretch copies rows. The caller has checked all bounds.
func copyStretch(d, s unsafe.Pointer, size, step int, rows []int64) {
	switch size {
	case 1:
		copyAs[[1]byte](d, s, step, rows)
	case 2:
		copyAs[[2]byte](d, s, step, rows)
	case 4:
		copyAs[[4]byte](d, s, step, rows)
	case 8:
		copyAs[[8]byte](d, s, step, rows)
	case 12:
		copyAs[[12]byte](d, s, step, rows)
	case 16:
		copyAs[[16]byte](d, s, step, rows)
	case 24:
		copyAs[[24]byte](d, s, step, rows)
	case 32:
		copyAs[[32]byte](d, s, step, rows)
	case 48:
		copyAs[[48]byte](d, s, step, rows)
	case 64:
		copy64(d, s, step, rows)
	default:
		for _, r := range rows {
			copy(unsafe.Slice((*byte)(d), size), unsafe.Slice((*byte)(unsafe.Add(s, int(r)*step)), size))
			d = unsafe.Add(d, size)
		}
	}
}

// copyAs copies rows of type T.
func copyAs[T any](dst, src unsafe.Pointer, step int, rows []int64) {
	var z T
	size := unsafe.Sizeof(z)
	for _, r := range rows {
		*(*T)(dst) = *(*T)(unsafe.Add(src, int(r)*step))
		dst = unsafe.Add(dst, size)
	}
}

// quad is the most that is moved by one load and one store: for larger types the compiler
// calls memmove, since source and target might overlap.
type quad = [16]byte

// copy64 copies rows of a cache line.
func copy64(dst, src unsafe.Pointer, step int, rows []int64) {
	for _, r := range rows {
		from := unsafe.Add(src, int(r)*step)
		a, b := *(*quad)(from), *(*quad)(unsafe.Add(from, 16))
		c, d := *(*quad)(unsafe.Add(from, 32)), *(*quad)(unsafe.Add(from, 48))
		*(*quad)(dst), *(*quad)(unsafe.Add(dst, 16)) = a, b
		*(*quad)(unsafe.Add(dst, 32)), *(*quad)(unsafe.Add(dst, 48)) = c, d
		dst = unsafe.Add(dst, 64)
	}
}
