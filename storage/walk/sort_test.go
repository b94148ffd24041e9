package walk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortIsNaturalOrder: names that are alike are sorted by their bytes, and that
// is their natural order.
func TestSortIsNaturalOrder(t *testing.T) {
	fast := 0
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var l listing
		digits, tail := 1+rng.IntN(12), "0123456789ab"[:rng.IntN(12)]
		for range rng.IntN(200) {
			name := fmt.Sprintf("img_%0*d%s%c", digits, rng.IntN(2000), tail, 'a'+rng.IntN(3))
			if rng.IntN(2000) == 0 {
				name = fmt.Sprintf("%x", rng.Uint64())
			}
			if seed%5 == 0 {
				name = fmt.Sprintf("%x", rng.Uint32()&0xfff)
			}
			l.entries = append(l.entries, entry{off: uint32(len(l.names)), size: uint8(len(name))})
			l.names = append(l.names, name...)
		}
		want := slices.Clone(l.entries)
		slices.SortStableFunc(want, func(a, b entry) int { return natural(l.bytes(a), l.bytes(b)) })
		if _, ok := l.numbered(); ok {
			fast++
		}
		l.sort()
		for i := range want {
			if !bytes.Equal(l.bytes(want[i]), l.bytes(l.entries[i])) {
				t.Fatalf("seed %d: %q is at %d, want %q", seed, l.bytes(l.entries[i]), i, l.bytes(want[i]))
			}
		}
	}
	if fast < 100 {
		t.Errorf("%d of 500 lists were sorted by their bytes", fast)
	}
}
