package verify

import (
	"hash/crc32"
	"math/bits"
	"strings"
	"sync/atomic"

	"github.com/shardify/shardify/index"
)

// A single changed bit (bad memory, a bad cable) can be told from a wrong
// program: for short texts by trying every bit against the digest, for tensors
// by arithmetic on the difference of the CRCs.

// flipWork is how many bytes all searches of a run may digest: about a second.
var flipWork int64 = 6 << 30

// findFlip looks for the one bit of b that makes it as ok wants it, and returns
// its place; b is unchanged afterwards. It gives up when the work is used up.
func findFlip(b []byte, work *atomic.Int64, ok func() bool) (at int, mask byte, found bool) {
	cost := int64(len(b)) * int64(len(b)) * 8
	if len(b) > 1<<20 || work.Add(-cost) < 0 {
		work.Add(min(cost, flipWork))
		return 0, 0, false
	}
	for i := range b {
		for m := byte(1); m != 0; m <<= 1 {
			b[i] ^= m
			good := ok()
			b[i] ^= m
			if good {
				return i, m, true
			}
		}
	}
	return 0, 0, false
}

// flipDigest is findFlip for a digest of all bytes.
func flipDigest(b []byte, work *atomic.Int64, digest string) (at int, mask byte, found bool) {
	of := index.DigestOf
	if strings.HasPrefix(digest, index.PiecePrefix) {
		of = index.PieceDigestOf
	}
	return findFlip(b, work, func() bool { return of(b) == digest })
}

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
