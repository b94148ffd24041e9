package node

import (
	"cmp"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/codecs/filter"
	"github.com/shardify/shardify/codecs/inflate"
)

// step undoes one codec. dst has the bytes that it must give, or is nil where that is
// not known; what it returns may be dst, a part of src, or new.
type step struct {
	name string
	out  int64 // bytes; -1: not known
	do   func(dst, src []byte, s *Scratch) ([]byte, error)
}

// chain undoes the codecs of an array, or of the inner chunks of a shard.
type chain struct {
	typ      Type
	shape    []int64 // of the elements
	elements int64
	steps    []step // in the order of decoding
	shard    *shard // in place of what makes elements of bytes
	parse    func(p []byte, dst [][]byte) error
	order    []int // transposition of the elements; nil: none
	textual  bool
	inner    []int64
}

// Scratch is what a goroutine needs to decode chunks; the zero value is ready.
type Scratch struct {
	filter  filter.Scratch
	inflate inflate.Decoder
	buf     [2][]byte // results between two codecs
	inner   *Scratch  // of the chunks in a shard
	one     []byte    // one of them, decoded
	turned  []byte    // elements before a transposition is undone
}

func (s *Scratch) below() *Scratch {
	if s.inner == nil {
		s.inner = &Scratch{}
	}
	return s.inner
}

// sized returns n bytes of *buf, of any content, and slack behind them.
func sized(buf *[]byte, n int64) []byte {
	if int64(cap(*buf)) < n+codecs.ZstdSlack {
		*buf = make([]byte, n+codecs.ZstdSlack)
	}
	return (*buf)[: n : n+codecs.ZstdSlack]
}

// decode decodes a chunk of elements of a fixed size: len(dst) is Elements times their
// size. dst and stored do not overlap; stored is not changed. The 16 bytes behind dst, within its
// capacity, may change.
func (a *Array) decode(dst, stored []byte, s *Scratch) error {
	if int64(len(dst)) != a.elements*int64(a.Type.Size) || a.Type.Varies() {
		return shardify.Corrupt(-1, "a chunk of %d elements for %d bytes", a.elements, len(dst))
	}
	return a.chain.decode(dst, stored, a.Fill, s)
}

// values decodes a chunk of elements without a fixed size. What dst gets is valid until
// the next call with the same Scratch.
func (a *Array) values(dst [][]byte, stored []byte, s *Scratch) error {
	if int64(len(dst)) != a.elements || !a.Type.Varies() {
		return shardify.Corrupt(-1, "a chunk of %d elements for %d values", a.elements, len(dst))
	}
	return a.chain.values(dst, stored, a.Fill, s)
}

// Sharded reports whether chunks are shards whose inner chunks can be read one by one.
func (a *Array) Sharded() bool {
	return a.chain.shard != nil && len(a.chain.steps) == 0 && a.chain.order == nil
}

// IndexAt is where the index of a shard of size bytes is.
func (a *Array) IndexAt(size int64) (off, n int64, err error) {
	off, err = a.chain.shard.at(size)
	return off, a.chain.shard.indexSize(), err
}

// Index reads the index of a shard of size bytes: its inner chunks in C order.
func (a *Array) Index(index []byte, size int64) ([]Entry, error) {
	all := make([]Entry, 0, a.chain.shard.count)
	err := a.chain.shard.entries(index, size, func(_ int64, e Entry) error { all = append(all, e); return nil })
	return all, err
}

func (a *Array) part() *chain {
	if a.Sharded() {
		return a.chain.shard.chain
	}
	return a.chain
}

// PartElements are the elements of what Part decodes at once.
func (a *Array) PartElements() int64 { return a.part().elements }

// Claims refuses a part of so many stored bytes that cannot decode to what the metadata say,
// before memory is taken for it.
func (a *Array) Claims(stored int64) error {
	c := a.part()
	want := c.elements * int64(max(a.Type.Size, 1))
	if c.shard != nil {
		return nil
	}
	most := stored
	for i := range c.steps {
		st := &c.steps[i]
		most = min((most+codecFrame)*cmp.Or(ratios[st.name], widest), math.MaxInt64/mostRatio)
		if st.out > most {
			want = st.out
			break
		}
		most = cmp.Or(max(st.out, 0), most)
	}
	if want > most {
		return shardify.Corrupt(-1, "%d bytes cannot decode to %d", stored, want)
	}
	return nil
}

// ratios are how many bytes a codec can make of one. Of those that are not here it is widest, the
// ratio of two types of elements. A few bytes beside the data, codecFrame, may be left out.
var ratios = map[string]int64{"zlib": 1040, "gzip": 1040, "lz4": 256, "lzma": 1 << 14, "zstd": 1 << 15, "blosc": 1 << 15, "bz2": mostRatio}

const (
	widest     = 16
	mostRatio  = 1 << 21
	codecFrame = 64
)

