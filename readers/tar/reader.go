package tar

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/npy"
)

// reader reads spans of one tar after the other: first it lays out the columns by the
// sizes that the survey found, then it reads every value to its place.
type reader struct {
	*source
	run  uint32
	tar  int // the open one, -1 without
	in   input
	at   int64 // of a compressed tar: nothing before this can be read
	cols []column
	arr  npy.Array
	head []byte
}

// column is one that is being filled.
type column struct {
	*field
	elem  int64
	data  []byte
	off   []int64
	valid []byte
	shape []byte
	ext   []byte
	rank  int
}

func newReader(s *source, run uint32) *reader {
	r := &reader{source: s, run: run, tar: -1, cols: make([]column, len(s.cols)), head: make([]byte, npy.MostHead)}
	for i := range s.cols {
		r.cols[i] = column{field: &s.cols[i], elem: int64(s.cols[i].ElemBytes())}
		if c := &r.cols[i]; c.kind == arrayN {
			c.rank = len(s.Facts[c.exts[0]].Dims)
		}
	}
	return r
}

func (r *reader) Close() error {
	if r.tar < 0 {
		return nil
	}
	r.tar = -1
	return r.in.Close()
}

func (r *reader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if int64(s.Input) >= int64(len(r.kept)) || s.Run != r.run || (r.kept[s.Input].packing == plain) != (s.Run == 0) || s.Run > 0 && s.Run != s.Input+1 ||
		s.Lo < 0 || s.Hi <= s.Lo || s.Hi > int64(len(r.kept[s.Input].samples)) {
		return nil, fmt.Errorf("span [%d, %d) of input %d, run %d, is not in these tars", s.Lo, s.Hi, s.Input, s.Run)
	}
	b, err := r.read(ctx, s, mem)
	if err != nil {
		r.Close()
		return nil, shardify.Annotate(err, "read", r.table.Path(int(s.Input)), "")
	}
	return b, nil
}

func (r *reader) read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := r.open(ctx, s); err != nil {
		return nil, err
	}
	c := r.kept[s.Input]
	if err := r.measure(c, s); err != nil {
		return nil, err
	}
	r.allocate(c, s, mem)
	for k := s.Lo; k < s.Hi; k++ {
		if (k-s.Lo)%64 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := r.sample(c, k, int(k-s.Lo)); err != nil {
			return nil, err
		}
	}
	if c.packing != plain && s.Hi == int64(len(c.samples)) {
		if _, _, err := r.in.Bytes(1<<62, 0); err != nil { // the checksum is at the end
			return nil, err
		}
	}
	return r.batch(s, mem), nil
}

// open makes the span's tar the present one, from its beginning if need be.
func (r *reader) open(ctx context.Context, s shardify.Span) error {
	c := r.kept[s.Input]
	members := c.of(s.Lo)
	if r.tar == int(s.Input) && (c.packing == plain || len(members) == 0 || members[0].at >= r.at) {
		return nil
	}
	r.Close()
	in, packing, err := openInput(ctx, r.table, int(s.Input))
	if err != nil {
		return err
	}
	if packing != c.packing {
		in.Close()
		return shardify.Corrupt(0, "the file is not what it was when the inputs were listed")
	}
	r.in, r.tar, r.at = in, int(s.Input), 0
	return nil
}

// measure checks that the memory that the survey asks for can be.
func (r *reader) measure(c *content, s shardify.Span) error {
	for i := range r.cols {
		r.cols[i].data, r.cols[i].off = nil, nil
	}
	for k := s.Lo; k < s.Hi; k++ {
		for _, m := range c.of(k) {
			p := r.place[m.ext]
			if p < 0 || r.cols[p].Levels > 0 && (m.size-int64(m.head))%max(r.cols[p].elem, 1) == 0 {
				continue
			}
			if f := r.cols[p].field; f.kind == integer || f.Levels == 0 && m.size-int64(m.head) == r.cols[p].elem {
				continue
			}
			return locate(shardify.Corrupt(m.at, "%d bytes, the survey found an array of %v %s", m.size, r.cols[p].Shape, r.cols[p].DType), r.cols[p].Name, k)
		}
	}
	return nil
}

// allocate takes the columns' buffers from mem; offsets come from the sizes.
func (r *reader) allocate(c *content, s shardify.Span, mem *shardify.Arena) {
	n := int(s.Samples())
	for i := range r.cols {
		col := &r.cols[i]
		if col.Nullable {
			col.valid = mem.Alloc(n)
			clear(col.valid)
		}
		switch {
		case col.kind == shapeOf:
			col.data = mem.Alloc(n * int(col.elem))
			clear(col.data)
			r.cols[col.of].shape = col.data
		case col.kind == extOf:
			col.data = mem.Alloc(n)
			clear(col.data)
			r.cols[col.of].ext = col.data
		case col.Levels == 0:
			col.data = mem.Alloc(n * int(col.elem))
			if col.Nullable {
				clear(col.data)
			}
		default:
			col.off = mem.Int64s(n + 1)
			clear(col.off)
		}
	}
	for k := s.Lo; k < s.Hi; k++ {
		for _, m := range c.of(k) {
			if p := r.place[m.ext]; p >= 0 && r.cols[p].off != nil {
				r.cols[p].off[k-s.Lo+1] = (m.size - int64(m.head)) / r.cols[p].elem
			}
		}
	}
	for i := range r.cols {
		col := &r.cols[i]
		if col.off == nil {
			continue
		}
		for k := range n {
			col.off[k+1] += col.off[k]
		}
		col.data = mem.Alloc(int(col.off[n] * col.elem))
	}
}

