package index

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
)

func TestDigestIsXXH3OfTheWholeHoweverItIsCut(t *testing.T) {
	// Reference values: xxhsum -H2 of no bytes and of "abc".
	for s, want := range map[string]string{
		"":    "xxh3:99aa06d3014798d86001c324468d497f",
		"abc": "xxh3:06b05ab6733a618578af5f94892f3950",
	} {
		if got := DigestOf([]byte(s)); got != want || !ValidDigest(got) {
			t.Errorf("DigestOf(%q) = %s, want %s", s, got, want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 10000)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	var d Digest
	for rest := b; len(rest) > 0; {
		n := min(1+r.IntN(700), len(rest))
		d.Write(rest[:n])
		rest = rest[n:]
	}
	if d.String() != DigestOf(b) {
		t.Errorf("streamed %s, whole %s", d.String(), DigestOf(b))
	}
}

func TestCombineCRC32EqualsTheCRCOfTheJoinedBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, poly := range []uint32{crc32.IEEE, crc32.Castagnoli} {
		table := crc32.MakeTable(poly)
		for _, n := range [][2]int{{0, 0}, {0, 9}, {9, 0}, {1, 1}, {100, 7}, {3, 65536}, {70001, 12345}} {
			b := make([]byte, n[0]+n[1])
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			left, right := crc32.Checksum(b[:n[0]], table), crc32.Checksum(b[n[0]:], table)
			if got, want := CombineCRC32(poly, left, right, int64(n[1])), crc32.Checksum(b, table); got != want {
				t.Errorf("poly %08x, %v: combined %08x, whole %08x", poly, n, got, want)
			}
		}
		// Lengths beyond 32 bits: (a + 5 GiB) + 5 GiB is a + 10 GiB.
		const far = 5 << 30
		zero := CombineCRC32(poly, 0, 0, far)
		two := CombineCRC32(poly, CombineCRC32(poly, 0x12345678, zero, far), zero, far)
		if one := CombineCRC32(poly, 0x12345678, CombineCRC32(poly, zero, zero, far), 2*far); one != two {
			t.Errorf("poly %08x: 10 GiB at once %08x, in two steps %08x", poly, one, two)
		}
	}
}

func BenchmarkCombineCRC32(b *testing.B) {
	for i := 0; i < b.N; i++ {
		CombineCRC32(crc32.IEEE, uint32(i), 1, 1<<40-1)
	}
}

func TestPieceDigestIsOfPiecesHoweverTheBytesCome(t *testing.T) {
	b := make([]byte, 3*PieceBytes+777)
	for i := range b {
		b[i] = byte(i * i >> 5)
	}
	for _, n := range []int{0, 1, PieceBytes - 1, PieceBytes, PieceBytes + 1, 2 * PieceBytes, len(b)} {
		var outer []byte
		for at := 0; at < n; at += PieceBytes {
			s := xxh3.Hash128(b[at:min(at+PieceBytes, n)])
			outer = binary.BigEndian.AppendUint64(outer, s.Hi)
			outer = binary.BigEndian.AppendUint64(outer, s.Lo)
		}
		want := PiecePrefix + strings.TrimPrefix(DigestOf(outer), DigestPrefix)
		for _, step := range []int{1 << 30, 1000, PieceBytes, PieceBytes + 512, 4097} {
			var d PieceDigest
			for at := 0; at < n; at += step {
				d.Write(b[at:min(at+step, n)])
			}
			if got := d.String(); got != want || got != d.String() || !ValidDigest(got) {
				t.Errorf("%d bytes in steps of %d: %s, want %s", n, step, got, want)
			}
		}
		if n > 0 && PieceDigestOf(b[:n]) == PieceDigestOf(b[:n-1]) {
			t.Errorf("%d bytes and one less have one digest", n)
		}
	}
}
