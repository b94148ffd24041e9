package filter

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// blosc2 is filter 32026: a frame that holds one chunk, or the chunk alone. Numbers of a
// frame are big-endian and have a byte of MessagePack before them:
//
//	offset  width  meaning
//	2       8      "b2frame\0"
//	11      4      size of the header
//	16      8      size of the frame
//	30      8      decoded size
//	39      8      size of the chunks, which follow the header; then the chunk of their offsets
//	48      4      type size
//	58      4      decoded size of a chunk
//	87      ...    layers of metadata: names and places; "b2nd" has the shapes
//
// A chunk has little-endian numbers:
//
//	0       1      format version; up to 2 it is one of Blosc 1
//	2       1      flags, as in Blosc 1; both shuffles: the header has 32 bytes
//	3       1      type size
//	4       4      decoded size
//	8       4      block size
//	12      4      stored size
//	16      6      filters in the order of writing
//	24      6      their parameters
//	31      1      flags: bit 0 a dictionary, bits 4 to 6 what all values are
//	32      4*n    start of each block
//
// A stream of a block is its stored size and its bytes. Size 0 is zeros, a negative one
// the byte that is repeated. With b2nd blocks are boxes of the chunk, in C order.
type blosc2 struct{}

const (
	blosc2Header = 32

	blosc2Frame      = "b2frame\x00"
	blosc2FrameFixed = 87
	blosc2MaxRank    = 8
)

// What all values of a chunk are.
const (
	blosc2Zeros  = 1
	blosc2NaNs   = 2
	blosc2Repeat = 3
	blosc2Any    = 4
)

// The filters of blosc2.
const (
	blosc2Shuffle    = 1
	blosc2BitShuffle = 2
	blosc2Delta      = 3
	blosc2TruncPrec  = 4
)

func (blosc2) encoded(n int) (int, bool) { return expanded(n) }

func (blosc2) decode(dst, src []byte, exact bool, s *Scratch) ([]byte, error) {
	if len(src) < blosc2FrameFixed || string(src[2:10]) != blosc2Frame {
		return blosc2Chunk(dst, src, exact, nil, s)
	}
	be := binary.BigEndian
	header, stored := uint64(be.Uint32(src[11:])), be.Uint64(src[39:])
	size := len(src)
	if n := be.Uint64(src[16:]); n > uint64(size) {
		return nil, shardify.Corrupt(-1, "blosc2: a frame of %d bytes has %d", n, size)
	}
	if header < blosc2FrameFixed || header > uint64(size) || stored > uint64(size)-header {
		return nil, shardify.Corrupt(-1, "blosc2: header of %d bytes and chunks of %d in a frame of %d", header, stored, size)
	}
	total, chunk, elem := be.Uint64(src[30:]), uint64(be.Uint32(src[58:])), int(be.Uint32(src[48:]))
	if chunk == 0 || total > chunk {
		return nil, shardify.Unsupported("blosc2: a frame of %d bytes in chunks of %d", total, chunk)
	}
	nd, err := newBoxes(src[:header], elem)
	if err != nil {
		return nil, err
	}
	var at [8]byte
	if _, err := blosc2Chunk(at[:], src[header+stored:], true, nil, s); err != nil {
		return nil, err
	}
	off := binary.LittleEndian.Uint64(at[:])
	if off>>63 != 0 {
		if nd == nil {
			if dst, err = declared("blosc2", dst, total, exact); err != nil {
				return nil, err
			}
		}
		return dst, blosc2Fill(dst, int(off>>56&0x7f), elem, nil)
	}
	if off > stored {
		return nil, shardify.Corrupt(-1, "blosc2: chunk at %d of %d bytes", off, stored)
	}
	return blosc2Chunk(dst, src[header+off:header+stored], exact, nd, s)
}

// blosc2Fill makes all values one.
func blosc2Fill(dst []byte, kind, elem int, value []byte) error {
	switch {
	case kind == blosc2Zeros, kind == blosc2Any:
		clear(dst)
		return nil
	case kind == blosc2NaNs && elem == 4:
		value = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
	case kind == blosc2NaNs && elem == 8:
		value = binary.LittleEndian.AppendUint64(nil, 0x7ff8000000000000)
	case kind == blosc2Repeat && elem > 0 && len(value) >= elem:
		value = value[:elem]
	default:
		return shardify.Corrupt(-1, "blosc2: values of kind %d and %d bytes", kind, elem)
	}
	n := copy(dst, value)
	for n < len(dst) {
		n += copy(dst[n:], dst[:n])
	}
	return nil
}

