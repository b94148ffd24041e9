package synth

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/shardify/shardify"
)

// reader invents spans. Of a run it demands the order that real formats need.
type reader struct {
	s    *source
	run  uint32
	next int64 // of a run: samples below are behind us
}

func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	s := r.s
	if sp.Input != 0 || sp.Run != r.run || sp.Lo < 0 || sp.Hi < sp.Lo || sp.Hi > s.samples {
		return nil, fmt.Errorf("span %+v of %d samples of synth", sp, s.samples)
	}
	if sp.Run > 0 && (s.runOf(sp.Lo) != sp.Run || (sp.Hi > sp.Lo && s.runOf(sp.Hi-1) != sp.Run)) {
		return nil, fmt.Errorf("span %+v leaves its run", sp)
	}
	if sp.Run > 0 && sp.Lo < r.next {
		return nil, fmt.Errorf("span %+v of a run that was read up to sample %d", sp, r.next)
	}
	b := mem.Batch(len(s.fields))
	b.Samples, b.First = int(sp.Samples()), shardify.ID{Sample: sp.Lo}
	for i := range s.fields {
		c, err := s.fields[i].column(ctx, sp, mem)
		if err != nil {
			return nil, err
		}
		b.Columns = append(b.Columns, c)
	}
	if s.keyed {
		b.Keys = keys(sp, mem)
	}
	r.next = sp.Hi
	return b, nil
}

func (r *reader) Close() error { return nil }

func keys(sp shardify.Span, mem *shardify.Arena) *shardify.Column {
	n := int(sp.Samples())
	data, off := mem.Alloc(n * keyBytes)[:0], mem.Int64s(n+1)
	off[0] = 0
	for k := range n {
		data = appendKey(data, sp.Lo+int64(k))
		off[k+1] = int64(len(data))
	}
	return &shardify.Column{
		Field: shardify.Field{Name: "__key__", DType: shardify.U8, Levels: 1, Media: "txt"},
		Data:  data, Offsets: [][]int64{off},
	}
}

// at is the random number of sample k.
func at(seed uint64, k int64) uint64 { return mix(seed + uint64(k)*0x9e3779b97f4a7c15) }

// valid reports whether sample k has a value: seven of eight do.
func (f *field) valid(k int64) bool { return !f.Nullable || at(f.seed^1, k)&7 != 0 }

// lists is the number of elements, or of lists, of sample k.
func (f *field) lists(k int64) int64 {
	if !f.valid(k) && f.Counter == "" {
		return 0
	}
	if f.Media == "json" && f.Levels == 1 && f.most > 0 { // no bytes are no JSON
		return 1 + below(at(f.lengths, k), f.most-1)
	}
	return below(at(f.lengths, k), f.most)
}

// innerLen is the length of list i of sample k.
func (f *field) innerLen(k, i int64) int64 {
	return below(at(at(f.seed^2, k), i), f.inner)
}

// shape is how many lists sample k has, and how many elements in all.
func (f *field) shape(k int64) (lists, elements int64) {
	switch f.Levels {
	case 0:
		return 0, 1
	case 1:
		return 0, f.lists(k)
	}
	lists = f.lists(k)
	for i := range lists {
		elements += f.innerLen(k, i)
	}
	return lists, elements
}

