package mmap

import (
	"hash/crc32"
	"math/bits"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// castagnoliTop finds an entry of the table by its highest byte.
var castagnoliTop = func() (t [256]byte) {
	for i, v := range castagnoli {
		t[v>>24] = byte(i)
	}
	return t
}()

// crcFlip finds the byte whose change by mask explains that the CRC-32C of n
// bytes is got and not want: any mask in little data, a single bit in more data,
// so that at most one search in 30 finds a place by chance.
//
// A change of one byte adds the mask to the CRC's low byte, and each byte that
// follows takes one table step. So it takes the steps back from the difference
// until nothing but a low byte is left.
func crcFlip(got, want uint32, n int64) (at int64, mask byte, found bool) {
	const (
		anyMask = 1 << 19
		oneBit  = 1 << 24
	)
	if n > oneBit {
		return 0, 0, false
	}
	diff := got ^ want
	for at = n - 1; at >= 0; at-- {
		i := castagnoliTop[diff>>24]
		diff = (diff^castagnoli[i])<<8 | uint32(i)
		if diff < 1<<8 && (n <= anyMask || bits.OnesCount32(diff) == 1) {
			return at, byte(diff), true
		}
	}
	return 0, 0, false
}