// blosc2Chunk decodes a chunk; nd puts its blocks where they belong.
func blosc2Chunk(dst, src []byte, exact bool, nd *boxes, s *Scratch) ([]byte, error) {
	if len(src) >= bloscHeader && src[0] < 3 && nd == nil {
		return blosc{}.decode(dst, src, exact, s)
	}
	if len(src) >= bloscHeader && (src[0] < 3 || src[0] > 6 || src[2]&5 != 5) { // later versions may come
		return nil, shardify.Unsupported("blosc2: format version %d, flags %#x", src[0], src[2])
	}
	if len(src) < blosc2Header {
		return nil, shardify.Corrupt(-1, "blosc2: %d bytes are not a header", len(src))
	}
	le := binary.LittleEndian
	total, block, stored := uint64(le.Uint32(src[4:])), uint64(le.Uint32(src[8:])), uint64(le.Uint32(src[12:]))
	if stored < blosc2Header || stored > uint64(len(src)) {
		return nil, shardify.Corrupt(-1, "blosc2: stored size %d of %d bytes", stored, len(src))
	}
	c := &chunk2{bloscFrame: bloscFrame{flags: src[2], size: int(src[3]), src: src[:stored]}, filters: src[16:22], params: src[24:30]}
	var err error
	if nd == nil {
		if dst, err = declared("blosc2", dst, total, exact); err != nil {
			return nil, err
		}
	} else if err := nd.fits(len(dst), total, block); err != nil {
		return nil, err
	}
	if kind := int(src[31] >> 4 & 7); kind != 0 {
		return dst, blosc2Fill(dst, kind, c.size, src[blosc2Header:stored])
	}
	if len(dst) == 0 {
		return dst, nil
	}
	if src[31]&1 != 0 {
		return nil, shardify.Unsupported("blosc2: a dictionary")
	}
	if c.size == 0 || block == 0 {
		return nil, shardify.Corrupt(-1, "blosc2: blocks of %d bytes with elements of %d", block, c.size)
	}
	c.block = int(min(block, total))
	n := int((total-1)/uint64(c.block)) + 1
	memcpy := c.flags&bloscMemcpy != 0
	if memcpy && stored-blosc2Header < total || !memcpy && (stored-blosc2Header)/4 < uint64(n) {
		return nil, shardify.Corrupt(-1, "blosc2: data end in the header")
	}
	first := dst
	for i := range n {
		at := i * c.block
		size := min(c.block, int(total)-at)
		to := dst
		if nd != nil {
			to = grow(&s.box, c.block)[:size]
		} else {
			to = dst[at:min(at+size, len(dst))]
		}
		if memcpy {
			copy(to, c.src[blosc2Header+at:])
		} else if err := c.decodeBlock(to, i, uint64(size) < block, first, s); err != nil {
			return nil, err
		}
		if nd != nil {
			if i == 0 && bytes.IndexByte(c.filters, blosc2Delta) >= 0 {
				first = grow(&s.first, c.block)
				copy(first, to)
			}
			nd.place(dst, to, i)
		}
	}
	return dst, nil
}

// chunk2 is a parsed header.
type chunk2 struct {
	bloscFrame
	filters, params []byte
}

// decodeBlock decodes block i; short says that it is the last and not a whole one. first
// is the first block, decoded.
func (c *chunk2) decodeBlock(dst []byte, i int, short bool, first []byte, s *Scratch) error {
	start := uint64(binary.LittleEndian.Uint32(c.src[blosc2Header+4*i:]))
	if start > uint64(len(c.src)) {
		return shardify.Corrupt(-1, "blosc2: block %d begins at %d of %d", i, start, len(c.src))
	}
	streams := 1
	if c.flags&bloscNotSplit == 0 && !short {
		streams = c.size
	}
	if len(dst)%streams != 0 {
		return shardify.Corrupt(-1, "blosc2: block of %d bytes in %d streams", len(dst), streams)
	}
	to, turn := dst, 0
	moves := 0 // filters that need another place
	for _, f := range c.filters {
		if f == blosc2Shuffle || f == blosc2BitShuffle {
			moves++
		}
	}
	place := func() []byte {
		if moves == 0 {
			return dst
		}
		turn ^= 1
		if turn == 1 {
			return grow(&s.block, len(dst))
		}
		return grow(&s.block2, len(dst))
	}
	to = place()
	src, size := c.src[start:], len(dst)/streams
	for j := range streams {
		var err error
		if src, err = c.stream2(to[j*size:(j+1)*size], src, i, s); err != nil {
			return err
		}
	}
	for k := len(c.filters) - 1; k >= 0; k-- {
		switch f := c.filters[k]; f {
		case 0, blosc2TruncPrec:
		case blosc2Shuffle, blosc2BitShuffle:
			moves--
			out := place()
			c.unshuffle(out, to, f, int(c.params[k]), s)
			to = out
		case blosc2Delta:
			c.undelta(to, first, i)
		default:
			return shardify.Unsupported("blosc2: filter %d", f)
		}
	}
	return nil
}

