package sketch

import (
	"math/rand/v2"
	"testing"
)

// TestShared: of small sets the counts are exact, of large ones their ratio is about that of the sets.
func TestShared(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 10, 1000, 100000} {
		var a, b Sketch
		for k := range n {
			h := r.Uint64()
			a.Add(h)
			a.Add(h)
			if k%4 == 0 {
				b.Add(h)
			}
		}
		both, fewer, more := a.Shared(&b)
		want := (n + 3) / 4
		if n <= 1000 && (both != want || fewer != want || more != n) {
			t.Errorf("%d names: %d of %d and %d", n, both, fewer, more)
		}
		if n > 1000 && (both != fewer || more < 3*fewer || more > 5*fewer || more > 1<<10) {
			t.Errorf("%d names: %d of %d and %d", n, both, fewer, more)
		}
	}
}
