package jpeg

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/shardify/shardify"
)

// Encoder encodes images, one after the other, to the bytes that Pillow writes with the
// same quality and sampling: baseline, with the tables of the standard. The zero value
// is ready. It keeps its buffers, and is for one goroutine.
type Encoder struct {
	made   int // the quality of the tables; 0: none
	quant  [2][64]byte
	divide [2]divisors
	codes  [4][256]uint32 // by symbol: code, room for the value, and how many bits both are in 6 bits

	fx, fy int // pixels that a sample of chroma stands for
	memory []byte
	full   [4][]byte // rows of chroma before they are halved: Cb and Cr of an even and an odd row
	planes [3]encodedPlane
	blocks [][2][64]int16 // of an MCU row, in pairs
	sets   [][2]uint64    // which of their coefficients are not zero

	out []byte
	acc uint64 // bits not written, at the bottom
	n   uint
}

type encodedPlane struct {
	strip  []byte // an MCU row
	stride int
	h, v   int
	bw, bh int // blocks that are not all padding
	pairs  int // of a row of them
	first  int // pair in Encoder.blocks
	table  int
	dc     int32
}

// Sampling says which pixels of colour images share their chroma.
type Sampling byte

// The samplings: means of squares of four pixels, of pairs beside each other, every pixel.
const (
	Sampling420 Sampling = iota
	Sampling422
	Sampling444
)

// Encoding says how an image is encoded.
type Encoding struct {
	Quality int // 1 to 100
	Sampling
}

// Encode appends an encoded image to dst: w x h pixels of channels bytes, 3 (RGB) or 1
// (grey), row by row.
func (e *Encoder) Encode(dst, pix []byte, w, h, channels int, how Encoding) ([]byte, error) {
	if w < 1 || h < 1 || w > 65500 || h > 65500 {
		return dst, shardify.Unsupported("JPEG of %d x %d pixels; there are 1 to 65500", w, h)
	}
	if channels != 1 && channels != 3 || len(pix) != w*h*channels {
		return dst, shardify.Mismatch("%d bytes for %d x %d pixels of %d channels", len(pix), w, h, channels)
	}
	if how.Quality < 1 || how.Quality > 100 || how.Sampling > Sampling444 {
		return dst, shardify.Mismatch("a quality of %d, sampling %d", how.Quality, how.Sampling)
	}
	e.tables(how.Quality)
	e.fx, e.fy = 1, 1
	if channels == 3 && how.Sampling != Sampling444 {
		e.fx = 2
		if how.Sampling == Sampling420 {
			e.fy = 2
		}
	}
	e.out = dst
	e.headers(w, h, channels)
	mcusX, mcusY := above(w, 8*e.fx), above(h, 8*e.fy)
	e.layout(w, h, channels, mcusX)
	for my := range mcusY {
		e.convert(pix, w, h, channels, my)
		for i := range channels {
			e.transform(&e.planes[i], my)
		}
		for mx := range mcusX {
			for i := range channels {
				e.mcu(&e.planes[i], mx, my)
			}
		}
	}
	e.flush()
	out := append(e.out, 0xff, markerEOI)
	e.out = nil
	return out, nil
}

// tables prepares a quality as libjpeg does.
func (e *Encoder) tables(quality int) {
	if e.made == quality {
		return
	}
	if e.made == 0 {
		for t, def := range standardCodes {
			at, code := 16, uint32(0)
			for l := range 16 {
				for range def[l] {
					size := uint32(def[at] & 15)
					e.codes[t][def[at]] = code<<(size+6) | (uint32(l+1) + size)
					code, at = code+1, at+1
				}
				code <<= 1
			}
		}
	}
	s := 200 - 2*quality
	if quality < 50 {
		s = 5000 / quality
	}
	for t := range e.quant {
		for k, q := range standardQuant[t] {
			e.quant[t][k] = byte(max(1, min(255, (int(q)*s+50)/100)))
		}
		e.divide[t].set(&e.quant[t])
	}
	e.made = quality
}

func (e *Encoder) segment(marker byte, body ...byte) {
	e.out = append(e.out, 0xff, marker, byte((len(body)+2)>>8), byte(len(body)+2))
	e.out = append(e.out, body...)
}

func (e *Encoder) headers(w, h, channels int) {
	e.out = append(e.out, 0xff, 0xd8)
	e.segment(0xe0, 'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0)
	kinds := min(channels, 2)
	for t := range kinds {
		var body [65]byte
		body[0] = byte(t)
		for k := range 64 {
			body[1+k] = e.quant[t][natural[k]]
		}
		e.segment(0xdb, body[:]...)
	}
	frame := [15]byte{8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), byte(channels)}
	scan := [10]byte{byte(channels)}
	for i := range channels {
		f, t := e.fx<<4|e.fy, 0
		if i > 0 {
			f, t = 0x11, 1
		}
		copy(frame[6+3*i:], []byte{byte(i + 1), byte(f), byte(t)})
		copy(scan[1+2*i:], []byte{byte(i + 1), byte(t<<4 | t)})
	}
	e.segment(0xc0, frame[:6+3*channels]...)
	for t := range 2 * kinds {
		var body [17 + 256]byte
		body[0] = byte(t>>1 | t&1<<4)
		e.segment(0xc4, body[:1+copy(body[1:], standardCodes[t])]...)
	}
	copy(scan[1+2*channels:], []byte{0, 63, 0})
	e.segment(markerSOS, scan[:4+2*channels]...)
}

