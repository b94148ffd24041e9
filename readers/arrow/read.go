package arrow

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// sink gathers a column of a span. Its memory is used again.
type sink struct {
	data  []byte
	ends  [2][]int64
	valid []byte // nil while none is missing
	rows  int    // so far
	// to is where values of a fixed size go at once, of which done bytes are there.
	to   []byte
	done int
}

func (s *sink) reset() {
	s.data, s.valid, s.rows, s.to, s.done = s.data[:0], s.valid[:0], 0, nil, 0
	for i := range s.ends {
		s.ends[i] = append(s.ends[i][:0], 0)
	}
}

func (s *sink) held() int64 {
	return int64(cap(s.data)+cap(s.valid)) + 8*int64(cap(s.ends[0])+cap(s.ends[1]))
}

// close appends the ends of lists.
func (s *sink) close(level int, offsets []int64) {
	base := s.ends[level][len(s.ends[level])-1] - offsets[0]
	for _, o := range offsets[1:] {
		s.ends[level] = append(s.ends[level], base+o)
	}
}

// mark notes which of the next rows are there; nil means all.
func (s *sink) mark(mask []byte, rows int64) {
	if mask != nil || len(s.valid) > 0 {
		for len(s.valid) < s.rows {
			s.valid = append(s.valid, 1)
		}
		if mask == nil {
			for range rows {
				s.valid = append(s.valid, 1)
			}
		}
		s.valid = append(s.valid, mask...)
	}
	s.rows += int(rows)
}

var errItems = format.MissingItem("an item of a list")

// read appends rows [lo, hi) of a leaf.
func (b *batch) read(l *leaf, lo, hi int64, fill bool, s *sink) error {
	// Which rows are there, which values inside of lists are, and which of these are of rows that
	// are; nil is all.
	var mask, items, whole []byte
	level, inner := 0, false
	a, z := lo, hi
	for k, f := range l.chain {
		p := b.places[f]
		x := b.nodes[p.node]
		if z > x.rows {
			return shardify.Corrupt(-1, "%d values, want %d", x.rows, z)
		}
		if x.nulls > 0 && b.bufs[p.buf].len > 0 {
			bits, err := b.bits(p.buf, a, z-a)
			if err != nil {
				return err
			}
			switch {
			case !inner:
				mask = and(mask, bits)
			case hasZero(bits):
				if !fill && lacks(bits, whole) {
					return errItems
				}
				items = and(slices.Clone(items), bits)
			}
		}
		if k == len(l.chain)-1 {
			s.mark(mask, hi-lo)
			if inner {
				mask = items
			}
			return b.values(l, f, p, a, z, mask, whole, s)
		}
		switch f.kind {
		case tFixedList:
			n := int64(f.size)
			a, z = a*n, z*n
			if !inner { // what a missing one holds counts for nothing
				items, whole = mask, mask
			}
			items, whole, inner = spread(items, n), spread(whole, n), true
		case tList, tLargeList, tMap:
			o, err := b.offsets(p.buf+1, a, z-a, f.kind == tLargeList)
			if err != nil {
				return err
			}
			for i, m := range maskOf(mask, items, inner) {
				if m == 0 && o[i+1] > o[i] {
					return shardify.Unsupported("a missing list that has items")
				}
			}
			s.close(level, o)
			level++
			a, z = o[0], o[len(o)-1]
			inner, items, whole = true, nil, nil
		}
	}
	return nil
}

func maskOf(mask, items []byte, inner bool) []byte {
	if inner {
		return items
	}
	return mask
}

func and(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	for i := range a {
		a[i] &= b[i]
	}
	return a
}

// lacks reports whether a value is missing where the row is there.
func lacks(bits, whole []byte) bool {
	for i, x := range bits {
		if x == 0 && (whole == nil || whole[i] != 0) {
			return true
		}
	}
	return false
}

// spread repeats each of a mask n times.
func spread(mask []byte, n int64) []byte {
	if mask == nil {
		return nil
	}
	wide := make([]byte, 0, int64(len(mask))*n)
	for _, m := range mask {
		for range n {
			wide = append(wide, m)
		}
	}
	return wide
}

func hasZero(b []byte) bool {
	for _, x := range b {
		if x == 0 {
			return true
		}
	}
	return false
}

// room is where n bytes of values go.
func (s *sink) room(n int64) []byte {
	if s.to != nil && s.done+int(n) <= len(s.to) {
		s.done += int(n)
		return s.to[s.done-int(n) : s.done]
	}
	have := len(s.data)
	s.data = append(s.data, make([]byte, n)...)
	return s.data[have:]
}

