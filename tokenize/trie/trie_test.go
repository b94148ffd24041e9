package trie

import (
	"math/rand/v2"
	"testing"
)

// TestPackedTriesFindTheSame: all words, what words begin with, and nothing else.
func TestPackedTriesFindTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 60 {
		plain, packed := New(), New()
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
			plain.Add(w, int32(i))
			packed.Add(w, int32(i))
		}
		packed.Pack()
		for range 2000 {
			w := word()
			a, b := uint32(0), uint32(0)
			for i, c := range w {
				var v, u int32
				a, v = plain.Next(a, c)
				b, u = packed.Next(b, c)
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

// TestTrieWithoutClusters has words whose places in a table are side by side if its hash is known.
func TestTrieWithoutClusters(t *testing.T) {
	near := func(node int, c byte) bool {
		h := (uint64(node)<<8 | uint64(c)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
		return h&(1<<17-1) < 1<<11
	}
	x, paths := New(), []string{""}
	for node := 0; node < len(paths) && len(paths) < 20_000; node++ {
		for c := byte(0); c < 128; c++ {
			if node == 0 || near(node, c) {
				paths = append(paths, paths[node]+string(rune(c)))
				x.Add([]byte(paths[len(paths)-1]), 1)
			}
		}
	}
	most, run := 0, 0
	for _, e := range x.edges {
		if run++; e.child == 0 {
			run = 0
		}
		most = max(most, run)
	}
	if len(paths) < 20_000 || most > 1000 {
		t.Errorf("of %d words, %d lie side by side", len(paths), most)
	}
}
