package mmap

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func TestCRCTellsTheChangedByte(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	want := crc32.Checksum(b, table)
	for _, at := range []int{0, 1, 4711, len(b) - 1} {
		for _, mask := range []byte{1, 0x80, 0xff, 0x5a} {
			b[at] ^= mask
			i, m, ok := crcFlip(crc32.Checksum(b, table), want, int64(len(b)))
			if !ok || i != int64(at) || m != mask {
				t.Errorf("byte %d by %#02x: found %d by %#02x, %v", at, mask, i, m, ok)
			}
			b[at] ^= mask
		}
	}
	// Two distant places of damage are not taken for one, except by a rare chance.
	wrong := 0
	for range 100 {
		i, k := r.IntN(1000), 2000+r.IntN(1000)
		b[i] ^= 7
		b[k] ^= 9
		if _, _, ok := crcFlip(crc32.Checksum(b[:3000], table), crc32.Checksum(b[:3000], table)^uint32(r.Uint64()|1<<20), 3000); ok {
			wrong++
		}
	}
	if wrong > 1 {
		t.Errorf("%d of 100 random differences explained by one byte", wrong)
	}
}
