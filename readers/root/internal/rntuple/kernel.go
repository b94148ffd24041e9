package rntuple

import (
	"github.com/shardify/shardify"
)

// Kernels turn elements [from, from+len(dst)) of a page of n elements into values.
// raw is the page's bytes, of the right length; dst is aligned to its elements.

// bits expands LSB-first bits to bytes of 0 and 1.
func bits(dst, raw []byte, from int) {
	for len(dst) > 0 && from&7 != 0 {
		dst[0] = raw[from>>3] >> (from & 7) & 1
		dst, from = dst[1:], from+1
	}
	raw = raw[from>>3:]
	for len(dst) >= 8 {
		// Bit k of the byte to byte k: keep it alone there, and carry it to the top.
		x := uint64(raw[0]) * 0x0101010101010101 & 0x8040201008040201
		le.PutUint64(dst, (x+0x7f7f7f7f7f7f7f7f)>>7&0x0101010101010101)
		dst, raw = dst[8:], raw[1:]
	}
	for i := range dst {
		dst[i] = raw[0] >> i & 1
	}
}

// spread puts the lower four bytes into the even bytes of a word.
func spread(x uint64) uint64 {
	x = (x | x<<16) & 0x0000ffff0000ffff
	return (x | x<<8) & 0x00ff00ff00ff00ff
}

// unsplit16 joins two planes of bytes.
func unsplit16(dst, raw []byte, n, from int) {
	i := from
	for ; len(dst) >= 16; i += 8 {
		p := raw[i : i+n+8]
		x, y := le.Uint64(p), le.Uint64(p[n:])
		o := (*[16]byte)(dst)
		le.PutUint64(o[0:], spread(x&even32)|spread(y&even32)<<8)
		le.PutUint64(o[8:], spread(x>>32)|spread(y>>32)<<8)
		dst = dst[16:]
	}
	for ; len(dst) >= 2; i++ {
		dst[0], dst[1] = raw[i], raw[n+i]
		dst = dst[2:]
	}
}

// swap exchanges the odd lanes of x with the even lanes of y; lanes are shift bits
// wide and mask has the even ones.
func swap(x, y uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (x>>shift ^ y) & mask
	return x ^ t<<shift, y ^ t
}

const (
	even8  = 0x00ff00ff00ff00ff
	even16 = 0x0000ffff0000ffff
	even32 = 0x00000000ffffffff
)

// unsplit32 joins four planes, eight elements at a time: a transposition of a
// matrix of bytes in words.
func unsplit32(dst, raw []byte, n, from int) {
	i := from
	for ; len(dst) >= 32; i += 8 {
		// Each plane begins n bytes after the one before; one check for all of them.
		p := raw[i : i+3*n+8]
		a, b, c, d := le.Uint64(p), le.Uint64(p[n:]), le.Uint64(p[2*n:]), le.Uint64(p[3*n:])
		a, b = swap(a, b, 8, even8)
		c, d = swap(c, d, 8, even8)
		a, c = swap(a, c, 16, even16) // elements 0 and 4, 2 and 6
		b, d = swap(b, d, 16, even16) // 1 and 5, 3 and 7
		o := (*[32]byte)(dst)
		le.PutUint64(o[0:], a&even32|b<<32)
		le.PutUint64(o[8:], c&even32|d<<32)
		le.PutUint64(o[16:], a>>32|b&^even32)
		le.PutUint64(o[24:], c>>32|d&^even32)
		dst = dst[32:]
	}
	for ; len(dst) >= 4; i++ {
		le.PutUint32(dst, uint32(raw[i])|uint32(raw[n+i])<<8|uint32(raw[2*n+i])<<16|uint32(raw[3*n+i])<<24)
		dst = dst[4:]
	}
}

