package codecs

import (
	"encoding/binary"
	"math/bits"
)

const (
	prime1 = 0x9e3779b185ebca87
	prime2 = 0xc2b2ae3d27d4eb4f
	prime3 = 0x165667b19e3779f9
	prime4 = 0x85ebca77c2b2ae63
	prime5 = 0x27d4eb2f165667c5
)

// XXH64 returns the 64-bit xxHash of p with seed 0.
func XXH64(p []byte) uint64 {
	h := uint64(prime5)
	total := uint64(len(p))
	if len(p) >= 32 {
		h, p = xxhStripes(p)
	}
	h += total
	for ; len(p) >= 8; p = p[8:] {
		h = bits.RotateLeft64(h^xxhRound(0, binary.LittleEndian.Uint64(p)), 27)*prime1 + prime4
	}
	if len(p) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(p))*prime1, 23)*prime2 + prime3
		p = p[4:]
	}
	for _, c := range p {
		h = bits.RotateLeft64(h^uint64(c)*prime5, 11) * prime1
	}
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

// xxhStripes hashes as many stripes of 32 bytes as p has and returns the rest.
func xxhStripes(p []byte) (uint64, []byte) {
	// Variables, for the sums exceed what a constant may hold.
	one, two := uint64(prime1), uint64(prime2)
	v1, v2, v3, v4 := one+two, two, uint64(0), -one
	for ; len(p) >= 32; p = p[32:] {
		b := (*[32]byte)(p)
		v1 = xxhRound(v1, binary.LittleEndian.Uint64(b[0:]))
		v2 = xxhRound(v2, binary.LittleEndian.Uint64(b[8:]))
		v3 = xxhRound(v3, binary.LittleEndian.Uint64(b[16:]))
		v4 = xxhRound(v4, binary.LittleEndian.Uint64(b[24:]))
	}
	h := bits.RotateLeft64(v1, 1) + bits.RotateLeft64(v2, 7) + bits.RotateLeft64(v3, 12) + bits.RotateLeft64(v4, 18)
	for _, v := range [4]uint64{v1, v2, v3, v4} {
		h = (h^xxhRound(0, v))*prime1 + prime4
	}
	return h, p
}

func xxhRound(acc, word uint64) uint64 {
	return bits.RotateLeft64(acc+word*prime2, 31) * prime1
}