// Part is Decode for an inner chunk of a shard, and for a chunk that is no shard.
func (a *Array) Part(dst, stored []byte, s *Scratch) error {
	return a.part().decode(dst, stored, a.Fill, s)
}

// PartValues is Values for the same.
func (a *Array) PartValues(dst [][]byte, stored []byte, s *Scratch) error {
	return a.part().values(dst, stored, a.Fill, s)
}

// Memory is the bytes that s holds.
func (s *Scratch) Memory() int64 {
	if s == nil {
		return 0
	}
	return int64(cap(s.buf[0])+cap(s.buf[1])+cap(s.one)+cap(s.turned)) + s.filter.Memory() + s.inner.Memory()
}

func (c *chain) decode(dst, src, fill []byte, s *Scratch) error {
	last := dst
	if c.order != nil {
		last = sized(&s.turned, int64(len(dst)))
	}
	if c.shard != nil {
		var err error
		if src, err = c.run(nil, src, s); err == nil {
			err = c.shard.decode(last, src, fill, s)
		}
		if err != nil {
			return err
		}
	} else {
		out, err := c.run(last, src, s)
		if err != nil {
			return err
		}
		if len(out) != len(last) {
			return shardify.Corrupt(-1, "a chunk decodes to %d bytes, not %d", len(out), len(last))
		}
		if len(out) > 0 && &out[0] != &last[0] {
			copy(last, out)
		}
	}
	c.typ.swap(last, false)
	if c.order != nil {
		transpose(dst, last, c.shape, c.order, c.typ.Size)
	}
	return nil
}

func (c *chain) values(dst [][]byte, src, fill []byte, s *Scratch) error {
	out, err := c.run(nil, src, s)
	if err != nil {
		return err
	}
	last := dst
	if c.order != nil {
		last = make([][]byte, len(dst))
	}
	if c.shard != nil {
		err = c.shard.values(last, out, fill)
	} else {
		err = c.parse(out, last)
	}
	if err != nil {
		return err
	}
	if c.order != nil {
		transposeValues(dst, last, c.shape, c.order)
	}
	return nil
}

// run undoes the codecs from bytes to bytes; the last one decodes to dst.
func (c *chain) run(dst, src []byte, s *Scratch) ([]byte, error) {
	turn := 0 // the buffer that does not hold src
	for i := range c.steps {
		st := &c.steps[i]
		var to []byte
		switch {
		case i == len(c.steps)-1 && dst != nil:
			to = dst
		case st.out >= 0:
			to = sized(&s.buf[turn], st.out)
		}
		out, err := st.do(to, src, s)
		if err != nil {
			return nil, err
		}
		if st.out >= 0 && int64(len(out)) != st.out {
			return nil, shardify.Corrupt(-1, "%s: decodes to %d bytes, not %d", st.name, len(out), st.out)
		}
		if len(to) > 0 && len(out) > 0 && &out[0] == &to[0] {
			turn ^= 1 // else it is a part of src, or new
		}
		src = out
	}
	return src, nil
}

// builder makes a chain in the order of the codecs.
type builder struct {
	c     *chain
	typ   Type // of the elements after the codecs so far
	size  int64
	steps []step // in the order of encoding
}

func (b *builder) add(name string, after int64, do func(dst, src []byte, s *Scratch) ([]byte, error)) {
	b.steps = append(b.steps, step{name, b.size, do})
	b.size = after
}

func (b *builder) done() *chain {
	slices.Reverse(b.steps)
	b.c.steps = b.steps
	return b.c
}

// chain2 plans the decoding of chunks of format 2.
func chain2(a *Array, filters []any, compressor any, fortran bool) (*chain, error) {
	c := &chain{typ: a.Type, shape: a.Chunk, elements: a.elements}
	b := &builder{c: c, typ: a.Type, size: a.elements * int64(a.Type.Size)}
	if a.Type.Varies() {
		b.size = -1
	}
	if fortran && len(a.Chunk) > 1 {
		c.order = make([]int, len(a.Chunk))
		for i := range c.order {
			c.order[i] = len(a.Chunk) - 1 - i
		}
	}
	if len(filters) > maxCodecs {
		return nil, shardify.Unsupported("%d filters", len(filters))
	}
	for _, f := range filters {
		o, _ := f.(object)
		if err := b.numcodec(text(o, "id", ""), o, true); err != nil {
			return nil, err
		}
	}
	if a.Type.Varies() && c.parse == nil {
		return nil, shardify.Unsupported("objects without a codec that says what they are")
	}
	if compressor != nil {
		o, ok := compressor.(object)
		if !ok {
			return nil, shardify.Corrupt(-1, "compressor is no object")
		}
		if err := b.numcodec(text(o, "id", ""), o, false); err != nil {
			return nil, err
		}
	}
	a.Type = c.typ // objects have become texts, say
	return b.done(), nil
}

const maxCodecs = 32