// layout gives the planes their memory: an MCU row of each, and four rows of chroma that
// are to be halved.
func (e *Encoder) layout(w, h, channels, mcusX int) {
	width := mcusX * 8 * e.fx
	stride := width + margin
	n := stride * (8*e.fy + 8 + 8 + len(e.full))
	if cap(e.memory) < n {
		e.memory = make([]byte, n)
	}
	left, pairs := e.memory[:n], 0
	for i := range e.full {
		e.full[i], left = left[:stride], left[stride:]
	}
	for i := range channels {
		p := &e.planes[i]
		*p = encodedPlane{h: e.fx, v: e.fy, stride: stride, bw: above(w, 8), bh: above(h, 8)}
		if i > 0 {
			p.h, p.v, p.table = 1, 1, 1
			p.bw, p.bh = above(w, 8*e.fx), above(h, 8*e.fy)
		}
		p.strip, left = left[:stride*8*p.v], left[stride*8*p.v:]
		p.pairs, p.first = above(p.bw, 2), pairs
		pairs += p.v * p.pairs
	}
	if len(e.blocks) < pairs {
		e.blocks, e.sets = make([][2][64]int16, pairs), make([][2]uint64, pairs)
	}
	e.acc, e.n = 0, 0
}

// row is row r of the strip.
func (p *encodedPlane) row(r int) []byte { return p.strip[r*p.stride : (r+1)*p.stride] }

// convert fills the strips with MCU row my. Columns beyond the image repeat its last
// pixel, rows the last row, chroma rows the last that was halved.
func (e *Encoder) convert(pix []byte, w, h, channels, my int) {
	y, cb, cr := &e.planes[0], &e.planes[1], &e.planes[2]
	width := y.stride - margin
	for r := range 8 * e.fy {
		at := my*8*e.fy + r
		if at >= h && at%e.fy == 0 { // all below is padding
			for i := range channels {
				p := &e.planes[i]
				for k := r * p.v / e.fy; k < 8*p.v; k++ {
					copy(p.row(k), p.row(k-1))
				}
			}
			return
		}
		src := pix[min(at, h-1)*w*channels:][:w*channels]
		if channels == 1 {
			copy(y.row(r), src)
			extend(y.row(r), w, width)
			continue
		}
		a, b := e.full[at%e.fy*2], e.full[at%e.fy*2+1]
		if e.fx == 1 {
			a, b = cb.row(r), cr.row(r)
		}
		rgbToYCC(y.row(r), a, b, src, w)
		extend(y.row(r), w, width)
		extend(a, w, width)
		extend(b, w, width)
		switch {
		case e.fx == 1:
		case e.fy == 1:
			halveRow(cb.row(r), a, width/2)
			halveRow(cr.row(r), b, width/2)
		case at%2 == 1:
			halve(cb.row(r/2), e.full[0], e.full[2], width/2)
			halve(cr.row(r/2), e.full[1], e.full[3], width/2)
		}
	}
}

// extend repeats the last of w samples.
func extend(line []byte, w, width int) {
	for x := w; x < width; x++ {
		line[x] = line[w-1]
	}
}

// transform transforms and quantises the blocks of a plane in an MCU row.
func (e *Encoder) transform(p *encodedPlane, my int) {
	for v := range min(p.v, p.bh-my*p.v) {
		for k := range p.pairs {
			at := p.first + v*p.pairs + k
			forwardPair(&e.blocks[at], &e.sets[at], p.strip[v*8*p.stride+16*k:], p.stride, &e.divide[p.table])
		}
	}
}

// mcu encodes the blocks of a plane in one MCU.
func (e *Encoder) mcu(p *encodedPlane, mx, my int) {
	for v := range p.v {
		for h := range p.h {
			x := mx*p.h + h
			if x >= p.bw || my*p.v+v >= p.bh {
				e.block(p, &e.blocks[0][0], 0, p.dc) // padding: the block before, without AC
				continue
			}
			at := p.first + v*p.pairs + x/2
			c := &e.blocks[at][x&1]
			e.block(p, c, e.sets[at][x&1], int32(c[0]))
		}
	}
}

// inFile says, for the eight bits of each row of a block, which they are in the order of
// the file.
var inFile = func() (out [8][256]uint64) {
	for k := range 64 {
		row, bit := natural[k]>>3, 1<<(natural[k]&7)
		for b := range 256 {
			if b&bit != 0 {
				out[row][b] |= 1 << k
			}
		}
	}
	return out
}()

