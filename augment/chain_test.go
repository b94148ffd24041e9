package augment

import (
	"bytes"
	"strings"
	"testing"

	"github.com/shardify/shardify/numbers/elementary"
)

// The tests of Python compare what a chain makes with Pillow.
func TestAChainKnowsItsSize(t *testing.T) {
	for _, c := range []struct {
		specs string
		w, h  int
	}{
		{"", 7, 5},
		{"flip rotate=5", 7, 5},
		{"resize=8x9 flip", 8, 9},
		{"resize=8x9 resize=8", 0, 0},
		{"orient", 0, 0},
		{"orient resize=20 centre-crop=16x12 colour-jitter,hue=0.1", 16, 12},
	} {
		chain, err := NewChain(strings.Fields(c.specs))
		if err != nil {
			t.Fatal(err)
		}
		if w, h := chain.Size(7, 5); w != c.w || h != c.h {
			t.Errorf("%s: %d x %d, want %d x %d", c.specs, w, h, c.w, c.h)
		}
	}
}

func TestAStripDoesNotBecomeAMountain(t *testing.T) {
	chain, err := NewChain([]string{"resize=30000"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := chain.Pixels(new(Canvas), make([]byte, 3*60000), 60000, 1, 1); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
}

func TestOperationsOfAChainDrawForThemselves(t *testing.T) {
	chain, err := NewChain([]string{"flip", "flip"})
	if err != nil {
		t.Fatal(err)
	}
	pix := make([]byte, 3*64)
	for i := range pix {
		pix[i] = byte(128 + 100*elementary.Sin(float64(i)))
	}
	turned := 0
	for seed := range uint64(200) {
		out, _, _, err := chain.Pixels(new(Canvas), bytes.Clone(pix), 64, 1, seed)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out, pix) {
			turned++
		}
	}
	if turned < 60 || turned > 140 {
		t.Errorf("%d of 200 are mirrored once", turned)
	}
}