// unsplit64 is the same for eight planes.
func unsplit64(dst, raw []byte, n, from int) {
	i := from
	for ; len(dst) >= 64; i += 8 {
		p := raw[i : i+7*n+8]
		a, b, c, d := le.Uint64(p), le.Uint64(p[n:]), le.Uint64(p[2*n:]), le.Uint64(p[3*n:])
		e, f, g, h := le.Uint64(p[4*n:]), le.Uint64(p[5*n:]), le.Uint64(p[6*n:]), le.Uint64(p[7*n:])
		a, b = swap(a, b, 8, even8)
		c, d = swap(c, d, 8, even8)
		e, f = swap(e, f, 8, even8)
		g, h = swap(g, h, 8, even8)
		a, c = swap(a, c, 16, even16)
		b, d = swap(b, d, 16, even16)
		e, g = swap(e, g, 16, even16)
		f, h = swap(f, h, 16, even16)
		a, e = swap(a, e, 32, even32)
		b, f = swap(b, f, 32, even32)
		c, g = swap(c, g, 32, even32)
		d, h = swap(d, h, 32, even32)
		o := (*[64]byte)(dst)
		le.PutUint64(o[0:], a)
		le.PutUint64(o[8:], b)
		le.PutUint64(o[16:], c)
		le.PutUint64(o[24:], d)
		le.PutUint64(o[32:], e)
		le.PutUint64(o[40:], f)
		le.PutUint64(o[48:], g)
		le.PutUint64(o[56:], h)
		dst = dst[64:]
	}
	for ; len(dst) >= 8; i++ {
		var v uint64
		for k := range 8 {
			v |= uint64(raw[k*n+i]) << (8 * k)
		}
		le.PutUint64(dst, v)
		dst = dst[8:]
	}
}

// unzigzag decodes in place; two or four lanes of a word at a time where they fit.
func unzigzag(dst []byte, width int) {
	switch width {
	case 2:
		lanes(dst, 0x0001000100010001, 0xffff)
		for i := len(dst) &^ 7; i < len(dst); i += 2 {
			v := le.Uint16(dst[i:])
			le.PutUint16(dst[i:], v>>1^-(v&1))
		}
	case 4:
		lanes(dst, 0x0000000100000001, 0xffffffff)
		for i := len(dst) &^ 7; i < len(dst); i += 4 {
			v := le.Uint32(dst[i:])
			le.PutUint32(dst[i:], v>>1^-(v&1))
		}
	case 8:
		v := shardify.View[uint64](dst)
		for i, x := range v {
			v[i] = x>>1 ^ -(x & 1)
		}
	}
}

// lanes is unzigzag of several numbers in one word: ones has the lowest bit of each
// lane, full is one lane of ones.
func lanes(dst []byte, ones, full uint64) {
	low := ^(ones << (laneOf(full) - 1)) // without the bits that a shift brings from the next lane
	for ; len(dst) >= 8; dst = dst[8:] {
		x := le.Uint64(dst)
		le.PutUint64(dst, x>>1&low^(x&ones)*full)
	}
}

func laneOf(full uint64) uint {
	if full == 0xffff {
		return 16
	}
	return 32
}

// undelta makes end offsets of differences, in place. sum is that of the elements
// of the page in front of dst; the one behind it is returned.
func undelta(dst []byte, width int, sum uint64) uint64 {
	if width == 8 {
		v := shardify.View[uint64](dst)
		for i, d := range v {
			sum += d
			v[i] = sum
		}
		return sum
	}
	v := shardify.View[uint32](dst)
	for i, d := range v {
		sum += uint64(d)
		v[i] = uint32(sum)
	}
	return sum
}

// before is the sum of the first k elements of a page of differences.
func before(raw []byte, n, k, width int) uint64 {
	var s uint64
	for j := range width {
		var plane uint64
		for _, b := range raw[j*n:][:k] {
			plane += uint64(b)
		}
		s += plane << (8 * j)
	}
	return s
}

// element reads element i of a page of b-bit numbers.
func element(raw []byte, i, b int) uint32 {
	at := i * b
	var w uint64
	if k := at >> 3; k+8 <= len(raw) {
		w = le.Uint64(raw[k:])
	} else {
		var last [8]byte
		copy(last[:], raw[k:])
		w = le.Uint64(last[:])
	}
	return uint32(w >> (at & 7) & (1<<b - 1))
}

func truncated(dst []uint32, raw []byte, from, b int) {
	for i := range dst {
		dst[i] = element(raw, from+i, b) << (32 - b)
	}
}

// quantised computes in float64 whatever T is, as the writer does. The product is
// rounded by itself: a fused multiply-add gives other last bits on some machines.
func quantised[T float32 | float64](dst []T, raw []byte, from int, c *Column) {
	unit := (c.Max - c.Min) / float64(uint64(1)<<c.Bits-1)
	for i := range dst {
		dst[i] = T(c.Min + float64(float64(element(raw, from+i, c.Bits))*unit))
	}
}
