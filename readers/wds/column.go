package wds

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// column gathers one member of every sample of a span.
type column struct {
	index.Member
	field  *shardify.Field
	wanted bool
	elem   int64
	npy    index.NPYHeader
	rank   int // of the arrays' shape
	seen   int // the last sample that had it, and one

	// Lengths, from the first pass.
	offsets []int64
	texts   int64 // of all samples
	size    int64 // of data
	valid   []byte
	shape   []byte
	ext     []byte
	// Contents, from the second.
	data []byte
	ends []int64 // of texts
	dims []int64
	big  []byte // a list of texts that exceeds the window
}

// begin makes the columns ready for a span of n samples.
func (r *reader) begin(n int, mem *shardify.Arena) {
	if r.cols == nil {
		r.cols = make([]column, len(r.src.members))
		for i, m := range r.src.members {
			r.cols[i] = newColumn(r.src, m)
		}
	}
	for i := range r.cols {
		c := &r.cols[i]
		c.texts, c.size = 0, 0
		if !c.wanted {
			continue
		}
		if c.field.Levels > 0 {
			c.offsets = mem.Int64s(n + 1)
			c.offsets[0] = 0
		}
		if c.field.Nullable {
			c.valid = mem.Alloc(n)
		}
		if c.Ext >= 0 {
			c.ext = mem.Alloc(n)
		}
		if c.Shape >= 0 {
			c.shape = mem.Alloc(n * 8 * (c.rank - len(c.field.Shape)))
		}
	}
}

func newColumn(s *source, m index.Member) column {
	f := &s.survey.Schema[m.Field]
	c := column{Member: m, field: f, elem: int64(f.ElemBytes()), rank: f.Levels + len(f.Shape)}
	for _, w := range s.wanted {
		c.wanted = c.wanted || w == m.Field
	}
	if m.Kind == index.MemberNPY {
		c.npy = index.NewNPYHeader(f)
	}
	if m.Shape >= 0 {
		c.rank = len(f.Shape) + s.survey.Schema[m.Shape].Shape[0]
	}
	return c
}

// measure checks a member and adds its length.
func (c *column) measure(w *index.TarWindow, i int, e index.TarEntry, code int) error {
	n, err := c.count(w, i, e)
	if err != nil {
		return err
	}
	if c.ext != nil {
		c.ext[i] = byte(code)
	}
	if c.offsets != nil {
		c.offsets[i+1] = c.offsets[i] + n
	}
	if c.valid != nil && c.Kind != index.MemberTexts {
		c.valid[i] = 1
		if e.Size == 0 {
			c.valid[i] = 0
		}
	}
	return nil
}

// count is the elements of sample i.
func (c *column) count(w *index.TarWindow, i int, e index.TarEntry) (int64, error) {
	switch c.Kind {
	case index.MemberTexts:
		return c.countTexts(w, i, e)
	case index.MemberClass:
		if e.Size > 20 {
			return 0, shardify.Corrupt(e.Data(), "an integer of %d bytes", e.Size)
		}
		c.size += c.elem
		return 1, nil
	case index.MemberBytes, index.MemberImage:
		c.size += e.Size
		return e.Size, nil
	}
	b, err := w.Bytes(e.Data(), int(min(e.Size, npyRead)))
	if err != nil {
		return 0, err
	}
	if c.offsets == nil {
		if head := c.npy.Fixed(); !bytes.HasPrefix(b, head) || e.Size != int64(len(head))+c.elem {
			return 0, shardify.Corrupt(e.Data(), "NumPy file of %d bytes begins with %q, want %d and %q",
				e.Size, b[:min(len(b), len(head))], int64(len(head))+c.elem, head)
		}
		c.size += c.elem
		return 1, nil
	}
	return c.countArray(i, e, b)
}

// npyRead is more than the header of any array that we write: 32 dimensions of
// 20 digits.
const npyRead = 1 << 10

func (c *column) countArray(i int, e index.TarEntry, b []byte) (int64, error) {
	dims, head, err := index.ParseNPY(c.dims[:0], b, e.Size, c.field.DType, c.rank)
	c.dims = dims
	if err != nil {
		return 0, shardify.Amend(err, func(x *shardify.Error) { x.Offset += e.Data() })
	}
	lead := len(dims) - len(c.field.Shape)
	for k, d := range c.field.Shape {
		if dims[lead+k] != int64(d) {
			return 0, shardify.Corrupt(e.Data(), "array of shape %v, want [..., %v]", dims, c.field.Shape)
		}
	}
	n := int64(1)
	for k, d := range dims[:lead] {
		if c.Shape >= 0 {
			binary.LittleEndian.PutUint64(c.shape[(i*lead+k)*8:], uint64(d))
		}
		if d > 0 && n > (1<<62)/d {
			return 0, shardify.Corrupt(e.Data(), "array of shape %v", dims)
		}
		n *= d
	}
	c.size += e.Size - int64(head)
	return n, nil
}

// countTexts counts a list of texts, and their bytes.
func (c *column) countTexts(w *index.TarWindow, i int, e index.TarEntry) (int64, error) {
	b, err := c.content(w, e)
	if err != nil {
		return 0, err
	}
	if c.valid != nil {
		c.valid[i] = 1
		if string(b) == index.NoTexts {
			c.valid[i] = 0
			return 0, nil
		}
	}
	texts, size, err := index.TextsSize(b)
	if err != nil {
		return 0, shardify.Amend(err, func(x *shardify.Error) { x.Offset += e.Data() })
	}
	c.texts += int64(texts)
	c.size += int64(size)
	return int64(texts), nil
}

