package tokenize

import (
	"math/rand/v2"
	"testing"
)

// TestPackedTriesFindTheSame: all words, what words begin with, and nothing else.
func TestPackedTriesFindTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 60 {
		plain, packed := newTrie(), newTrie()
		letters := 1 + rng.IntN(256)
		word := func() []byte {
			w := make([]byte, 1+rng.IntN(6))
			for i := range w {
				w[i] = byte(rng.IntN(letters))
			}
			return w
		}
		for i := range rng.IntN(1 + 40*round) {
			w := word()
			plain.add(w, int32(i))
			packed.add(w, int32(i))
		}
		packed.pack()
		for range 2000 {
			w := word()
			a, b := uint32(0), uint32(0)
			for i, c := range w {
				var v, u int32
				a, v = plain.next(a, c)
				b, u = packed.next(b, c)
				if (a == 0) != (b == 0) || v != u {
					t.Fatalf("round %d, % x after %d: node %d with %d, packed %d with %d", round, w, i+1, a, v, b, u)
				}
				if a == 0 {
					break
				}
			}
		}
	}
}
