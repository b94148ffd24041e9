package arrow

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// The compressions of buffers.
const (
	packedNot  = -1
	packedLZ4  = 0
	packedZstd = 1
)

// maxBuffer bounds a buffer in memory.
const maxBuffer = 4 << 30

// node is a field in a batch: values, and how many of them are missing.
type node struct{ rows, nulls int64 }

// extent is a buffer in the file.
type extent struct{ off, len int64 }

// place is where a field has its node and its buffers.
type place struct{ node, buf, views int }

// batch is a record batch, or a dictionary, being read.
type batch struct {
	f      *file
	rows   int64
	nodes  []node
	bufs   []extent
	packed int8
	places map[*field]place
	dicts  int            // messages of dictionaries before it
	held   map[int][]byte // decoded buffers
	sizes  []int64        // of decoded buffers, plus 1; 0 is not known
	bytes  int64          // in held
	grow   func(more int64) error
}

// open reads where the buffers of a batch are. grow is called before memory is taken.
func (f *file) open(m *message, fields []field, grow func(more int64) error) (*batch, error) {
	own := *m // other readers share m
	m = &own
	r, at, err := f.header(m)
	if err != nil {
		return nil, err
	}
	if m.kind == isDictionary {
		at = r.Ref(at, 1)
	}
	b := &batch{f: f, rows: m.rows, packed: packedNot, places: map[*field]place{}, held: map[int][]byte{}, grow: grow}
	p, n := r.Structs(at, 1, 16)
	for i := range n {
		x := node{r.I64(p + 16*i), r.I64(p + 16*i + 8)}
		if x.rows < 0 || x.nulls < 0 || x.nulls > x.rows {
			return nil, shardify.Corrupt(m.off, "a node of %d values, %d of them missing", x.rows, x.nulls)
		}
		b.nodes = append(b.nodes, x)
	}
	p, n = r.Structs(at, 2, 16)
	for i := range n {
		x := extent{r.I64(p + 16*i), r.I64(p + 16*i + 8)}
		if x.off < 0 || x.len < 0 || x.len > m.body || x.off > m.body-x.len {
			return nil, shardify.Corrupt(m.off, "a buffer beyond the end of its batch")
		}
		x.off += m.off + m.meta
		b.bufs = append(b.bufs, x)
	}
	if c := r.Ref(at, 3); c > 0 {
		b.packed = packedLZ4
		if s := r.Slot(c, 0); s > 0 {
			b.packed = int8(r.U8(s))
		}
		if b.packed != packedLZ4 && b.packed != packedZstd {
			return nil, shardify.Unsupported("compression %d", b.packed)
		}
	}
	l := layout{b: b}
	p, n = r.Structs(at, 4, 8)
	for i := range n {
		l.variadic = append(l.variadic, r.I64(p+8*i))
	}
	if !l.all(fields) || r.Bad || l.node != len(b.nodes) || l.buf != len(b.bufs) || len(l.variadic) > 0 {
		return nil, shardify.Corrupt(m.off, "a batch that does not fit the schema")
	}
	for i := range fields {
		if x := b.nodes[b.places[&fields[i]].node]; x.rows != b.rows {
			return nil, shardify.Corrupt(m.off, "a batch of %d rows with %d values of %s", b.rows, x.rows, fields[i].name)
		}
		if err := b.agree(&fields[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// most is what a byte can become.
var most = map[int8]int64{packedLZ4: 256, packedZstd: 1 << 15}

// stored is the bits of a value in the buffer behind that of the nulls, 0 without one; offsets: there is one value more
// than rows.
func (f *field) stored() (bits int64, offsets bool) {
	if f.dict != nil {
		return int64(f.dict.index.bits), false
	}
	switch f.kind {
	case tInt, tFloat, tDecimal, tTime:
		return int64(f.bits), false
	case tBool:
		return 1, false
	case tDate:
		if f.unit == 0 {
			return 32, false
		}
		return 64, false
	case tTimestamp, tDuration:
		return 64, false
	case tFixedBinary:
		return 8 * int64(f.size), false
	case tBinaryView, tUtf8View:
		return 128, false
	case tUtf8, tBinary, tList, tMap:
		return 32, true
	case tLargeUtf8, tLargeBinary, tLargeList:
		return 64, true
	}
	return 0, false
}

// agree checks that a field has the bytes for the values that its node claims, and its children
// the values for those.
func (b *batch) agree(f *field) error {
	p := b.places[f]
	x := b.nodes[p.node]
	has := func(i int, values, bits int64) error {
		e := b.bufs[i]
		room := e.len
		if b.packed != packedNot {
			room *= most[b.packed]
		}
		if bits > 0 && values > 8*room/bits {
			return shardify.Corrupt(e.off, "a buffer of %d bytes for %d values of %d bits in %s", e.len, values, bits, f.name)
		}
		return nil
	}
	bits, offsets := f.stored()
	values, children := x.rows, int64(0)
	if offsets && values > 0 {
		values++
	}
	if f.dict == nil {
		switch f.kind {
		case tNull, tUnion, tRunEnd:
			return nil
		case tStruct:
			children = x.rows
		case tFixedList:
			if f.size < 0 || f.size > 0 && x.rows > 1<<50/int64(f.size) {
				return shardify.Corrupt(b.bufs[p.buf].off, "%d lists of %d values in %s", x.rows, f.size, f.name)
			}
			children = x.rows * int64(f.size)
		}
	}
	if bits > 0 {
		if err := has(p.buf+1, values, bits); err != nil {
			return err
		}
	}
	if x.nulls > 0 {
		if err := has(p.buf, x.rows, 1); err != nil {
			return err
		}
	}
	if f.dict != nil {
		return nil
	}
	for i := range f.children {
		c := &f.children[i]
		if n := b.nodes[b.places[c].node].rows; n < children {
			return shardify.Corrupt(b.bufs[p.buf].off, "%d values of %s, want %d", n, c.name, children)
		}
		if err := b.agree(c); err != nil {
			return err
		}
	}
	return nil
}

// layout gives fields their nodes and buffers.
type layout struct {
	b         *batch
	node, buf int
	variadic  []int64
}

func (l *layout) all(fields []field) bool {
	for i := range fields {
		if !l.one(&fields[i]) {
			return false
		}
	}
	return true
}

func (l *layout) one(f *field) bool {
	p := place{node: l.node, buf: l.buf}
	l.node++
	if f.dict != nil {
		l.buf += 2
		l.b.places[f] = p
		return true
	}
	switch f.kind {
	case tNull, tRunEnd:
	case tUnion:
		l.buf++
		if f.union == 1 { // dense
			l.buf++
		}
	case tStruct, tFixedList:
		l.buf++
	case tUtf8, tBinary, tLargeUtf8, tLargeBinary, tListView, tLargeListView:
		l.buf += 3
	case tUtf8View, tBinaryView:
		if len(l.variadic) == 0 || l.variadic[0] < 0 || l.variadic[0] > int64(len(l.b.bufs)) {
			return false
		}
		p.views = int(l.variadic[0])
		l.variadic = l.variadic[1:]
		l.buf += 2 + p.views
	default:
		l.buf += 2
	}
	l.b.places[f] = p
	return l.buf <= len(l.b.bufs) && l.node <= len(l.b.nodes) && l.all(f.children)
}

// size is the decoded bytes of a buffer.
func (b *batch) size(i int) (int64, error) {
	x := b.bufs[i]
	if b.packed == packedNot || x.len == 0 {
		return x.len, nil
	}
	if b.sizes == nil {
		b.sizes = make([]int64, len(b.bufs))
	} else if n := b.sizes[i]; n > 0 {
		return n - 1, nil
	}
	if x.len < 8 {
		return 0, shardify.Corrupt(x.off, "a compressed buffer of %d bytes", x.len)
	}
	head, err := b.f.at(x.off, 8)
	if err != nil {
		return 0, err
	}
	n := int64(binary.LittleEndian.Uint64(head))
	switch {
	case n == -1:
		n = x.len - 8
	case n < 0 || n > maxBuffer || n/most[b.packed] > x.len:
		return 0, shardify.Corrupt(x.off, "%d bytes that must decode to %d", x.len-8, n)
	}
	b.sizes[i] = n + 1
	return n, nil
}

// whole is a buffer decoded.
func (b *batch) whole(i int) ([]byte, error) {
	if v, ok := b.held[i]; ok {
		return v, nil
	}
	n, err := b.size(i)
	if err != nil {
		return nil, err
	}
	x := b.bufs[i]
	if err := b.grow(n + x.len); err != nil {
		return nil, err
	}
	v := make([]byte, n, n+codecs.ZstdSlack)
	if b.packed == packedNot {
		_, err = b.f.ReadAt(v, x.off)
		err = short(err, x.off)
	} else {
		err = b.unpack(v, x)
	}
	if err != nil {
		return nil, err
	}
	b.held[i] = v
	b.bytes += n
	return v, nil
}

// unpack decodes a buffer to v. What is behind v within its capacity may change.
func (b *batch) unpack(v []byte, x extent) error {
	if x.len == 0 {
		return nil
	}
	src := make([]byte, x.len)
	if _, err := b.f.ReadAt(src, x.off); err != nil {
		return short(err, x.off)
	}
	var err error
	switch stored := int64(binary.LittleEndian.Uint64(src)) == -1; {
	case stored:
		copy(v, src[8:])
	case len(v) == 0:
	case b.packed == packedLZ4:
		_, err = codecs.LZ4Frame(v, src[8:])
	default:
		var n int
		if n, err = codecs.ZstdAtMost(v, src[8:]); err == nil && n < len(v) {
			err = shardify.Corrupt(x.off, "it decodes to %d bytes, claims %d", n, len(v))
		}
	}
	if err != nil {
		return shardify.Amend(err, func(e *shardify.Error) { e.Offset = x.off })
	}
	return nil
}

// part is n bytes of a buffer, in dst if it has room for them.
func (b *batch) part(i int, from, n int64, dst []byte) ([]byte, error) {
	size, err := b.size(i)
	if err != nil {
		return nil, err
	}
	if from < 0 || n < 0 || n > size || from > size-n {
		return nil, shardify.Corrupt(b.bufs[i].off, "a buffer of %d bytes, want %d", size, from+n)
	}
	if n == 0 {
		return nil, nil
	}
	if b.packed != packedNot {
		if _, ok := b.held[i]; !ok && from == 0 && n == size && int64(len(dst)) >= n {
			return dst[:n], b.unpack(dst[:n], b.bufs[i]) // no other call needs it
		}
		v, err := b.whole(i)
		if err != nil {
			return nil, err
		}
		return v[from : from+n], nil
	}
	if int64(len(dst)) < n {
		if err := b.grow(n); err != nil {
			return nil, err
		}
		dst = make([]byte, n)
	}
	_, err = b.f.ReadAt(dst[:n], b.bufs[i].off+from)
	return dst[:n], short(err, b.bufs[i].off+from)
}

// bits are n bits of a buffer as bytes, 0 or 1.
func (b *batch) bits(i int, from, n int64) ([]byte, error) {
	v, err := b.part(i, from/8, (from+n+7)/8-from/8, nil)
	if err != nil {
		return nil, err
	}
	out := make([]byte, n)
	at := int(from % 8)
	for k := range out {
		out[k] = v[(at+k)/8] >> ((at + k) % 8) & 1
	}
	return out, nil
}

// offsets are n+1 offsets from place from on, of 4 or 8 bytes; they rise.
func (b *batch) offsets(i int, from, n int64, wide bool) ([]int64, error) {
	out := make([]int64, 0, 1)
	if size, err := b.size(i); n == 0 && (size == 0 || err != nil) { // writers leave out that of no values
		return append(out, 0), err
	}
	width := int64(4)
	if wide {
		width = 8
	}
	v, err := b.part(i, from*width, (n+1)*width, nil)
	if err != nil {
		return nil, err
	}
	out = make([]int64, n+1)
	last := int64(0)
	for k := range out {
		if wide {
			out[k] = int64(binary.LittleEndian.Uint64(v[8*k:]))
		} else {
			out[k] = int64(int32(binary.LittleEndian.Uint32(v[4*k:])))
		}
		if out[k] < last {
			return nil, shardify.Corrupt(b.bufs[i].off, "offsets fall")
		}
		last = out[k]
	}
	return out, nil
}
