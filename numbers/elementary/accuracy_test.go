package elementary

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
)

// function is one of one number: its true value, package math's, and where it is tested:
// ranges of x, logarithmic where both ends have a sign, as most arguments of a range are small.
type function struct {
	name   string
	ours   func(float64) float64
	truth  func(*big.Float) *big.Float
	theirs func(float64) float64
	ranges [][2]float64
	ulps   float64 // the most that was seen, and a little
	parity int     // 1 even, -1 odd
}

const least = 0x1p-1074

var functions = []function{
	{"exp", Exp, bigExp, farther(math.Exp, 709.782712893384), [][2]float64{{-745.2, 709.78}, {-1, 1}, {-745.2, -707}, {707, 709.78}, {least, 1}, {-1, -least}}, 0.52, 0},
	{"expm1", Expm1, bigExpm1, farther(math.Expm1, 709.782712893384), [][2]float64{{-40, 709.78}, {-1, 1}, {-0.3, 0.3}, {least, 1}, {-1, -least}}, 0.65, 0},
	{"log", Log, bigLog, math.Log, [][2]float64{{least, math.MaxFloat64}, {0, 10}, {0.99, 1.01}, {0.5, 2}, {1 - 0x1p-40, 1 + 0x1p-40}}, 0.52, 0},
	{"log2", Log2, bigLog2, math.Log2, [][2]float64{{least, math.MaxFloat64}, {0, 10}, {0.99, 1.01}, {0.5, 2}, {1 - 0x1p-40, 1 + 0x1p-40}}, 0.505, 0},
	{"log10", Log10, bigLog10, math.Log10, [][2]float64{{least, math.MaxFloat64}, {0, 10}, {0.99, 1.01}, {0.5, 2}, {1 - 0x1p-40, 1 + 0x1p-40}}, 0.505, 0},
	{"log1p", Log1p, bigLog1p, math.Log1p, [][2]float64{{least, math.MaxFloat64}, {-1, 10}, {-0.01, 0.01}, {-1, -least}, {1e-18, 1}}, 0.505, 0},
	{"sin", Sin, bigSin, math.Sin, [][2]float64{{least, math.MaxFloat64}, {-4, 4}, {-300, 300}, {1e4, 1e7}, {1e-9, 1}}, 0.9, -1},
	{"cos", Cos, bigCos, math.Cos, [][2]float64{{least, math.MaxFloat64}, {-4, 4}, {-300, 300}, {1e4, 1e7}, {1e-9, 1}}, 0.9, 1},
	{"tan", Tan, bigTan, math.Tan, [][2]float64{{least, math.MaxFloat64}, {-4, 4}, {-300, 300}, {1e4, 1e7}, {1e-9, 1}}, 0.6, -1},
	{"asin", Asin, bigAsin, math.Asin, [][2]float64{{-1, 1}, {least, 1}, {0.49, 0.51}, {1 - 1e-9, 1}, {0.9, 1}}, 0.65, -1},
	{"acos", Acos, bigAcos, math.Acos, [][2]float64{{-1, 1}, {least, 1}, {0.49, 0.51}, {1 - 1e-9, 1}, {-1, -0.9}, {0.9, 1}}, 0.65, 0},
	{"atan", Atan, bigAtan, math.Atan, [][2]float64{{least, math.MaxFloat64}, {-1, 1}, {-20, 20}, {0.12, 0.13}, {15, 17}}, 0.6, -1},
	{"sinh", Sinh, bigSinh, farther(math.Sinh, 710.4758600739439), [][2]float64{{least, 710.4}, {-1, 1}, {-30, 30}, {0.24, 0.26}, {700, 710.47}}, 0.6, -1},
	{"cosh", Cosh, bigCosh, farther(math.Cosh, 710.4758600739439), [][2]float64{{least, 710.4}, {-1, 1}, {-30, 30}, {700, 710.47}}, 0.6, 1},
	{"tanh", Tanh, bigTanh, math.Tanh, [][2]float64{{least, 100}, {-1, 1}, {-30, 30}, {0.24, 0.26}}, 0.6, -1},
	{"asinh", Asinh, bigAsinh, math.Asinh, [][2]float64{{least, math.MaxFloat64}, {-1, 1}, {-30, 30}, {0.24, 0.26}}, 0.6, -1},
	{"acosh", Acosh, bigAcosh, math.Acosh, [][2]float64{{1, math.MaxFloat64}, {1, 3}, {1, 1.01}, {1, 1 + 1e-10}, {1, 100}}, 0.52, 0},
	{"atanh", Atanh, bigAtanh, math.Atanh, [][2]float64{{least, 1}, {-1, 1}, {0.24, 0.26}, {0.999999, 1}}, 0.6, -1},
	{"cbrt", Cbrt, bigCbrt, math.Cbrt, [][2]float64{{least, math.MaxFloat64}, {-10, 10}, {1, 8}}, 0.505, -1},
}

