package verify

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/shardify/shardify/index"
)

// A single changed bit (bad memory, a bad cable) can be distinguished from a wrong program by
// trying every bit of a short text against the digest.

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

func flipText(now, mask byte) string {
	return fmt.Sprintf("a bit is flipped: the byte is %#02x and was %#02x", now, now^mask)
}