// content is all of a member.
func (c *column) content(w *index.TarWindow, e index.TarEntry) ([]byte, error) {
	if e.Size <= directBytes {
		return w.Bytes(e.Data(), int(e.Size))
	}
	if int64(cap(c.big)) < e.Size {
		c.big = make([]byte, e.Size)
	}
	return c.big[:e.Size], w.ReadAt(c.big[:e.Size], e.Data())
}

// allocate makes room for what the first pass has found.
func (r *reader) allocate(keys *shardify.Column, n int, mem *shardify.Arena) error {
	for i := range r.cols {
		c := &r.cols[i]
		if !c.wanted {
			continue
		}
		c.data = mem.Alloc(int(c.size))
		if c.Kind == index.MemberTexts {
			c.data = c.data[:0]
			c.ends = append(mem.Int64s(int(c.texts) + 1)[:0], 0)
		}
		if err := r.sameCounter(i, n); err != nil {
			return err
		}
	}
	if keys != nil {
		keys.Data = mem.Alloc(int(keys.Offsets[0][n]))
	}
	return nil
}

// sameCounter checks that fields of one counter have equal lengths.
func (r *reader) sameCounter(i, n int) error {
	c := &r.cols[i]
	if c.field.Counter == "" {
		return nil
	}
	for j := range i {
		o := &r.cols[j]
		if !o.wanted || o.field.Counter != c.field.Counter {
			continue
		}
		for k := range n + 1 {
			if c.offsets[k] != o.offsets[k] {
				return withField(shardify.Corrupt(-1, "lists of fields %s and %s, which share the counter %s, differ in length at sample %d of the span",
					o.field.Name, c.field.Name, c.field.Counter, k-1), c.field.Name)
			}
		}
		return nil
	}
	return nil
}

// fill puts a member's data in its place.
func (c *column) fill(w *index.TarWindow, i int, e index.TarEntry, _ int) error {
	switch c.Kind {
	case index.MemberTexts:
		return c.fillTexts(w, i, e)
	case index.MemberClass:
		return c.fillClass(w, i, e)
	}
	lo, hi := int64(i), int64(i)+1
	if c.offsets != nil {
		lo, hi = c.offsets[i], c.offsets[i+1]
	}
	to := c.data[lo*c.elem : hi*c.elem]
	head := e.Size - int64(len(to))
	if head < 0 || c.Kind != index.MemberNPY && head > 0 {
		return shardify.Corrupt(e.Offset, "the file changed while it was read")
	}
	at := e.Data() + head
	if len(to) >= directBytes {
		return w.ReadAt(to, at)
	}
	b, err := w.Bytes(at, len(to))
	copy(to, b)
	return err
}

func (c *column) fillTexts(w *index.TarWindow, i int, e index.TarEntry) error {
	if c.valid != nil && c.valid[i] == 0 {
		return nil
	}
	b, err := c.content(w, e)
	if err != nil {
		return err
	}
	texts, size, err := index.TextsSize(b)
	if err != nil || int64(texts) != c.offsets[i+1]-c.offsets[i] || size > cap(c.data)-len(c.data) {
		return shardify.Corrupt(e.Offset, "the file changed while it was read")
	}
	c.data, c.ends = index.DecodeTexts(c.data, c.ends, b)
	return nil
}

// fillClass reads an integer, written as the sink writes it.
func (c *column) fillClass(w *index.TarWindow, i int, e index.TarEntry) error {
	b, err := w.Bytes(e.Data(), int(min(e.Size, 32)))
	if err != nil {
		return err
	}
	bits := int(c.elem) * 8
	var v uint64
	var text [20]byte
	var again []byte
	if c.field.DType >= shardify.U8 {
		v, err = strconv.ParseUint(string(b), 10, bits)
		again = strconv.AppendUint(text[:0], v, 10)
	} else {
		var n int64
		n, err = strconv.ParseInt(string(b), 10, bits)
		v, again = uint64(n), strconv.AppendInt(text[:0], n, 10)
	}
	if err != nil || !bytes.Equal(again, b) {
		return shardify.Corrupt(e.Data(), "%q is no %s in decimal", b, c.field.DType)
	}
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], v)
	copy(c.data[int64(i)*c.elem:], le[:c.elem])
	return nil
}

// deliver puts the wanted columns into the batch, in the order of the schema.
func (r *reader) deliver(b *shardify.Batch) {
	all := r.src.survey.Schema
	for _, f := range r.src.wanted {
		col := shardify.Column{Field: all[f]}
		for i := range r.cols {
			c := &r.cols[i]
			switch f {
			case c.Field:
				col.Data, col.Valid = c.data, c.valid
				if c.offsets != nil {
					col.Offsets = append(col.Offsets, c.offsets)
				}
				if c.Kind == index.MemberTexts {
					col.Offsets = append(col.Offsets, c.ends)
				}
			case c.Shape:
				col.Data = c.shape
			case c.Ext:
				col.Data = c.ext
			}
		}
		b.Columns = append(b.Columns, col)
	}
}

// keyColumn is the column of names, without data.
func keyColumn(n int, mem *shardify.Arena) *shardify.Column {
	f := shardify.Field{Name: "__key__", DType: shardify.U8, Levels: 1, Media: "txt"}
	o := mem.Int64s(n + 1)
	o[0] = 0
	return &shardify.Column{Field: f, Offsets: [][]int64{o}}
}

// takeKey adds the length of sample i's name in the first pass, and the name in
// the second.
func takeKey(keys *shardify.Column, key []byte, i int) error {
	o := keys.Offsets[0]
	if keys.Data == nil {
		o[i+1] = o[i] + int64(len(key))
		return nil
	}
	if int64(len(key)) != o[i+1]-o[i] {
		return shardify.Corrupt(-1, "the file changed while it was read")
	}
	copy(keys.Data[o[i]:], key)
	return nil
}
