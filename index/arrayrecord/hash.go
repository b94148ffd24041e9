package arrayrecord

import (
	"encoding/binary"
	"math/bits"
)

// hash64 is HighwayHash-64 with the key of Riegeli, "Riegeli/records\n" twice.
func hash64(data []byte) uint64 {
	h := highway{
		m0: [4]uint64{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3},
		m1: [4]uint64{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377},
	}
	for i := range 4 {
		key := [2]uint64{0x2f696c6567656952, 0x0a7364726f636572}[i&1]
		h.v0[i], h.v1[i] = h.m0[i]^key, h.m1[i]^bits.RotateLeft64(key, 32)
	}
	var l [4]uint64
	for ; len(data) >= 32; data = data[32:] {
		for i := range l {
			l[i] = binary.LittleEndian.Uint64(data[8*i:])
		}
		h.update(&l)
	}
	if len(data) > 0 {
		h.rest(data)
	}
	for range 4 {
		for i := range l {
			l[i] = bits.RotateLeft64(h.v0[i^2], 32)
		}
		h.update(&l)
	}
	return h.v0[0] + h.v1[0] + h.m0[0] + h.m1[0]
}

type highway struct{ v0, v1, m0, m1 [4]uint64 }

func (h *highway) update(l *[4]uint64) {
	for i := range 4 {
		h.v1[i] += h.m0[i] + l[i]
		h.m0[i] ^= h.v1[i] & 0xffffffff * (h.v0[i] >> 32)
		h.v0[i] += h.m1[i]
		h.m1[i] ^= h.v0[i] & 0xffffffff * (h.v1[i] >> 32)
	}
	zip(&h.v0, &h.v1)
	zip(&h.v1, &h.v0)
}

// zip adds the bytes of b to a in another order.
func zip(a, b *[4]uint64) {
	for i := 0; i < 4; i += 2 {
		x, y := b[i], b[i+1]
		a[i] += (x&0xff000000|y&0xff00000000)>>24 | (x&0xff0000000000|y&0xff000000000000)>>16 | x&0xff0000 | x&0xff00<<32 | y&0xff00000000000000>>8 | x<<56
		a[i+1] += (y&0xff000000|x&0xff00000000)>>24 | y&0xff0000 | y&0xff0000000000>>16 | y&0xff00<<24 | x&0xff000000000000>>8 | y&0xff<<48 | x&0xff00000000000000
	}
}

// rest takes the last 1 to 31 bytes.
func (h *highway) rest(t []byte) {
	r := len(t)
	for i := range 4 {
		h.v0[i] += uint64(r)<<32 + uint64(r)
		lo, hi := uint32(h.v1[i]), uint32(h.v1[i]>>32)
		h.v1[i] = uint64(bits.RotateLeft32(lo, r)) | uint64(bits.RotateLeft32(hi, r))<<32
	}
	var p [32]byte
	q := r &^ 3
	copy(p[:], t[:q])
	if k := r & 3; r&16 != 0 {
		copy(p[28:], t[r-4:])
	} else if k != 0 {
		p[16], p[17], p[18] = t[q], t[q+k>>1], t[r-1]
	}
	var l [4]uint64
	for i := range l {
		l[i] = binary.LittleEndian.Uint64(p[8*i:])
	}
	h.update(&l)
}