// stream2 decodes one stream and returns what follows.
func (c *chunk2) stream2(dst, src []byte, i int, s *Scratch) ([]byte, error) {
	if len(src) < 4 {
		return nil, shardify.Corrupt(-1, "blosc2: data end in block %d", i)
	}
	n := int64(int32(binary.LittleEndian.Uint32(src)))
	src = src[4:]
	switch {
	case n == 0:
		clear(dst)
		return src, nil
	case n < 0:
		if len(src) < 1 || src[0]&1 == 0 || n < -255 {
			return nil, shardify.Corrupt(-1, "blosc2: a run %d in block %d", n, i)
		}
		for k := range dst {
			dst[k] = byte(-n)
		}
		return src[1:], nil
	case n > int64(len(src)):
		return nil, shardify.Corrupt(-1, "blosc2: stream of %d bytes in block %d, %d are left", n, i, len(src))
	}
	return src[n:], c.stream(dst, src[:n:n], s)
}

func (c *chunk2) unshuffle(dst, src []byte, filter byte, param int, s *Scratch) {
	size := c.size
	if filter == blosc2Shuffle {
		if param > 0 {
			size = param
		}
		if size > 1 {
			unshuffle(dst, src, size)
			return
		}
		copy(dst, src)
		return
	}
	whole := len(dst) / size / 8 * 8 * size
	if whole > 0 {
		bitUnshuffle(dst[:whole], src[:whole], size, &s.bits)
	}
	copy(dst[whole:], src[whole:])
}

// undelta undoes the exclusive or with the first block, or in that with the value before.
func (c *chunk2) undelta(b, first []byte, i int) {
	step := c.size
	switch {
	case step == 1 || step == 2 || step == 4 || step == 8:
	case step%8 == 0:
		step = 8
	default:
		step = 1
	}
	if i == 0 {
		for k := step; k < len(b); k++ {
			b[k] ^= b[k-step]
		}
		return
	}
	for k := range b {
		b[k] ^= first[k]
	}
}

// boxes are the shapes of a chunk whose blocks are boxes.
type boxes struct {
	elem         int
	chunk, block []int // in elements
	grid         []int // blocks along each axis
}

// newBoxes finds the layer "b2nd" of a frame's header, nil without one:
//
//	[version, rank, shape: i64..., chunk: i32..., block: i32..., ...]
func newBoxes(header []byte, elem int) (*boxes, error) {
	bad := shardify.Corrupt(-1, "blosc2: the shapes of a frame make no sense")
	at := bytes.Index(header[blosc2FrameFixed:], []byte("\xa4b2nd\xd2"))
	if at < 0 {
		return nil, nil
	}
	at += blosc2FrameFixed + 6
	if at+4 > len(header) {
		return nil, bad
	}
	off := uint64(binary.BigEndian.Uint32(header[at:]))
	if off+5 > uint64(len(header)) || header[off] != 0xc6 {
		return nil, bad
	}
	b := header[off+5:]
	if len(b) < 3 {
		return nil, bad
	}
	rank := int(b[2])
	if rank == 0 || rank > blosc2MaxRank || elem <= 0 || len(b) < 3+1+9*rank+1+5*rank+1+5*rank {
		return nil, bad
	}
	n := &boxes{elem: elem}
	b = b[3+1+9*rank:]
	for k := range 2 {
		b = b[1:]
		for range rank {
			v := int(int32(binary.BigEndian.Uint32(b[1:])))
			if b = b[5:]; v <= 0 {
				return nil, bad
			}
			if k == 0 {
				n.chunk = append(n.chunk, v)
			} else {
				n.block = append(n.block, v)
			}
		}
	}
	for i, c := range n.chunk {
		n.grid = append(n.grid, (c-1)/n.block[i]+1)
	}
	return n, nil
}

// fits compares the shapes with the sizes of the chunk.
func (n *boxes) fits(want int, total, block uint64) error {
	product := func(dims []int) (p uint64) {
		p = uint64(n.elem)
		for _, d := range dims {
			if p *= uint64(d); p > math.MaxUint32 {
				return math.MaxUint64
			}
		}
		return p
	}
	boxed := product(n.block)
	all := boxed
	for _, g := range n.grid {
		if all *= uint64(g); all > math.MaxUint32 {
			break
		}
	}
	if product(n.chunk) != uint64(want) || boxed != block || all != total {
		return shardify.Corrupt(-1, "blosc2: a chunk of %v in blocks of %v for %d bytes, its header says %d in blocks of %d", n.chunk, n.block, want, total, block)
	}
	return nil
}

// place copies block i to its box.
func (n *boxes) place(dst, src []byte, i int) {
	rank := len(n.chunk)
	var first, count, at [blosc2MaxRank]int
	for d := rank - 1; d >= 0; d-- {
		first[d] = i % n.grid[d] * n.block[d]
		count[d] = min(n.block[d], n.chunk[d]-first[d])
		i /= n.grid[d]
	}
	run := count[rank-1] * n.elem
	for {
		to, from := 0, 0
		for d := range rank {
			to, from = to*n.chunk[d]+first[d]+at[d], from*n.block[d]+at[d]
		}
		copy(dst[to*n.elem:][:run], src[from*n.elem:])
		d := rank - 2
		for ; d >= 0; d-- {
			if at[d]++; at[d] < count[d] {
				break
			}
			at[d] = 0
		}
		if d < 0 {
			return
		}
	}
}