// sample reads the members of sample k to place at of the columns.
func (r *reader) sample(c *content, k int64, at int) error {
	for _, m := range c.of(k) {
		p := r.place[m.ext]
		if p < 0 {
			continue
		}
		col := &r.cols[p]
		if err := r.value(col, &m, at, r.code[m.ext]); err != nil {
			return locate(err, col.Name, k)
		}
		r.at = m.at + m.size
	}
	return nil
}

func locate(err error, field string, sample int64) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Field, e.Sample = field, sample })
}

// value reads one member.
func (r *reader) value(col *column, m *member, at int, code uint8) error {
	if col.valid != nil {
		col.valid[at] = 1
	}
	if col.ext != nil {
		col.ext[at] = code
	}
	switch col.kind {
	case opaque:
		data := col.data[col.off[at]:col.off[at+1]]
		if err := r.in.read(data, m.at); err != nil {
			return err
		}
		if format.IsText(col.Media) {
			return format.CheckText(data)
		}
		return nil
	case integer:
		return r.integer(col, m, at)
	}
	head := r.head[:m.head]
	if err := r.in.read(head, m.at); err != nil {
		return err
	}
	f := &r.Facts[m.ext]
	if !r.arr.Parse(head, m.size) || r.arr.Head != int(m.head) || r.arr.DType != f.DType || len(r.arr.Dims) != len(f.Dims) ||
		col.kind == array0 && !slices.Equal(r.arr.Dims, f.Dims) || col.kind == array1 && !slices.Equal(r.arr.Dims[1:], f.Dims[1:]) {
		return shardify.Corrupt(m.at, "the NumPy file is not what the survey found")
	}
	lo, hi := int64(at), int64(at)+1
	if col.off != nil {
		lo, hi = col.off[at], col.off[at+1]
	}
	if col.shape != nil {
		for i, d := range r.arr.Dims {
			binary.LittleEndian.PutUint64(col.shape[(at*col.rank+i)*8:], uint64(d))
		}
	}
	data := col.data[lo*col.elem : hi*col.elem]
	if err := r.in.read(data, m.at+int64(m.head)); err != nil {
		return err
	}
	if col.DType == shardify.Bool {
		for i, v := range data {
			if v > 1 {
				return shardify.Corrupt(m.at+int64(m.head)+int64(i), "bool with value %d", v)
			}
		}
	}
	return nil
}

func (r *reader) integer(col *column, m *member, at int) error {
	if m.size > int64(len(r.head)) {
		return shardify.Corrupt(m.at, "an integer of %d bytes", m.size)
	}
	b := r.head[:m.size]
	if err := r.in.read(b, m.at); err != nil {
		return err
	}
	v, ok := class(b)
	if !ok {
		return shardify.Corrupt(m.at, "%q is not an integer", b)
	}
	binary.LittleEndian.PutUint64(col.data[at*8:], uint64(v))
	return nil
}

// batch returns what was filled.
func (r *reader) batch(s shardify.Span, mem *shardify.Arena) *shardify.Batch {
	b := mem.Batch(len(r.cols))
	b.Samples, b.First = int(s.Samples()), shardify.ID{Input: s.Input, Sample: s.Lo}
	for i := range r.cols {
		c := &r.cols[i]
		col := shardify.Column{Field: r.schema[i], Data: c.data, Valid: c.valid}
		if c.off != nil {
			col.Offsets = [][]int64{c.off}
		}
		b.Columns = append(b.Columns, col)
		c.data, c.off, c.valid, c.shape, c.ext = nil, nil, nil, nil, nil
	}
	total := 0
	for k := s.Lo; k < s.Hi; k++ {
		total += r.keyLen(int(s.Input), k)
	}
	data, off := mem.Alloc(total)[:0], mem.Int64s(b.Samples+1)
	off[0] = 0
	for k := s.Lo; k < s.Hi; k++ {
		data = r.appendKey(data, int(s.Input), k)
		off[k-s.Lo+1] = int64(len(data))
	}
	b.Keys = &shardify.Column{Field: shardify.Field{Name: "__key__", DType: shardify.U8, Levels: 1, Media: "txt"}, Data: data, Offsets: [][]int64{off}}
	return b
}
