package crc32c

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify/tests/rivals"
)

// TestSumsAreThoseOfTheLibrary, for all lengths around blocks and starts in memory, from any sum on.
func TestSumsAreThoseOfTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 3*most)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	check := func(lo, hi int, sum uint32) {
		if have, want := Update(sum, b[lo:hi]), crc32.Update(sum, table, b[lo:hi]); have != want {
			t.Fatalf("bytes %d to %d from %08x on: %08x, want %08x", lo, hi, sum, have, want)
		}
	}
	const block = 256
	for n := range 5 * block {
		check(0, n, 0)
		check(n%64, n%64+n, r.Uint32())
	}
	for range 200 {
		lo := r.IntN(len(b))
		check(lo, lo+r.IntN(len(b)-lo), r.Uint32())
	}
	for _, n := range []int{most, most + block, most + block + 1, 2*most + 2*block, len(b)} {
		check(0, n, 0xffffffff)
	}
	if Update(0, []byte("123456789")) != 0xe3069283 {
		t.Error("the sum of the catalogue of CRCs")
	}
}

func TestNothingIsAllocated(t *testing.T) {
	b := make([]byte, 2*most)
	if n := testing.AllocsPerRun(10, func() { Update(0, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkRivals has sums beside those of hash/crc32.
func BenchmarkRivals(b *testing.B) {
	for _, n := range []int{2 << 10, 16 << 10, 256 << 10} {
		p := make([]byte, n)
		rivals.Run(b, fmt.Sprint(n, "/ours"), int64(n), func() error {
			Update(0, p)
			return nil
		})
		rivals.Run(b, fmt.Sprint(n, "/stdlib"), int64(n), func() error {
			crc32.Update(0, table, p)
			return nil
		})
	}
}
