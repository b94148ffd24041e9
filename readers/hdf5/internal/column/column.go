package column

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/pandas"
)

// Part is a column that is read from a leaf of an array.
type Part struct {
	Column int // in the batch
	Leaf   *element.Leaf
	Two    bool // two levels of variable length
}

// Stretch is samples of one array, to be read into columns.
type Stretch struct {
	A      *Dataset
	Parts  []Part
	Lo, Hi int64 // rows
	Per    int64 // rows of one sample
	Wide   bool  // a leaf is a part of a row, not of an element
	Kept   bool  // other spans need the same rows
}

// Work is the memory of one reader, reused from span to span.
type Work struct {
	array.Buffers
	raw   []byte    // rows before their conversion
	chars []byte    // one of MATLAB's texts
	codes []byte    // numbers before their attributes are applied; few
	Vary  []Varying // by column
	heap  *heap.Heap
	owner *array.File // of heap
}

// Held implements array.Others.
func (w *Work) Held() int64 {
	n := int64(cap(w.raw))
	for i := range w.Vary {
		v := &w.Vary[i]
		n += int64(cap(v.Data) + 8*(cap(v.Outer)+cap(v.inner)) + cap(v.nest) + cap(v.valid))
	}
	return n
}

// Drop implements array.Others.
func (w *Work) Drop() {
	w.raw = nil
	clear(w.Vary)
}

// batchBytes is about how much is on the way from file to columns at once: it
// stays in the cache.
const batchBytes = 1 << 20

// Read fills data, each column's buffer from the stretch's first sample on, and
// appends to w.Vary what varies.
func (s *Stretch) Read(ctx context.Context, w *Work, data [][]byte) error {
	if elem, _ := s.elems(); len(s.Parts) == 1 && s.Parts[0].Leaf.Whole(elem) {
		return s.readInPlace(ctx, w, data[s.Parts[0].Column])
	}
	for lo := s.Lo; lo < s.Hi; {
		hi := min(s.A.Stop(lo, max(batchBytes/max(s.A.RowBytes, 1), 1)), s.Hi)
		if err := w.Grow(ctx, &w.raw, (hi-lo)*s.A.RowBytes); err != nil {
			return err
		}
		if err := s.rows(ctx, w, w.raw, lo, hi); err != nil {
			return err
		}
		for _, p := range s.Parts {
			if err := s.convert(w, p, data[p.Column], lo, hi); err != nil {
				return err
			}
		}
		lo = hi
	}
	if s.Lo == s.Hi { // a sample without rows
		for _, p := range s.Parts {
			if p.Leaf.Kind != element.Numbers {
				w.Vary[p.Column].endSample(p)
			}
		}
	}
	return nil
}

func (s *Stretch) rows(ctx context.Context, w *Work, dst []byte, lo, hi int64) error {
	if s.Kept {
		return s.A.ReadKept(ctx, &w.Buffers, dst, lo, hi)
	}
	return s.A.Read(ctx, &w.Buffers, dst, lo, hi)
}

// elems are the bytes that leaves are parts of, and how many of them a row has.
func (s *Stretch) elems() (size, n int64) {
	if s.Wide {
		return s.A.RowBytes, 1
	}
	return s.A.Elem, s.A.RowElems
}

func (s *Stretch) readInPlace(ctx context.Context, w *Work, dst []byte) error {
	n := &s.Parts[0].Leaf.Num
	dst = dst[:(s.Hi-s.Lo)*s.A.RowBytes]
	if err := s.rows(ctx, w, dst, s.Lo, s.Hi); err != nil {
		return err
	}
	if n.Truth || n.Big && n.Size > 1 {
		s.Parts[0].Leaf.Convert(dst, dst, len(dst)/n.Size, n.Size)
	}
	return nil
}

// convert turns rows [lo, hi), which are in w.raw, into one column's values.
func (s *Stretch) convert(w *Work, p Part, dst []byte, lo, hi int64) error {
	l := p.Leaf
	if l.Kind == element.Numbers && l.CF != nil {
		size := int64(l.CF.To.Size() * l.At.Values())
		if err := s.decoded(w, l, dst[(lo-s.Lo)*s.A.RowElems*size:], w.raw, int((hi-lo)*s.A.RowElems)); err != nil {
			return &array.RowError{Row: lo, Err: err}
		}
		return nil
	}
	if l.Kind == element.Numbers {
		size := l.Num.DType.Size()
		elem, n := s.elems()
		dst = dst[(lo-s.Lo)*n*int64(size*l.At.Values()):]
		l.At.Gather(dst, w.raw, int((hi-lo)*n), int(elem), size, l.Convert)
		return nil
	}
	if s.A.File != w.owner && l.Kind != element.Texts {
		w.heap, w.owner = heap.New(s.A.File.H5.File, 0), s.A.File
	}
	v := &w.Vary[p.Column]
	raw := w.raw
	for row := lo; row < hi; row++ {
		for range s.A.RowElems {
			if err := v.places(w, p, raw[:s.A.Elem], l.At.Off, 0); err != nil {
				return &array.RowError{Row: row, Err: err}
			}
			raw = raw[s.A.Elem:]
		}
		if (row+1)%s.Per == 0 {
			v.endSample(p)
		}
		// Lists are not compressed, but many entries may name the same one.
		if l.Kind != element.Texts && int64(len(v.Data)) > s.A.File.Size+array.LargeClaim {
			return &array.RowError{Row: row, Err: shardify.Corrupt(-1, "its values are larger than the file")}
		}
	}
	return nil
}