// farther is f, which is infinite too early, with some finite value up to end.
func farther(f func(float64) float64, end float64) func(float64) float64 {
	return func(x float64) float64 {
		if a := math.Abs(x); a > 709 && a <= end {
			return f(math.Copysign(709, x))
		}
		return f(x)
	}
}

type function2 struct {
	name   string
	ours   func(x, y float64) float64
	truth  func(x, y *big.Float) *big.Float
	theirs func(x, y float64) float64
	ranges [][4]float64 // of x, of y
	ulps   float64
}

var functions2 = []function2{
	{"pow", Pow, bigPow, math.Pow, [][4]float64{{0, 10, -10, 10}, {0.99, 1.01, -7e4, 7e4}, {least, 1e300, -1, 1}, {1 - 1e-9, 1 + 1e-9, 1e-5, 1e12},
		{1e-5, 1e5, -64, 64}, {1e-308, 1e-307, 0.9, 1.05}, {0.1, 10, 1e-30, 300}}, 0.52},
	{"atan2", Atan2, bigAtan2, math.Atan2, [][4]float64{{-1, 1, -1, 1}, {least, math.MaxFloat64, least, math.MaxFloat64}, {-1, -least, -1e5, -least},
		{1, 1e18, -1, -1e-18}, {least, 1e-300, -1e-300, -least}, {1e300, 1e308, -1e308, -1e290}, {0.9, 1.1, 0.9, 1.1}, {1e-6, 1e-3, -1, 1}}, 0.6},
	{"hypot", Hypot, bigHypot, math.Hypot, [][4]float64{{-1, 1, -1, 1}, {least, math.MaxFloat64, least, math.MaxFloat64}, {1, 1, 1e-10, 1},
		{least, 1e-300, least, 1e-300}, {1e300, 1.2e308, 1e300, 1.2e308}, {1e140, 1e160, 1e140, 1e160}, {1e-130, 1e-110, 1e-140, 1e-110}, {1e-170, 1e-130, 1e-170, 1e-130}}, 0.76},
}

// draw makes an argument of a range: evenly, or with all exponents alike.
func draw(r *rand.Rand, lo, hi float64) float64 {
	if lo > 0 && hi/lo > 1e3 || hi < 0 && lo/hi > 1e3 {
		s := math.Copysign(1, lo)
		a, b := math.Float64bits(min(s*lo, s*hi)), math.Float64bits(max(s*lo, s*hi))
		return s * math.Float64frombits(a+r.Uint64N(b-a+1))
	}
	return lo + r.Float64()*(hi-lo)
}