// values appends values [a, z) of a field. Those that mask says are missing become 0 or empty;
// in lists NaN, where whole says that the row is there.
func (b *batch) values(l *leaf, f *field, p place, a, z int64, mask, whole []byte, s *sink) error {
	n := z - a
	if f.dict != nil {
		return b.gather(l, f, p, a, z, mask, s)
	}
	width := int64(l.width)
	if l.width > 0 && l.form != boolForm { // before memory is taken
		if size, err := b.size(p.buf + 1); err != nil || size/width < z {
			if err == nil {
				err = shardify.Corrupt(b.bufs[p.buf+1].off, "a buffer of %d bytes for %d values of %d", size, z, width)
			}
			return err
		}
	}
	switch l.form {
	case fixedForm:
		to := s.room(n * width)
		v, err := b.part(p.buf+1, a*width, n*width, to)
		if err != nil {
			return err
		}
		if n > 0 && &v[0] != &to[0] {
			copy(to, v)
		}
		blank(to, mask, whole, int(width), l, l.elem > 1 || l.lists > 0)
	case boolForm:
		v, err := b.bits(p.buf+1, a, n)
		if err != nil {
			return err
		}
		blank(v, mask, whole, 1, l, false)
		copy(s.room(n), v)
	case dateForm:
		v, err := b.part(p.buf+1, a*width, n*width, nil)
		if err != nil {
			return err
		}
		to := s.room(n * 8)
		for i := range int(n) {
			binary.LittleEndian.PutUint64(to[8*i:], uint64(int64(int32(binary.LittleEndian.Uint32(v[4*i:])))))
		}
		blank(to, mask, whole, 8, l, false)
	case decimalForm:
		v, err := b.part(p.buf+1, a*width, n*width, nil)
		if err != nil {
			return err
		}
		to := s.room(n * 8)
		for i := range int(n) {
			x, ok := decimal(v[i*l.width : (i+1)*l.width])
			if !ok && (mask == nil || mask[i] != 0) {
				return shardify.Corrupt(b.bufs[p.buf+1].off, "a decimal of more digits than its type has")
			}
			binary.LittleEndian.PutUint64(to[8*i:], uint64(x))
		}
		blank(to, mask, whole, 8, l, false)
	case decimalTextForm:
		v, err := b.part(p.buf+1, a*width, n*width, nil)
		if err != nil {
			return err
		}
		var x numeric.DecimalText
		for i := range int(n) {
			if mask == nil || mask[i] != 0 {
				s.data = x.AppendLittle(s.data, v[i*l.width:(i+1)*l.width], f.scale)
			}
			s.ends[l.lists] = append(s.ends[l.lists], int64(len(s.data)))
		}
	case viewForm:
		return b.views(l, p, a, n, mask, s)
	default:
		return b.texts(l, p, a, n, mask, s)
	}
	return nil
}

// blank puts 0, or NaN, where values are missing.
func blank(v, mask, whole []byte, width int, l *leaf, items bool) {
	for i, m := range mask {
		if m != 0 {
			continue
		}
		x := v[i*width : (i+1)*width]
		if clear(x); items && l.form == fixedForm && (whole == nil || whole[i] != 0) {
			coltype.PutNaN(x, l.field.DType)
		}
	}
}

// decimal is the number of 4 to 32 bytes, if 8 have it.
func decimal(b []byte) (int64, bool) {
	if len(b) == 4 {
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	}
	v := int64(binary.LittleEndian.Uint64(b))
	for i := 8; i < len(b); i += 8 {
		if int64(binary.LittleEndian.Uint64(b[i:])) != v>>63 {
			return 0, false
		}
	}
	return v, true
}

// texts appends values with offsets.
func (b *batch) texts(l *leaf, p place, a, n int64, mask []byte, s *sink) error {
	o, err := b.offsets(p.buf+1, a, n, l.form == largeForm)
	if err != nil {
		return err
	}
	v, err := b.part(p.buf+2, o[0], o[n]-o[0], nil)
	if err != nil {
		return err
	}
	for i, m := range mask {
		if m == 0 && o[i+1] > o[i] { // one by one
			for k := range int(n) {
				if mask[k] != 0 {
					s.data = append(s.data, v[o[k]-o[0]:o[k+1]-o[0]]...)
				}
				s.ends[l.lists] = append(s.ends[l.lists], int64(len(s.data)))
			}
			return nil
		}
	}
	s.data = append(s.data, v...)
	s.close(l.lists, o)
	return nil
}

// views appends values of 16 bytes each, which hold short texts, or say where long ones are.
func (b *batch) views(l *leaf, p place, a, n int64, mask []byte, s *sink) error {
	v, err := b.part(p.buf+1, a*16, n*16, nil)
	if err != nil {
		return err
	}
	for i := range int(n) {
		if x := v[16*i : 16*i+16]; mask == nil || mask[i] != 0 {
			size := int64(int32(binary.LittleEndian.Uint32(x)))
			if size >= 0 && size <= 12 {
				s.data = append(s.data, x[4:4+size]...)
			} else {
				k, off := int(int32(binary.LittleEndian.Uint32(x[8:]))), int64(int32(binary.LittleEndian.Uint32(x[12:])))
				if size < 0 || k < 0 || k >= p.views || off < 0 {
					return shardify.Corrupt(b.bufs[p.buf+1].off, "a view of no buffer")
				}
				text, err := b.whole(p.buf + 2 + k)
				if err != nil {
					return err
				}
				if off > int64(len(text))-size || int64(len(s.data)) > maxBuffer {
					return shardify.Corrupt(b.bufs[p.buf+1].off, "a view beyond its buffer")
				}
				s.data = append(s.data, text[off:off+size]...)
			}
		}
		s.ends[l.lists] = append(s.ends[l.lists], int64(len(s.data)))
	}
	return nil
}