// block writes one block: set says which of its coefficients are not zero.
func (e *Encoder) block(p *encodedPlane, c *[64]int16, set uint64, dc int32) {
	order := uint64(0)
	for r := range inFile {
		order |= inFile[r][byte(set>>(8*r))]
	}
	order &^= 1
	out, at := slices.Grow(e.out, maxBlock)[:len(e.out)+maxBlock], len(e.out)
	acc, n := e.acc, e.n
	codes := &e.codes[2*p.table]
	m := magnitudes[(dc-p.dc)&4095]
	p.dc = dc
	code := codes[uint8(m)]
	add, length := uint64(code>>6|m>>8), uint(code&63)
	if n += length; n > 64 {
		n -= 64
		at = write(out, at, acc<<((length-n)&63)|add>>(n&63))
		acc = add
	} else {
		acc = acc<<(length&63) | add
	}
	codes = &e.codes[2*p.table+1]
	last := 0
	for ; order != 0; order &= order - 1 {
		k := bits.TrailingZeros64(order)
		run := k - last - 1
		last = k
		for run > 15 {
			zeros := codes[0xf0]
			add, length := uint64(zeros>>6), uint(zeros&63)
			if n += length; n > 64 {
				n -= 64
				at = write(out, at, acc<<((length-n)&63)|add>>(n&63))
				acc = add
			} else {
				acc = acc<<(length&63) | add
			}
			run -= 16
		}
		m := magnitudes[c[natural[k&63]&63]&4095]
		code := codes[uint8(run<<4|int(m&255))]
		add, length := uint64(code>>6|m>>8), uint(code&63)
		if n += length; n > 64 {
			n -= 64
			at = write(out, at, acc<<((length-n)&63)|add>>(n&63))
			acc = add
		} else {
			acc = acc<<(length&63) | add
		}
	}
	if last != 63 {
		end := codes[0]
		add, length := uint64(end>>6), uint(end&63)
		if n += length; n > 64 {
			n -= 64
			at = write(out, at, acc<<((length-n)&63)|add>>(n&63))
			acc = add
		} else {
			acc = acc<<(length&63) | add
		}
	}
	e.acc, e.n, e.out = acc, n, out[:at]
}

// maxBlock is more bytes than a block takes: 64 symbols of at most 16 + 11 bits, each FF
// with a 00.
const maxBlock = 512

// magnitudes are values as a file has them, by their lower 12 bits: how many bits there
// are, and from bit 8 on these bits; negative values are less one.
var magnitudes = func() (out [4096]uint32) {
	for v := -2047; v < 2048; v++ {
		size := bits.Len32(uint32(max(v, -v)))
		out[v&4095] = uint32(size) | uint32(v+v>>31)&(1<<size-1)<<8
	}
	return out
}()

// write puts eight bytes to out[at:], and returns where they end. FF is followed by 00.
func write(out []byte, at int, v uint64) int {
	if (^v-0x0101010101010101)&v&0x8080808080808080 == 0 { // no byte is FF
		binary.BigEndian.PutUint64(out[at:], v)
		return at + 8
	}
	for shift := 56; shift >= 0; shift -= 8 {
		b := byte(v >> shift)
		out[at] = b
		at++
		if b == 0xff {
			out[at] = 0
			at++
		}
	}
	return at
}

// flush writes what is left, and fills the last byte with ones.
func (e *Encoder) flush() {
	if fill := -e.n & 7; fill > 0 {
		e.acc, e.n = e.acc<<fill|(1<<fill-1), e.n+fill
	}
	for ; e.n > 0; e.n -= 8 {
		b := byte(e.acc >> (e.n - 8))
		e.out = append(e.out, b)
		if b == 0xff {
			e.out = append(e.out, 0)
		}
	}
}

// rgbToYCCGo converts n pixels.
func rgbToYCCGo(y, cb, cr, src []byte, n int) {
	y, cb, cr, src = y[:n], cb[:n], cr[:n], src[:3*n]
	for x := range y {
		r, g, b := int32(src[3*x]), int32(src[3*x+1]), int32(src[3*x+2])
		y[x] = byte((19595*r + 38470*g + 7471*b + 1<<15) >> 16)
		cb[x] = byte((-11059*r - 21709*g + 1<<15*b + 128<<16 + 1<<15 - 1) >> 16)
		cr[x] = byte((1<<15*r - 27439*g - 5329*b + 128<<16 + 1<<15 - 1) >> 16)
	}
}

// halveRowGo makes n samples of pairs; halves are rounded down and up in turn.
func halveRowGo(dst, src []byte, n int) {
	dst, src = dst[:n], src[:2*n]
	for i := range dst {
		dst[i] = byte((uint(src[2*i]) + uint(src[2*i+1]) + uint(i&1)) >> 1)
	}
}

// halveGo makes n samples of squares of four; halves are rounded down and up in turn.
func halveGo(dst, a, b []byte, n int) {
	dst, a, b = dst[:n], a[:2*n], b[:2*n]
	for i := range dst {
		dst[i] = byte((uint(a[2*i]) + uint(a[2*i+1]) + uint(b[2*i]) + uint(b[2*i+1]) + 1 + uint(i&1)) >> 2)
	}
}
