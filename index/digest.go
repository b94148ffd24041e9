package index

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify/codecs/crc32c"
)

// DigestPrefix comes before the 32 hexadecimal digits of a digest.
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

// PiecePrefix comes before the 32 hexadecimal digits of a PieceDigest.
const PiecePrefix = "xxh3p:"

// PieceBytes is the size of a PieceDigest's pieces.
const PieceBytes = 256 << 10

// PieceDigest is the digest of a large file: XXH3-128 over the XXH3-128 (16 bytes,
// high half first) of its consecutive pieces of PieceBytes, the last one shorter. A
// piece that comes whole is hashed where it is; the streaming form of XXH3 would
// copy every byte first, which costs a tenth of a conversion of small files. The
// zero value is ready.
type PieceDigest struct {
	outer xxh3.Hasher
	part  []byte // of a piece
}

// Write adds bytes; it never fails.
func (d *PieceDigest) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		if len(d.part) == 0 && len(b) >= PieceBytes {
			addPiece(&d.outer, b[:PieceBytes])
			b = b[PieceBytes:]
			continue
		}
		if d.part == nil {
			d.part = make([]byte, 0, PieceBytes)
		}
		k := min(PieceBytes-len(d.part), len(b))
		d.part, b = append(d.part, b[:k]...), b[k:]
		if len(d.part) == PieceBytes {
			addPiece(&d.outer, d.part)
			d.part = d.part[:0]
		}
	}
	return n, nil
}

func addPiece(h *xxh3.Hasher, p []byte) {
	s := xxh3.Hash128(p).Bytes()
	h.Write(s[:])
}

// String is the digest of what was written so far: "xxh3p:" and 32 digits.
func (d *PieceDigest) String() string {
	outer := d.outer
	if len(d.part) > 0 {
		addPiece(&outer, d.part)
	}
	return PiecePrefix + digestText(outer.Sum128())[len(DigestPrefix):]
}

// PieceSum is the contribution of one piece to a PieceDigest, for files whose first
// pieces are known last.
func PieceSum(p []byte) [16]byte { return xxh3.Hash128(p).Bytes() }

// DigestOfSums is the PieceDigest of a file from the sums of its pieces, in order.
func DigestOfSums(sums ...[]byte) string {
	var h xxh3.Hasher
	for _, s := range sums {
		h.Write(s)
	}
	return PiecePrefix + digestText(h.Sum128())[len(DigestPrefix):]
}

// PieceDigestOf is the PieceDigest of b.
func PieceDigestOf(b []byte) string {
	var d PieceDigest
	d.Write(b)
	return d.String()
}

func digestText(s xxh3.Uint128) string { return fmt.Sprintf("%s%016x%016x", DigestPrefix, s.Hi, s.Lo) }

// ValidDigest reports whether s has the form of a digest of either kind.
func ValidDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, DigestPrefix)
	if !ok {
		hex, ok = strings.CutPrefix(s, PiecePrefix)
	}
	return ok && len(hex) == 32 && isHex(hex)
}

// isHex reports lower-case hexadecimal digits only.
func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && s == strings.ToLower(s)
}

// CRC32C continues a CRC-32C (Castagnoli, as in the mmap shards' headers) over
// b. Begin with 0.
func CRC32C(crc uint32, b []byte) uint32 { return crc32c.Update(crc, b) }

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
