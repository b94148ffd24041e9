package filter

import "encoding/binary"

// bitUnshuffle gathers bit planes to elements: of n elements of the given size,
// bit k of byte m of row 8j+i is bit i of byte j of element 8m+k, each row having
// n/8 bytes. len(dst) is len(src) and a multiple of 8*size. tmp is scratch.
//
// It goes in two steps. The rows of a byte of the elements are turned, eight bytes
// each at a time, to eight words whose byte m is that byte of element 8m+k; then
// these are the planes of "elements" that hold eight of ours each.
func bitUnshuffle(dst, src []byte, size int, tmp *[]byte) {
	row := len(src) / size / 8
	if row < 8 {
		bitUnshuffleFew(dst, src, size, row)
		return
	}
	const cached = 8 << 10
	part := min(row, max(8, cached/(8*size)&^7))
	t := grow(tmp, part*8*size)
	for at := 0; at < row; at += part {
		at = min(at, row-part) // the last part overlaps the one before
		for j := range size {
			bitTurn(t[j*part:], src[8*j*row+at:], part, row, size*part)
		}
		to := dst[at*8*size : (at+part)*8*size]
		for g := range size {
			gather8(to[8*g:], t[8*g*part:], part, part, 8*size)
		}
	}
}

// bitTurnGo turns n bytes of eight rows, which begin every row bytes, to n bytes of eight planes,
// which begin every plane bytes: bit k of a byte of row i becomes bit i of that byte of plane k.
func bitTurnGo(dst, src []byte, n, row, plane int) {
	const m4, m2, m1 = 0x0f0f0f0f0f0f0f0f, 0x3333333333333333, 0x5555555555555555
	s0, s1, s2, s3 := src[:n], src[row:row+n], src[2*row:2*row+n], src[3*row:3*row+n]
	s4, s5, s6, s7 := src[4*row:4*row+n], src[5*row:5*row+n], src[6*row:6*row+n], src[7*row:7*row+n]
	for i := 0; ; {
		a, b := binary.LittleEndian.Uint64(s0[i:]), binary.LittleEndian.Uint64(s1[i:])
		c, d := binary.LittleEndian.Uint64(s2[i:]), binary.LittleEndian.Uint64(s3[i:])
		e, f := binary.LittleEndian.Uint64(s4[i:]), binary.LittleEndian.Uint64(s5[i:])
		g, h := binary.LittleEndian.Uint64(s6[i:]), binary.LittleEndian.Uint64(s7[i:])

		t := (a>>4 ^ e) & m4
		e ^= t
		a ^= t << 4
		t = (b>>4 ^ f) & m4
		f ^= t
		b ^= t << 4
		t = (c>>4 ^ g) & m4
		g ^= t
		c ^= t << 4
		t = (d>>4 ^ h) & m4
		h ^= t
		d ^= t << 4

		t = (a>>2 ^ c) & m2
		c ^= t
		a ^= t << 2
		t = (b>>2 ^ d) & m2
		d ^= t
		b ^= t << 2
		t = (e>>2 ^ g) & m2
		g ^= t
		e ^= t << 2
		t = (f>>2 ^ h) & m2
		h ^= t
		f ^= t << 2

		to := dst[i:]
		t = (a>>1 ^ b) & m1
		binary.LittleEndian.PutUint64(to[plane:], b^t)
		binary.LittleEndian.PutUint64(to, a^t<<1)
		t = (c>>1 ^ d) & m1
		binary.LittleEndian.PutUint64(to[3*plane:], d^t)
		binary.LittleEndian.PutUint64(to[2*plane:], c^t<<1)
		t = (e>>1 ^ f) & m1
		binary.LittleEndian.PutUint64(to[5*plane:], f^t)
		binary.LittleEndian.PutUint64(to[4*plane:], e^t<<1)
		t = (g>>1 ^ h) & m1
		binary.LittleEndian.PutUint64(to[7*plane:], h^t)
		binary.LittleEndian.PutUint64(to[6*plane:], g^t<<1)

		if i += 8; i > n-8 {
			if i >= n {
				return
			}
			i = n - 8
		}
	}
}

// bitUnshuffleFew is bitUnshuffle for fewer than 64 elements.
func bitUnshuffleFew(dst, src []byte, size, row int) {
	for j := range size {
		for m := range row {
			for k := range 8 {
				var c byte
				for i := range 8 {
					c |= src[(8*j+i)*row+m] >> k & 1 << i
				}
				dst[(8*m+k)*size+j] = c
			}
		}
	}
}
