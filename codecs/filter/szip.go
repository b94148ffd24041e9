package filter

import (
	"encoding/binary"
	"math/bits"

	"github.com/shardify/shardify"
)

// szip is filter 4: the lossless compression of CCSDS 121.0-B, after the size of the
// data as u32. Client data: options, samples of a block, bits of a sample, samples of
// a line. Samples of 32 and 64 bits are bytes, shuffled.
//
// A line is coded in blocks; the last is filled up. With the option of a predictor,
// each line begins with a sample as it is, and what is coded of the others is the
// difference to the sample before them, as a number without a sign. A block begins
// with its code, of 3 bits for samples of up to 8 bits, 4 of up to 16, 5 above:
//
//	0, bit 0    blocks of zeros; a unary number says how many
//	0, bit 1    pairs of numbers, a unary number for each pair
//	k+1         a unary number for the bits above the lowest k of each, then those bits
//	all ones    the numbers as they are
//
// The sample of the line's begin follows the code. Unary numbers are zeros ended by a
// one. All bits are stored from the most significant one.
type szip struct {
	predict bool
	big     bool // order of the bytes of a sample
	bits    int  // of a sample as it is coded
	size    int  // bytes of a sample as it is coded
	planes  int  // bytes of an element whose bytes are samples, else 1
	block   int  // samples
	line    int
}

const (
	szipMSB     = 16
	szipPredict = 32

	szipMaxBlock = 32
	szipMaxLine  = 4096
	// szipMaxLeft is the bytes that may fill up a chunk.
	szipMaxLeft = 3
	// szipSegment is the blocks that "all that remain" is about.
	szipSegment = 64
)

func newSzip(f *Spec, elemSize int) (stage, error) {
	if len(f.Client) < 4 {
		return nil, shardify.Corrupt(-1, "szip: %d parameters", len(f.Client))
	}
	options, block, width, line := f.Client[0], f.Client[1], f.Client[2], f.Client[3]
	if block < 2 || block > szipMaxBlock || block%2 != 0 || line < 1 || line > szipMaxLine {
		return nil, shardify.Corrupt(-1, "szip: blocks of %d samples in lines of %d", block, line)
	}
	z := szip{
		predict: options&szipPredict != 0, big: options&szipMSB != 0,
		bits: int(width), planes: 1, block: int(block), line: int(line),
	}
	switch {
	case width >= 1 && width <= 8:
		z.size = 1
	case width > 8 && width <= 16:
		z.size = 2
	case width > 16 && width <= 24:
		z.size = 4
	case width == 32 || width == 64:
		z.bits, z.size, z.planes = 8, 1, int(width/8)
	default:
		return nil, shardify.Corrupt(-1, "szip: samples of %d bits", width)
	}
	switch {
	case elemSize == 3 && z.size == 4:
		// It compresses them as if they had 4 bytes of 24 bits.
		return nil, shardify.Unsupported("szip of elements of 3 bytes: the HDF5 library loses every fourth byte when it writes them")
	case elemSize%(z.size*z.planes) != 0:
		return nil, shardify.Corrupt(-1, "szip: samples of %d bits in elements of %d bytes", width, elemSize)
	}
	return z, nil
}

func (szip) encoded(n int) (int, bool) { return expanded(n) }

func (z szip) decode(dst, src []byte, exact bool, s *Scratch) ([]byte, error) {
	if len(src) < 4 {
		return nil, shardify.Corrupt(-1, "szip: %d bytes, the size takes 4", len(src))
	}
	n := int64(binary.LittleEndian.Uint32(src))
	if n > int64(len(dst)) || exact && n < int64(len(dst)) || n%int64(z.size*z.planes) != 0 {
		return nil, shardify.Corrupt(-1, "szip: %d bytes where %d are expected", n, len(dst))
	}
	dst = dst[:n]
	out := dst
	if z.planes > 1 {
		out = grow(&s.block, len(dst))
	}
	d := szipDecoder{szip: z, src: src[4:], max: 1<<z.bits - 1, code: 3}
	if z.bits > 8 {
		d.code = 4
	}
	if z.bits > 16 {
		d.code = 5
	}
	for at := 0; at < len(out); {
		n := min(z.line*z.size, len(out)-at)
		if !d.readLine(out[at : at+n]) {
			return nil, shardify.Corrupt(-1, "szip: data make no sense after %d decoded bytes of %d", at, len(dst))
		}
		at += n
	}
	// Behind a line that is cut, its other blocks may follow.
	if left := len(d.src) - (d.at+7)/8; left > szipMaxLeft && len(out)%(z.line*z.size) == 0 {
		return nil, shardify.Corrupt(-1, "szip: %d bytes behind the data", left)
	}
	if z.planes > 1 {
		unshuffle(dst, out, z.planes)
	}
	return dst, nil
}

// szipDecoder decodes the lines of one chunk.
type szipDecoder struct {
	szip
	src  []byte
	at   int    // in bits
	max  uint32 // of a sample
	code int    // bits of a block's code
	last uint32 // the sample before
	vals [szipMaxBlock]uint32
}

// peek returns the bits from d.at on, at least 57, with zeros behind the end.
func (d *szipDecoder) peek() uint64 {
	i, skip := d.at>>3, d.at&7
	if i+8 <= len(d.src) {
		return binary.BigEndian.Uint64(d.src[i:]) << skip
	}
	var v uint64
	for k := range 8 {
		v <<= 8
		if i+k < len(d.src) {
			v |= uint64(d.src[i+k])
		}
	}
	return v << skip
}