// hard are arguments near which results cancel, round badly, change branch or end.
func hard() []float64 {
	x := []float64{0.5, 1, 2, 3, 10, 100, 1000, 1e15, 0x1p52, 0x1p53, 0x1p64, 1e22, 1e100, 1e300, math.MaxFloat64, least, 0x1p-1022, 0x1p-1023, 0x1p-54, 0x1p-27, 0x1p-26,
		0.125, 0.25, 16, 22, 40, 60, 0x1p19, 708, 709.782712893384, 710, -745.1332191019411, -744.4400719213812, -708.3964185322641, 710.4758600739439,
		math.Ln2, math.E, math.Sqrt2, 0x1.5555555555555p+999, 6381956970095103 * 0x1p797, 0x1.921fb54442d18p+3, 5 * math.Pi / 2, 11 * math.Pi, 22, 355, 103993, 833719, 0.7071067811865476, 1.4142135623730951}
	for k := 1; k < 66; k++ {
		x = append(x, float64(k)*math.Pi/4, float64(k)/128, float64(k)*math.Ln2/2)
	}
	for k := -1022; k < 1024; k += 61 {
		x = append(x, math.Ldexp(1, k))
	}
	for k := -300; k < 300; k += 17 {
		x = append(x, math.Pow10(k))
	}
	n := len(x)
	for _, v := range x[:n] {
		x = append(x, math.Nextafter(v, 0), math.Nextafter(v, math.Inf(1)))
	}
	n = len(x)
	for _, v := range x[:n] {
		x = append(x, -v)
	}
	return x
}

// off is by how many units in the last place got is off.
func off(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	if math.IsInf(w, 0) || math.IsInf(got, 0) || math.IsNaN(got) {
		if got == w {
			return 0
		}
		return math.Inf(1)
	}
	_, e := math.Frexp(w)
	d, _ := twoTo(sub(num(got), want), -max(e-53, -1074)).Float64()
	return math.Abs(d)
}

// worst is the largest error, and where.
type worst struct {
	ulps float64
	at   string
	n    int
}

func (w *worst) add(got float64, want *big.Float, args ...float64) {
	w.n++
	if e := off(got, want); e > w.ulps {
		w.ulps, w.at = e, fmt.Sprintf("%x: %x, want %s", args, got, want.Text('p', 20))
	}
}

func samplesOf(n int) int {
	if os.Getenv("SHARDIFY_LONG") != "" {
		n *= 50
	}
	if runtime.GOARCH != "amd64" { // likely emulated; the digests hold there too
		n /= 20
	}
	return n
}

func TestResultsAreWithinOneUnitOfTheTruth(t *testing.T) {
	for _, f := range functions {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			w := new(worst)
			try := func(x float64) {
				if math.IsNaN(f.theirs(x)) || math.IsInf(f.theirs(x), 0) || x == 0 || math.IsInf(x, 0) {
					return
				}
				w.add(f.ours(x), f.truth(num(x)), x)
			}
			for _, x := range hard() {
				try(x)
			}
			for _, c := range f.ranges {
				for range samplesOf(200) {
					try(draw(r, c[0], c[1]))
				}
			}
			t.Logf("%d arguments, at most %.4f ulp off: %s", w.n, w.ulps, w.at)
			if w.ulps > f.ulps {
				t.Errorf("more than %v", f.ulps)
			}
		})
	}
	for _, f := range functions2 {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 4))
			w := new(worst)
			try := func(x, y float64) {
				if z := f.theirs(x, y); math.IsNaN(z) || math.IsInf(z, 0) || z == 0 || x == 0 || f.name == "pow" && x < 0 {
					return
				}
				w.add(f.ours(x, y), f.truth(num(x), num(y)), x, y)
			}
			for _, c := range f.ranges {
				for range samplesOf(200) {
					try(draw(r, c[0], c[1]), draw(r, c[2], c[3]))
				}
			}
			for x := 1.0; x < 12; x++ {
				for y := -12.0; y < 12; y++ {
					try(x, y)
					try(x+0.25, y/2)
				}
			}
			t.Logf("%d arguments, at most %.4f ulp off: %s", w.n, w.ulps, w.at)
			if w.ulps > f.ulps {
				t.Errorf("more than %v", f.ulps)
			}
		})
	}
}