// dictKey is a dictionary as the first so many messages of its number make it.
type dictKey struct {
	id       int64
	messages int
}

// dictValues are the values of a dictionary.
type dictValues struct {
	sink
	count    int64
	extended bool // another one has values behind these, in their memory
}

// maxDictionaries bounds those that are kept.
const maxDictionaries = 256

// dictionary reads the values of one, as the messages before a batch make them. A message that
// adds to one appends to what there is: readers of it have their own lengths.
func (f *file) dictionary(l *leaf, x *field, messages int) (*dictValues, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.byID == nil {
		f.byID = map[int64][]int{}
		for i := range f.dicts {
			f.byID[f.dicts[i].dict] = append(f.byID[f.dicts[i].dict], i)
		}
	}
	own := f.byID[x.dict.id]
	n, _ := slices.BinarySearch(own, messages) // of them are before the batch
	if n == 0 {
		return nil, shardify.Corrupt(-1, "no dictionary of number %d", x.dict.id)
	}
	if d := f.values[dictKey{x.dict.id, n}]; d != nil {
		return d, nil
	}
	from := n - 1
	for ; from > 0 && f.dicts[own[from]].delta && f.values[dictKey{x.dict.id, from}] == nil; from-- {
	}
	d := &dictValues{}
	if base := f.values[dictKey{x.dict.id, from}]; f.dicts[own[from]].delta && base != nil {
		d.sink = base.sink
		if base.extended { // which is read at the same time: these get memory of their own
			d.data, d.valid = slices.Clip(d.data), slices.Clip(d.valid)
			d.ends[0], d.ends[1] = slices.Clip(d.ends[0]), slices.Clip(d.ends[1])
		}
		base.extended = true
	} else {
		d.reset()
	}
	plain := []field{*x}
	plain[0].dict = nil
	one := *l
	one.chain, one.lists, one.elem = []*field{&plain[0]}, 0, 1
	for _, i := range own[from:n] {
		m := &f.dicts[i]
		b, err := f.open(m, plain, func(int64) error { return nil }) // all readers share it
		if err != nil {
			return nil, err
		}
		if err := b.read(&one, 0, m.rows, false, &d.sink); err != nil {
			return nil, err
		}
	}
	d.count = int64(d.rows)
	if len(f.values) > maxDictionaries {
		clear(f.values)
	}
	f.values[dictKey{x.dict.id, n}] = d
	return d, nil
}

// gather appends values of a dictionary.
func (b *batch) gather(l *leaf, f *field, p place, a, z int64, mask []byte, s *sink) error {
	d, err := b.f.dictionary(l, f, b.dicts)
	if err != nil {
		return err
	}
	width := int64(f.dict.index.bits / 8)
	if width != 1 && width != 2 && width != 4 && width != 8 {
		return shardify.Corrupt(-1, "places of %d bits in a dictionary", f.dict.index.bits)
	}
	v, err := b.part(p.buf+1, a*width, (z-a)*width, nil)
	if err != nil {
		return err
	}
	size := l.size()
	for i := range int(z - a) {
		k := int64(math.MaxInt64)
		switch x := v[int64(i)*width:]; width {
		case 1:
			k = int64(x[0])
		case 2:
			k = int64(binary.LittleEndian.Uint16(x))
		case 4:
			k = int64(binary.LittleEndian.Uint32(x))
		default:
			k = int64(binary.LittleEndian.Uint64(x))
		}
		there := mask == nil || mask[i] != 0
		if there && (k < 0 || k >= d.count) {
			return shardify.Corrupt(b.bufs[p.buf+1].off, "place %d in a dictionary of %d values", k, d.count)
		}
		if there && len(d.valid) > 0 && d.valid[k] == 0 {
			return shardify.Unsupported("a missing value in a dictionary")
		}
		if int64(len(s.data)) > maxBuffer {
			return shardify.Unsupported("more than %s in one column of a span", shardify.FormatSize(maxBuffer))
		}
		switch {
		case l.form >= textForm:
			if there {
				s.data = append(s.data, d.data[d.ends[0][k]:d.ends[0][k+1]]...)
			}
			s.ends[l.lists] = append(s.ends[l.lists], int64(len(s.data)))
		case there:
			copy(s.room(size), d.data[k*size:(k+1)*size])
		default:
			clear(s.room(size))
		}
	}
	return nil
}

// size is the bytes of a value of a fixed size in a column.
func (l *leaf) size() int64 {
	if l.form == fixedForm {
		return int64(l.width)
	}
	return int64(l.field.DType.Size())
}