// column invents the values of a span.
func (f *field) column(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (shardify.Column, error) {
	c := shardify.Column{Field: f.Field}
	n := int(sp.Samples())
	var lists, elements int64
	for k := sp.Lo; k < sp.Hi; k++ {
		l, e := f.shape(k)
		lists, elements = lists+l, elements+e
	}
	size := int64(f.ElemBytes())
	if size > 0 && elements > math.MaxInt64/4/size {
		return c, shardify.Mismatch("field %s: %d elements in one span", f.Name, elements)
	}
	c.Data = mem.Alloc(int(elements * size))
	if f.Levels > 0 {
		c.Offsets = append(c.Offsets, mem.Int64s(n+1))
		c.Offsets[0][0] = 0
	}
	if f.Levels > 1 {
		c.Offsets = append(c.Offsets, mem.Int64s(int(lists)+1))
		c.Offsets[1][0] = 0
	}
	if f.Nullable {
		c.Valid = mem.Alloc(n)
	}
	w := writer{f: f, c: &c}
	for i := range n {
		if i&63 == 0 && ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
		w.sample(sp.Lo+int64(i), i)
	}
	return c, nil
}

// writer fills a column sample by sample.
type writer struct {
	f     *field
	c     *shardify.Column
	elems int64
	lists int64
}

func (w *writer) sample(k int64, i int) {
	f, c := w.f, w.c
	valid := f.valid(k)
	if c.Valid != nil {
		c.Valid[i] = 0
		if valid {
			c.Valid[i] = 1
		}
	}
	state := at(f.seed^3, k)
	from := w.elems
	switch f.Levels {
	case 0:
		w.elems++
	case 1:
		w.elems += f.lists(k)
		c.Offsets[0][i+1] = w.elems
	default:
		for j := range f.lists(k) {
			at := w.elems
			w.elems += f.innerLen(k, j)
			w.lists++
			c.Offsets[1][w.lists] = w.elems
			if f.Media != "" { // each is a text of its own
				f.fill(w.bytes(at), mix(state+uint64(j)))
			}
		}
		c.Offsets[0][i+1] = w.lists
		if f.Media != "" {
			return
		}
	}
	b := w.bytes(from)
	if !valid {
		clear(b)
		return
	}
	f.fill(b, state)
}

// bytes is the memory of the elements since from.
func (w *writer) bytes(from int64) []byte {
	size := int64(w.f.ElemBytes())
	return w.c.Data[from*size : w.elems*size]
}

// fill invents the values of b from state.
func (f *field) fill(b []byte, state uint64) {
	switch {
	case f.Media == "txt":
		letters(b, state)
	case f.Media == "json":
		number(b, state)
	case f.DType == shardify.F64:
		for i := 0; i < len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], math.Float64bits(unit(&state)))
		}
	case f.DType == shardify.F32:
		for i := 0; i < len(b); i += 4 {
			binary.LittleEndian.PutUint32(b[i:], math.Float32bits(float32(unit(&state))))
		}
	case f.DType == shardify.BF16:
		for i := 0; i < len(b); i += 2 {
			binary.LittleEndian.PutUint16(b[i:], uint16(math.Float32bits(float32(unit(&state)))>>16))
		}
	case f.DType == shardify.F16:
		for i := 0; i < len(b); i += 2 { // sign, an exponent of 2^-8..2^0, any mantissa
			x := next(&state)
			binary.LittleEndian.PutUint16(b[i:], uint16(x&0x83ff|(7+x>>32&7)<<10))
		}
	default:
		random(b, &state)
		if f.DType == shardify.Bool {
			for i := range b {
				b[i] &= 1
			}
		}
	}
}

func next(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	return mix(*state)
}

// unit is a number in [-1, 1) that f32 holds exactly.
func unit(state *uint64) float64 { return float64(int64(next(state))>>40) / (1 << 23) }

func random(b []byte, state *uint64) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, next(state))
		b = b[8:]
	}
	for x, i := next(state), 0; i < len(b); i++ {
		b[i] = byte(x >> (8 * i))
	}
}

// letters writes words, some of them not ASCII.
func letters(b []byte, state uint64) {
	const plain = "abcdefghijklmnopqrstuvwxyz      "
	for len(b) > 0 {
		x := next(&state)
		if x>>8&31 == 0 && len(b) >= 2 {
			b = b[copy(b, "é"):]
			continue
		}
		b[0] = plain[x&31]
		b = b[1:]
	}
}

// number writes a JSON number that takes all of b.
func number(b []byte, state uint64) {
	for i := range b {
		b[i] = '0' + byte(next(&state)%10)
	}
	if len(b) > 1 && b[0] == '0' {
		b[0] = strconv.Itoa(int(1 + state%9))[0]
	}
}