// read returns the next n <= 32 bits. Behind the end it counts on: ended reports that.
func (d *szipDecoder) read(n int) uint32 {
	v := d.peek() >> 1 >> (63 - n)
	d.at += n
	return uint32(v)
}

// unary returns the next unary number.
func (d *szipDecoder) unary() uint64 {
	n := 0
	for !d.ended() {
		w := d.peek()
		zeros := bits.LeadingZeros64(w)
		if w != 0 {
			d.at += zeros + 1
			return uint64(n + zeros)
		}
		d.at += 56
		n += 56
	}
	return 0
}

// ended reports whether bits behind the end were read.
func (d *szipDecoder) ended() bool { return d.at > 8*len(d.src) }

// readLine decodes the samples of a line, or of the part of it that is wanted, and reports whether
// they are valid.
func (d *szipDecoder) readLine(dst []byte) bool {
	blocks := (d.line + d.block - 1) / d.block
	for b := 0; len(dst) > 0; {
		vals, run, ok := d.readBlock(b, blocks)
		if !ok || d.ended() {
			return false
		}
		b += run
		if run > 1 || vals == nil {
			zeros := min(run*d.block*d.size, len(dst))
			d.fill(dst[:zeros], d.zero())
			dst = dst[zeros:]
			continue
		}
		if d.predict {
			d.unmap(vals, b == 1)
		}
		n := min(len(vals), len(dst)/d.size)
		d.store(dst, vals[:n])
		dst = dst[n*d.size:]
	}
	return true
}

// readBlock reads block b of the blocks of a line. Without numbers it stands for a
// run of blocks whose numbers are zero. At the begin of a line, the first of the
// numbers means the sample that is stored unchanged, now d.last.
func (d *szipDecoder) readBlock(b, blocks int) (vals []uint32, run int, ok bool) {
	first := 0
	code := d.read(d.code)
	pairs := code == 0 && d.read(1) == 1
	if d.predict && b == 0 {
		d.last, first = d.read(d.bits), 1
	}
	vals = d.vals[:d.block]
	vals[0] = 0
	var all uint32
	switch {
	case pairs:
		all = d.readPairs(vals, first)
	case code == 0:
		run = d.zeroBlocks(b, blocks)
		return nil, run, b+run <= blocks
	case code == 1<<d.code-1:
		for i := first; i < len(vals); i++ {
			vals[i] = d.read(d.bits)
		}
	default:
		all = d.readSplit(vals[first:], int(code)-1)
	}
	return vals, 1, all <= d.max
}

// zeroBlocks reads how many blocks are zero: 1 to 4, all that remain of the segment,
// 5 and more.
func (d *szipDecoder) zeroBlocks(b, blocks int) int {
	switch n := d.unary(); {
	case n < 4:
		return int(n) + 1
	case n == 4:
		return min(blocks-b, szipSegment-b%szipSegment)
	default:
		return int(min(n, szipMaxLine))
	}
}

// readPairs reads the numbers of pairs: the pair (a, b) is (a+b)(a+b+1)/2 + b. It
// returns all of them, one over the other.
func (d *szipDecoder) readPairs(vals []uint32, first int) (all uint32) {
	for i := 0; i < len(vals); i += 2 {
		m := d.unary()
		if m > 1<<40 || d.ended() {
			return ^uint32(0)
		}
		sum := uint64(0)
		for (sum+1)*(sum+2)/2 <= m {
			sum++
		}
		second := m - sum*(sum+1)/2
		vals[i+1] = uint32(second)
		if i >= first {
			vals[i] = uint32(sum - second)
		}
		all |= uint32(sum)
	}
	return all
}

// readSplit reads numbers whose lowest k bits are stored as they are. It returns all
// of them, one over the other.
func (d *szipDecoder) readSplit(vals []uint32, k int) (all uint32) {
	high := uint64(d.max >> k)
	for i := range vals {
		v := d.unary()
		if v > high {
			return ^uint32(0)
		}
		vals[i] = uint32(v) << k
	}
	if k > 0 {
		for i := range vals {
			vals[i] |= d.read(k)
			all |= vals[i]
		}
	}
	return all
}

// unmap makes samples of numbers. Small ones are differences to the sample before, in
// turn above and below it, as far as both sides have samples; the rest are on one side.
func (d *szipDecoder) unmap(vals []uint32, start bool) {
	x := d.last
	first := 0
	if start {
		vals[0], first = x, 1
	}
	for i := first; i < len(vals); i++ {
		v := vals[i]
		switch side := min(x, d.max-x); {
		case v > 2*side && side == x:
			x = v
		case v > 2*side:
			x = d.max - v
		case v&1 == 0:
			x += v / 2
		default:
			x -= (v + 1) / 2
		}
		vals[i] = x
	}
	d.last = x
}

// zero is the sample of the number 0.
func (d *szipDecoder) zero() uint32 {
	if d.predict {
		return d.last
	}
	return 0
}

// fill stores v over and over.
func (d *szipDecoder) fill(dst []byte, v uint32) {
	if v == 0 {
		clear(dst)
		return
	}
	for i := 0; i < len(dst); i += d.size {
		put(dst[i:], uint64(v), d.size, d.big)
	}
}

// store stores samples.
func (d *szipDecoder) store(dst []byte, vals []uint32) {
	if d.size == 1 {
		dst = dst[:len(vals)]
		for i, v := range vals {
			dst[i] = byte(v)
		}
		return
	}
	for i, v := range vals {
		put(dst[i*d.size:], uint64(v), d.size, d.big)
	}
}
