package filter

import (
	"bytes"
	"testing"
)

func TestCopyMatchRepeatsAtEveryDistance(t *testing.T) {
	for dist := 1; dist < 40; dist++ {
		for n := range 80 {
			for _, behind := range []int{0, 1, 15, 16, 17, 40} {
				dst := noise(50+n+behind, uint64(dist))
				want := bytes.Clone(dst)
				for i := range n {
					want[50+i] = want[50+i-dist]
				}
				copyMatch(dst, 50, dist, n)
				if !bytes.Equal(dst[:50+n], want[:50+n]) {
					t.Fatalf("distance %d, length %d, %d bytes behind: differs", dist, n, behind)
				}
			}
		}
	}
}
