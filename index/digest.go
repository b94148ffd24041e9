package index

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/zeebo/xxh3"
)

// DigestPrefix stands before the 32 hexadecimal digits of a digest.
const DigestPrefix = "xxh3:"

// Digest is a streaming XXH3-128 with seed 0. The zero value is ready.
type Digest struct{ h xxh3.Hasher }

// Write adds bytes; it never fails.
func (d *Digest) Write(b []byte) (int, error) { return d.h.Write(b) }

// Reset forgets what was written.
func (d *Digest) Reset() { d.h.Reset() }

// String is the digest of what was written so far: "xxh3:" and 32 digits.
func (d *Digest) String() string { return digestText(d.h.Sum128()) }

// DigestOf is the digest of b.
func DigestOf(b []byte) string { return digestText(xxh3.Hash128(b)) }

func digestText(s xxh3.Uint128) string { return fmt.Sprintf("%s%016x%016x", DigestPrefix, s.Hi, s.Lo) }

// ValidDigest reports whether s has the form of a digest.
func ValidDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, DigestPrefix)
	return ok && len(hex) == 32 && isHex(hex)
}

// isHex reports lower-case hexadecimal digits only.
func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && s == strings.ToLower(s)
}

// castagnoli is the table of CRC-32C; hash/crc32 then uses the processor's
// instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C continues a CRC-32C (Castagnoli, as in the mmap shards' headers) over
// b. Begin with 0.
func CRC32C(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }

// CombineCRC32 is the CRC-32 of a followed by b, from the CRC-32 of each and the
// length of b. poly is crc32.IEEE or crc32.Castagnoli; another one panics.
//
// Appending n zero bytes to a message multiplies its CRC, read as a polynomial
// over GF(2), by x^(8n) modulo poly; the CRC of b then adds to it.
func CombineCRC32(poly, a, b uint32, lenB int64) uint32 {
	var powers *[64]uint32
	switch poly {
	case crc32.IEEE:
		powers = &powersIEEE
	case crc32.Castagnoli:
		powers = &powersCastagnoli
	default:
		panic(fmt.Sprintf("shardify: CombineCRC32 with polynomial %08x", poly))
	}
	for k, n := 3, uint64(max(lenB, 0)); n != 0; k, n = k+1, n>>1 {
		if n&1 != 0 {
			a = mulMod(poly, powers[k], a)
		}
	}
	return a ^ b
}

// powersIEEE[k] and powersCastagnoli[k] are x^(2^k).
var powersIEEE, powersCastagnoli = crcPowers(crc32.IEEE), crcPowers(crc32.Castagnoli)

func crcPowers(poly uint32) (p [64]uint32) {
	p[0] = 1 << 30 // x, as CRCs are kept: the coefficient of x^0 in the highest bit
	for k := 1; k < len(p); k++ {
		p[k] = mulMod(poly, p[k-1], p[k-1])
	}
	return p
}

// mulMod is a*b modulo poly, all in the bit order of CRCs.
func mulMod(poly, a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ poly&-(b&1) // b*x
	}
	return product
}
