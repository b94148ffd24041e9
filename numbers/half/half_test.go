package half

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestEveryF16ComesBack: 16-bit values survive the way over f32.
func TestEveryF16ComesBack(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := F16(h)
		if got := ToF16(f); got != h && !(f != f && got&0x7c00 == 0x7c00 && got&0x3ff != 0) {
			t.Fatalf("f16 %04x is %v and comes back as %04x", h, f, got)
		}
		g := BF16(h)
		if got := ToBF16(g); got != h && g == g {
			t.Fatalf("bf16 %04x comes back as %04x", h, got)
		}
	}
}

// TestRoundingIsToTheNearest compares with exact arithmetic, midpoints included.
func TestRoundingIsToTheNearest(t *testing.T) {
	check := func(x float64, to func(float32) uint16, from func(uint16) float32, most uint16) {
		t.Helper()
		got := to(Narrow(x))
		best, ties := uint16(0), 0
		dist := func(h uint16) *big.Float {
			d := new(big.Float).SetPrec(300).Sub(big.NewFloat(x), big.NewFloat(float64(from(h))))
			return d.Abs(d)
		}
		around := to(float32(x))
		for d := -2; d <= 2; d++ {
			h := uint16(int(around) + d)
			if h&0x7fff > most || (h^around)&0x8000 != 0 {
				continue
			}
			switch c := dist(h).Cmp(dist(best)); {
			case ties == 0 || c < 0 || c == 0 && h&1 == 0:
				best, ties = h, 1
			}
		}
		if got != best && from(got) != from(best) && got&0x7fff <= most {
			t.Fatalf("%v rounds to %04x (%v), want %04x (%v)", x, got, from(got), best, from(best))
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		h := uint16(r.IntN(0x7bff))
		mid := (float64(F16(h)) + float64(F16(h+1))) / 2
		for _, x := range []float64{mid, math.Nextafter(mid, 9e9), math.Nextafter(mid, -9e9), mid * (1 + 1e-9), -mid} {
			check(x, ToF16, F16, 0x7bff)
		}
		h = uint16(r.IntN(0x7f00))
		mid = (float64(BF16(h)) + float64(BF16(h+1))) / 2
		for _, x := range []float64{mid, math.Nextafter(mid, math.Inf(1)), math.Nextafter(mid, 0), -mid} {
			check(x, ToBF16, BF16, 0x7f7f)
		}
	}
	for x, want := range map[float64]uint16{65519.99: 0x7bff, 65520: 0x7c00, 1e9: 0x7c00, -1e300: 0xfc00, 0: 0, 6e-8: 1} {
		if got := ToF16(Narrow(x)); got != want {
			t.Errorf("f16 of %v is %04x, want %04x", x, got, want)
		}
	}
	if !math.Signbit(float64(F16(ToF16(float32(math.Copysign(0, -1)))))) {
		t.Error("-0 loses its sign")
	}
}
