package hdf5

import (
	"bytes"
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// part is a column that is read from a leaf of an array.
type part struct {
	column int // in the batch
	leaf   *leaf
	two    bool // two levels of variable length
}

// stretch is samples of one array, to be read into columns.
type stretch struct {
	a      *dataset
	parts  []part
	lo, hi int64 // rows
	per    int64 // rows of one sample
	wide   bool  // a leaf is a part of a row, not of an element
}

// work is the memory of one reader, reused from span to span.
type work struct {
	array.Buffers
	raw   []byte    // rows before their conversion
	chars []byte    // one of MATLAB's texts
	codes []byte    // numbers before their attributes are applied; few
	vary  []varying // by column
	heap  *h5.Heap
	owner *array.File // of heap
}

// Held implements array.Others.
func (w *work) Held() int64 {
	n := int64(cap(w.raw))
	for i := range w.vary {
		v := &w.vary[i]
		n += int64(cap(v.data) + 8*(cap(v.outer)+cap(v.inner)) + cap(v.nest))
	}
	return n
}

// Drop implements array.Others.
func (w *work) Drop() {
	w.raw = nil
	clear(w.vary)
}

// batchBytes is about how much stands between file and columns at once: it
// stays in the cache.
const batchBytes = 1 << 20

// read fills data, each column's buffer from the stretch's first sample on, and
// appends to w.vary what varies.
func (s *stretch) read(ctx context.Context, w *work, data [][]byte) error {
	if elem, _ := s.elems(); len(s.parts) == 1 && s.parts[0].leaf.whole(elem) {
		return s.readInPlace(ctx, w, data[s.parts[0].column])
	}
	step := s.step()
	for lo := s.lo; lo < s.hi; {
		hi := min((lo/step+1)*step, s.hi)
		if err := w.Grow(ctx, &w.raw, (hi-lo)*s.a.RowBytes); err != nil {
			return err
		}
		if err := s.a.Read(ctx, &w.Buffers, w.raw, lo, hi); err != nil {
			return err
		}
		for _, p := range s.parts {
			if err := s.convert(w, p, data[p.column], lo, hi); err != nil {
				return err
			}
		}
		lo = hi
	}
	if s.lo == s.hi { // a sample without rows
		for _, p := range s.parts {
			if p.leaf.kind != numbers {
				w.vary[p.column].endSample(p)
			}
		}
	}
	return nil
}

// elems are the bytes that leaves are parts of, and how many of them a row has.
func (s *stretch) elems() (size, n int64) {
	if s.wide {
		return s.a.RowBytes, 1
	}
	return s.a.Elem, s.a.RowElems
}

// step is the rows of one batch: whole rows of chunks if there are chunks.
func (s *stretch) step() int64 {
	n := max(batchBytes/max(s.a.RowBytes, 1), 1)
	if c := s.a.Set.Layout.ChunkDims; len(c) > 0 {
		c := c[s.a.Axis()]
		n = max(n/c, 1) * c
	}
	return n
}

// whole: elements are exactly the leaf's values.
func (l *leaf) whole(elem int64) bool {
	if l.kind != numbers || l.cf != nil || !l.num.InPlace() || l.at.Off != 0 {
		return false
	}
	switch len(l.at.Count) {
	case 0:
		return elem == int64(l.num.Size)
	case 1:
		return l.at.Step[0] == l.num.Size && elem == int64(l.num.Size*l.at.Count[0])
	}
	return false
}

func (s *stretch) readInPlace(ctx context.Context, w *work, dst []byte) error {
	n := &s.parts[0].leaf.num
	dst = dst[:(s.hi-s.lo)*s.a.RowBytes]
	if err := s.a.Read(ctx, &w.Buffers, dst, s.lo, s.hi); err != nil {
		return err
	}
	if n.Truth || n.Big && n.Size > 1 {
		s.parts[0].leaf.convert(dst, dst, len(dst)/n.Size, n.Size)
	}
	return nil
}

// convert turns rows [lo, hi), which are in w.raw, into one column's values.
func (s *stretch) convert(w *work, p part, dst []byte, lo, hi int64) error {
	l := p.leaf
	if l.kind == numbers && l.cf != nil {
		size := int64(l.cf.To.Size() * l.at.Values())
		if err := s.decoded(w, l, dst[(lo-s.lo)*s.a.RowElems*size:], w.raw, int((hi-lo)*s.a.RowElems)); err != nil {
			return &array.RowError{Row: lo, Err: err}
		}
		return nil
	}
	if l.kind == numbers {
		size := l.num.DType.Size()
		elem, n := s.elems()
		dst = dst[(lo-s.lo)*n*int64(size*l.at.Values()):]
		l.at.Gather(dst, w.raw, int((hi-lo)*n), int(elem), size, l.convert)
		return nil
	}
	if s.a.File != w.owner && l.kind != texts {
		w.heap, w.owner = s.a.File.H5.NewHeap(0), s.a.File
	}
	v := &w.vary[p.column]
	raw := w.raw
	for row := lo; row < hi; row++ {
		for range s.a.RowElems {
			if err := v.places(w, p, raw[:s.a.Elem], l.at.Off, 0); err != nil {
				return &array.RowError{Row: row, Err: err}
			}
			raw = raw[s.a.Elem:]
		}
		if (row+1)%s.per == 0 {
			v.endSample(p)
		}
		// Lists are not compressed, but many entries may name the same one.
		if l.kind != texts && int64(len(v.data)) > s.a.File.Size+array.LargeClaim {
			return &array.RowError{Row: row, Err: shardify.Corrupt(-1, "its values are larger than the file")}
		}
	}
	return nil
}

// varying collects a column whose size is not known before it is read.
type varying struct {
	data  []byte
	outer []int64 // ends of the samples' lists
	inner []int64 // ends of the lists in them, of two levels
	nest  []byte  // a list of lists
}

func (v *varying) reset() { v.data, v.outer, v.inner = v.data[:0], v.outer[:0], v.inner[:0] }

func (v *varying) endSample(p part) {
	if p.two {
		v.outer = append(v.outer, int64(len(v.inner)))
		return
	}
	v.outer = append(v.outer, int64(len(v.data)/p.leaf.unit()))
}

// unit is the bytes of one element of the innermost lists.
func (l *leaf) unit() int {
	switch l.kind {
	case numbers:
		return l.num.DType.Size() * l.at.Values()
	case varList:
		return l.elem.unit()
	}
	return 1
}

// places appends the items of one element, wherever arrays put them in it.
func (v *varying) places(w *work, p part, elem []byte, off, level int) error {
	at := &p.leaf.at
	if level < len(at.Count) {
		for i := range at.Count[level] {
			if err := v.places(w, p, elem, off+i*at.Step[level], level+1); err != nil {
				return err
			}
		}
		return nil
	}
	return v.item(w, p.leaf, elem[off:], p.two)
}

// item appends one text or list. two: of its ends a list is kept.
func (v *varying) item(w *work, l *leaf, b []byte, two bool) error {
	switch l.kind {
	case texts:
		if l.codes16 {
			w.chars = text16(w.chars[:0], b[:l.size], l.big)
			if err := v.text(l, w.chars); err != nil {
				return err
			}
			break
		}
		if err := v.text(l, trim(b[:l.size], l.padding)); err != nil {
			return err
		}
	case varText:
		t, err := w.heap.View(b[:l.size], 1)
		if err != nil {
			return err
		}
		if err := v.text(l, trim(t, h5.NulTerminated)); err != nil {
			return err
		}
	default:
		t, err := w.heap.View(b[:l.size], l.entry)
		if err != nil {
			return err
		}
		if l.elem.kind != numbers {
			return v.list(w, l, t)
		}
		v.numbers(l, t)
	}
	if two {
		v.inner = append(v.inner, int64(len(v.data)/l.unit()))
	}
	return nil
}

// list appends a list of texts or lists.
func (v *varying) list(w *work, l *leaf, b []byte) error {
	if l.elem.kind != texts { // the view ends with the next one
		v.nest = append(v.nest[:0], b...)
		b = v.nest
	}
	for ; len(b) >= l.entry; b = b[l.entry:] {
		if err := v.item(w, l.elem, b[l.elem.at.Off:], true); err != nil {
			return err
		}
	}
	return nil
}

// numbers appends the converted entries of a sequence.
func (v *varying) numbers(l *leaf, b []byte) {
	n := len(b) / l.entry
	at, size := len(v.data), n*l.unit()
	if cap(v.data)-at < size {
		v.data = append(make([]byte, 0, 2*(at+size)), v.data...)
	}
	v.data = v.data[:at+size]
	l.elem.at.Gather(v.data[at:], b, n, l.entry, l.elem.num.DType.Size(), l.elem.convert)
}

func (v *varying) text(l *leaf, b []byte) error {
	if l.media == mediaText {
		if err := shardify.CheckText(b); err != nil {
			return err
		}
	}
	v.data = append(v.data, b...)
	return nil
}

const mediaText = "txt"

// trim cuts off what pads a text.
func trim(b []byte, p h5.Padding) []byte {
	switch p {
	case h5.NulTerminated:
		if i := bytes.IndexByte(b, 0); i >= 0 {
			b = b[:i]
		}
	case h5.SpacePadded:
		b = bytes.TrimRight(b, " ")
	default:
		for len(b) > 0 && b[len(b)-1] == 0 {
			b = b[:len(b)-1]
		}
	}
	return b
}

// column hands what was collected to a column, repeated n times if it is one
// sample for all.
func (v *varying) column(c *shardify.Column, mem *shardify.Arena, repeat int64) {
	data, inner, outer := int64(len(v.data)), int64(len(v.inner)), int64(len(v.outer))
	c.Data = mem.Alloc(int(data * repeat))
	for k := range repeat {
		copy(c.Data[k*data:], v.data)
	}
	ends := func(list []int64, each int64) []int64 {
		out := mem.Int64s(int(int64(len(list))*repeat) + 1)
		out[0] = 0
		for k := range repeat {
			for i, e := range list {
				out[1+int(k)*len(list)+i] = e + k*each
			}
		}
		return out
	}
	if c.Levels == 2 {
		last := int64(0)
		if inner > 0 {
			last = v.inner[inner-1]
		}
		c.Offsets = [][]int64{ends(v.outer, inner), ends(v.inner, last)}
		return
	}
	last := int64(0)
	if outer > 0 {
		last = v.outer[outer-1]
	}
	c.Offsets = [][]int64{ends(v.outer, last)}
}