// chain3 plans the decoding of chunks of format 3.
func chain3(t Type, shape []int64, codecs []any, depth int) (*chain, error) {
	if len(codecs) > maxCodecs {
		return nil, shardify.Unsupported("%d codecs", len(codecs))
	}
	n, ok := product(shape)
	if !ok {
		return nil, shardify.Corrupt(-1, "chunks of shape %v", shape)
	}
	c := &chain{typ: t, shape: shape, elements: n}
	b := &builder{c: c, typ: t, size: n * int64(t.Size)}
	if t.Varies() {
		b.size = -1
	}
	bytes := false // elements have become bytes
	for _, x := range codecs {
		name, o := named(x)
		var err error
		switch stage := stageOf(name); {
		case stage == unknown:
			return nil, shardify.Unsupported("codec %q", name)
		case stage != ofBytes && bytes:
			return nil, shardify.Corrupt(-1, "codec %s behind one that makes bytes of the array", name)
		case stage == ofBytes && !bytes:
			return nil, shardify.Corrupt(-1, "codec %s before one that makes bytes of the array", name)
		case stage == toBytes:
			bytes = true
			err = b.toBytes(name, o, depth)
		case name == "transpose":
			err = b.transpose(o)
		default:
			err = b.codec3(name, o)
		}
		if err != nil {
			return nil, err
		}
	}
	if !bytes {
		return nil, shardify.Corrupt(-1, "no codec makes bytes of the array")
	}
	return b.done(), nil
}

// The kinds of codecs of format 3.
type stage int

const (
	unknown stage = iota
	ofArrays
	toBytes
	ofBytes
)

func stageOf(name string) stage {
	switch name {
	case "transpose", "numcodecs.delta", "numcodecs.fixedscaleoffset", "numcodecs.quantize", "numcodecs.bitround", "numcodecs.astype", "numcodecs.packbits":
		return ofArrays
	case "bytes", "sharding_indexed", "vlen-utf8", "vlen-bytes":
		return toBytes
	case "gzip", "zstd", "blosc", "crc32c", "numcodecs.blosc", "numcodecs.zstd", "numcodecs.gzip", "numcodecs.zlib", "numcodecs.lz4", "numcodecs.bz2", "numcodecs.lzma",
		"numcodecs.shuffle", "numcodecs.crc32", "numcodecs.crc32c", "numcodecs.adler32", "numcodecs.fletcher32", "numcodecs.jenkins_lookup3":
		return ofBytes
	}
	return unknown
}

// transpose adds a transposition of the elements.
func (b *builder) transpose(o object) error {
	order, err := permutation(o["order"], len(b.c.shape))
	if err != nil {
		return err
	}
	if len(b.steps) > 0 {
		return shardify.Unsupported("transpose behind a codec that changes elements")
	}
	if b.c.order == nil {
		b.c.order = order
		return nil
	}
	before := b.c.order
	b.c.order = make([]int, len(order))
	for k := range order {
		b.c.order[k] = before[order[k]]
	}
	return nil
}

func permutation(v any, rank int) ([]int, error) {
	l, ok := v.([]any)
	if !ok || len(l) != rank {
		return nil, shardify.Corrupt(-1, "transpose: order %v of %d dimensions", v, rank)
	}
	out, seen := make([]int, rank), make([]bool, rank)
	for i, x := range l {
		n, err := integer(x)
		if err != nil || n < 0 || n >= int64(rank) || seen[n] {
			return nil, shardify.Corrupt(-1, "transpose: order %v is not a permutation", v)
		}
		out[i], seen[n] = int(n), true
	}
	return out, nil
}

// stored is the shape of the elements as they are stored.
func (c *chain) stored() []int64 {
	if c.order == nil {
		return c.shape
	}
	out := make([]int64, len(c.shape))
	for k, axis := range c.order {
		out[k] = c.shape[axis]
	}
	return out
}

// transpose undoes a transposition: stored axis k is axis order[k] of shape.
func transpose(dst, src []byte, shape []int64, order []int, size int) {
	walk(shape, order, func(to, from int64) {
		copy(dst[to*int64(size):(to+1)*int64(size)], src[from*int64(size):])
	})
}

func transposeValues(dst, src [][]byte, shape []int64, order []int) {
	walk(shape, order, func(to, from int64) { dst[to] = src[from] })
}

// walk visits the elements in their stored order.
func walk(shape []int64, order []int, f func(to, from int64)) {
	rank := len(shape)
	strides := make([]int64, rank) // of the array's axes
	n := int64(1)
	for i := rank - 1; i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	at := make([]int64, rank) // in stored axes
	to := int64(0)
	for from := range n {
		f(to, from)
		for k := rank - 1; k >= 0; k-- {
			axis := order[k]
			at[k]++
			to += strides[axis]
			if at[k] < shape[axis] {
				break
			}
			to -= strides[axis] * at[k]
			at[k] = 0
		}
	}
}