// Varying collects a column whose size is not known before it is read.
type Varying struct {
	Data  []byte
	Outer []int64 // ends of the samples' lists
	inner []int64 // ends of the lists in them, of two levels
	nest  []byte  // a list of lists
	valid []byte  // marks of texts that may be missing
}

func (v *Varying) Reset() {
	v.Data, v.Outer, v.inner, v.valid = v.Data[:0], v.Outer[:0], v.inner[:0], v.valid[:0]
}

func (v *Varying) endSample(p Part) {
	if p.Two {
		v.Outer = append(v.Outer, int64(len(v.inner)))
		return
	}
	v.Outer = append(v.Outer, int64(len(v.Data)/p.Leaf.Unit()))
}

// places appends the items of one element, wherever arrays put them in it.
func (v *Varying) places(w *Work, p Part, elem []byte, off, level int) error {
	at := &p.Leaf.At
	if level < len(at.Count) {
		for i := range at.Count[level] {
			if err := v.places(w, p, elem, off+i*at.Step[level], level+1); err != nil {
				return err
			}
		}
		return nil
	}
	return v.item(w, p.Leaf, elem[off:], p.Two)
}

// item appends one text or list. two: of its ends a list is kept.
func (v *Varying) item(w *Work, l *element.Leaf, b []byte, two bool) error {
	switch l.Kind {
	case element.Texts:
		if l.UTF16 {
			w.chars = element.UTF16(w.chars[:0], b[:l.Size], l.Big)
			if err := v.text(l, w.chars, two); err != nil {
				return err
			}
			break
		}
		if err := v.text(l, element.Trim(b[:l.Size], l.Padding), two); err != nil {
			return err
		}
	case element.VarText:
		t, err := w.heap.View(b[:l.Size], 1)
		if err != nil {
			return err
		}
		if err := v.text(l, element.Trim(t, datatype.NulTerminated), two); err != nil {
			return err
		}
	default:
		t, err := w.heap.View(b[:l.Size], l.Entry)
		if err != nil {
			return err
		}
		if l.Elem.Kind != element.Numbers {
			return v.list(w, l, t)
		}
		v.numbers(l, t)
	}
	if two {
		v.inner = append(v.inner, int64(len(v.Data)/l.Unit()))
	}
	return nil
}

// list appends a list of texts or lists.
func (v *Varying) list(w *Work, l *element.Leaf, b []byte) error {
	if l.Elem.Kind != element.Texts { // the view ends with the next one
		v.nest = append(v.nest[:0], b...)
		b = v.nest
	}
	for ; len(b) >= l.Entry; b = b[l.Entry:] {
		if err := v.item(w, l.Elem, b[l.Elem.At.Off:], true); err != nil {
			return err
		}
	}
	return nil
}

// numbers appends the converted entries of a sequence.
func (v *Varying) numbers(l *element.Leaf, b []byte) {
	n := len(b) / l.Entry
	at, size := len(v.Data), n*l.Unit()
	v.Data = slices.Grow(v.Data, size)[:at+size]
	l.Elem.At.Gather(v.Data[at:], b, n, l.Entry, l.Elem.Num.DType.Size(), l.Elem.Convert)
}

func (v *Varying) text(l *element.Leaf, b []byte, listed bool) error {
	b, err := pandas.Text(l, b, listed, &v.valid)
	if err == nil && l.Media == element.MediaText {
		err = format.CheckText(b)
	}
	v.Data = append(v.Data, b...)
	return err
}

// Column hands what was collected to a column, repeated n times if it is one
// sample for all.
func (v *Varying) Column(c *shardify.Column, mem *shardify.Arena, repeat int64) {
	data, inner, outer := int64(len(v.Data)), int64(len(v.inner)), int64(len(v.Outer))
	c.Data, c.Valid = mem.Alloc(int(data*repeat)), pandas.Valid(v.valid, mem)
	for k := range repeat {
		copy(c.Data[k*data:], v.Data)
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
		c.Offsets = [][]int64{ends(v.Outer, inner), ends(v.inner, last)}
		return
	}
	last := int64(0)
	if outer > 0 {
		last = v.Outer[outer-1]
	}
	c.Offsets = [][]int64{ends(v.Outer, last)}
}

// decodeBlock is how many bytes of codes are decoded at once: they stay in the cache.
const decodeBlock = 32 << 10

// decoded converts n elements from raw by way of a block of codes.
func (s *Stretch) decoded(w *Work, l *element.Leaf, dst, raw []byte, n int) error {
	from, to, values := l.Num.DType.Size(), l.CF.To.Size(), l.At.Values()
	each := max(decodeBlock/max(from*values, 1), 1)
	if len(w.codes) < min(each, n)*from*values {
		w.codes = shardify.Bytes(make([]uint64, (min(each, n)*from*values+7)/8))
	}
	for n > 0 {
		k := min(n, each)
		codes := w.codes[:k*values*from]
		l.At.Gather(codes, raw, k, int(s.A.Elem), from, l.Convert)
		if err := l.CF.Decode(dst[:k*values*to], codes); err != nil {
			return err
		}
		dst, raw, n = dst[k*values*to:], raw[k*int(s.A.Elem):], n-k
	}
	return nil
}
