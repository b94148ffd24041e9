package augment

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLayersHaveOneArea(t *testing.T) {
	tail := math.Sqrt(math.Pi/2) * math.Erfc(tailFrom/math.Sqrt2)
	if area := tailFrom*math.Exp(-tailFrom*tailFrom/2) + tail; math.Abs(area-layerArea) > 1e-17 {
		t.Errorf("the lowest layer has %v, the others %v", area, layerArea)
	}
	for i := 1; i < layers; i++ {
		low, high := ziggurat[i], ziggurat[i+1]
		if area := low.x * (high.y - low.y); math.Abs(area-layerArea) > 1e-13*layerArea {
			t.Errorf("layer %d has %v", i, area)
		}
		if y := math.Exp(-low.x * low.x / 2); math.Abs(y-low.y) > 1e-14 {
			t.Errorf("layer %d ends at %v, where the curve is %v, not %v", i, low.x, y, low.y)
		}
	}
}

// TestNormalNumbersAreNormal: moments, the distribution over cells of equal weight, and
// the values beyond the layers.
func TestNormalNumbersAreNormal(t *testing.T) {
	const n, cells = 2_000_000, 1000
	r := new(source)
	r.seed(3)
	var m [5]float64
	var count [cells]int
	far, sumFar, apart := 0, 0.0, 0.0
	last := 0.0
	for range n {
		x := r.normal()
		for k, p := 1, x; k < 5; k, p = k+1, p*x {
			m[k] += p
		}
		count[min(int(0.5*math.Erfc(-x/math.Sqrt2)*cells), cells-1)]++
		if a := math.Abs(x); a > tailFrom {
			far++
			sumFar += a - tailFrom
		}
		apart += x * last
		last = x
	}
	near := func(what string, got, want, deviation float64) {
		t.Logf("%s: %v, want %v", what, got, want)
		if math.Abs(got-want) > 4*deviation {
			t.Errorf("%s is %v, want %v +- %v", what, got, want, deviation)
		}
	}
	root := math.Sqrt(n)
	near("mean", m[1]/n, 0, 1/root)
	near("square", m[2]/n, 1, math.Sqrt(2)/root)
	near("cube", m[3]/n, 0, math.Sqrt(15)/root)
	near("fourth power", m[4]/n, 3, math.Sqrt(96)/root)
	near("product of neighbours", apart/n, 0, 1/root)
	chi, sum, gap := 0.0, 0.0, 0.0
	for i, c := range count {
		d := float64(c) - float64(n)/cells
		chi += d * d * cells / n
		sum += float64(c) / n
		gap = max(gap, math.Abs(sum-float64(i+1)/cells))
	}
	near("chi-square of the cells", chi, cells-1, math.Sqrt(2*(cells-1)))
	if gap > 1.95/root { // Kolmogorov and Smirnov: one in a thousand
		t.Errorf("the distribution is off by %v", gap)
	}
	p := math.Erfc(tailFrom / math.Sqrt2)
	near("numbers in the tails", float64(far), n*p, math.Sqrt(n*p))
	// The mean beyond, by which the numbers there exceed the edge.
	mean := math.Exp(-tailFrom*tailFrom/2)/(math.Sqrt(math.Pi/2)*p) - tailFrom
	near("excess in the tails", sumFar/float64(far), mean, mean/math.Sqrt(n*p))
}

func BenchmarkNormal(b *testing.B) {
	var sum float64
	b.Run("ours", func(b *testing.B) {
		r := new(source)
		for range b.N {
			sum += r.normal()
		}
	})
	b.Run("library", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 2))
		for range b.N {
			sum += r.NormFloat64()
		}
	})
	_ = sum
}
