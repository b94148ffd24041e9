package elementary

import (
	"math"
	"math/big"
	"testing"
)

func special() []float64 {
	return []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), least, -least, 0x1p-1030, 0.5, -0.5, 2, -2, 3, -3, 1.5, -1.5,
		math.MaxFloat64, -math.MaxFloat64, 0x1p53, -0x1p53, 0x1p53 - 1, 1 - 0x1p53, 0x1p52 + 1, 0x1p-70, -0x1p-70, 0x1p70, -0x1p70, 1 + 0x1p-52, 1 - 0x1p-53, 1000, -1000}
}

// like reports whether got is the same special value as want, or else close to the truth.
func like(got, want float64, truth func() *big.Float, args ...float64) bool {
	easy := want != 0
	for _, x := range args {
		easy = easy && x != 0 && x-x == 0
	}
	if !easy || want-want != 0 {
		return math.Float64bits(got) == math.Float64bits(want) || math.IsNaN(got) && math.IsNaN(want)
	}
	return off(got, truth()) < 1
}

func (f function) check(t *testing.T, x float64) {
	t.Helper()
	got, want := f.ours(x), f.theirs(x)
	if !like(got, want, func() *big.Float { return f.truth(num(x)) }, x) {
		t.Errorf("%s(%x) is %x, want about %x", f.name, x, got, want)
	}
}

func (f function2) check(t *testing.T, x, y float64) {
	t.Helper()
	got, want := f.ours(x, y), f.theirs(x, y)
	a, sign := x, 1.0
	if f.name == "pow" && x < 0 {
		a, sign = -x, math.Copysign(1, want)
	}
	if !like(got*sign, want*sign, func() *big.Float { return f.truth(num(a), num(y)) }, x, y) {
		t.Errorf("%s(%x, %x) is %x, want about %x", f.name, x, y, got, want)
	}
}

// TestSpecialValues: at zeros, poles, infinities and NaN we are as package math.
func TestSpecialValues(t *testing.T) {
	for _, f := range functions {
		for _, x := range special() {
			f.check(t, x)
		}
	}
	for _, f := range functions2 {
		for _, x := range special() {
			for _, y := range special() {
				f.check(t, x, y)
			}
		}
	}
}

// TestExactResults: what is a short number comes out as it.
func TestExactResults(t *testing.T) {
	same := func(what string, x, got, want float64) {
		if got != want {
			t.Errorf("%s(%g) is %v, want %v", what, x, got, want)
		}
	}
	for k := -1074; k < 1024; k++ {
		x := math.Ldexp(1, k)
		same("log2", x, Log2(x), float64(k))
		same("2 **", float64(k), Pow(2, float64(k)), x)
		if k%3 == 0 {
			same("cbrt", x, Cbrt(x), math.Ldexp(1, k/3))
		}
		same("hypot", x, Hypot(x*3, x*4), x*5)
	}
	p := 1.0
	for k := range 23 {
		same("log10", p, Log10(p), float64(k))
		same("10 **", float64(k), Pow(10, float64(k)), p)
		p *= 10
	}
	for k := range 400 {
		x := float64(k)
		same("cube", x, Pow(x, 3), x*x*x)
		same("cbrt", x, Cbrt(x*x*x), x)
		same("square root", x, Pow(x*x, 0.5), x)
		same("first power of", x+0.1, Pow(x+0.1, 1), x+0.1)
	}
	same("exp", 0, Exp(0), 1)
	same("cos", 0, Cos(0), 1)
	same("atan2", 1, Atan2(1, 1), math.Pi/4)
	same("acos", -1, Acos(-1), math.Pi)
	same("asin", 1, Asin(1), math.Pi/2)
}

// TestNoStepBack: over neighbouring arguments and over the borders of tables and
// branches, what grows does not fall.
func TestNoStepBack(t *testing.T) {
	for _, f := range []struct {
		name string
		f    func(float64) float64
		at   []float64
	}{
		{"exp", Exp, []float64{math.Ln2 / 256, 1, 708, -708, -708.3964, -740}}, {"expm1", Expm1, []float64{0.25, -0.25, 40, -40}},
		{"log", Log, []float64{1, 255.0 / 256 / 1, 0.70703125, 0x1p-1022, 3}}, {"log1p", Log1p, []float64{0x1p-54, 1, -0.5}},
		{"atan", Atan, []float64{0.125, 1, 16}}, {"asin", Asin, []float64{0.5, -0.5, 0.99}}, {"sinh", Sinh, []float64{0.25, 22}},
		{"tanh", Tanh, []float64{0.25, 22}}, {"asinh", Asinh, []float64{0.25, 0x1p60}}, {"acosh", Acosh, []float64{2, 0x1p60}}, {"atanh", Atanh, []float64{0.25}},
		{"cbrt", Cbrt, []float64{1, 2, 4, 8, 0x1p-1022}}, {"sin", Sin, []float64{math.Pi / 4, -math.Pi / 4}}, {"tan", Tan, []float64{math.Pi / 8, math.Pi / 4}},
	} {
		for _, x := range f.at {
			for range 300 {
				x = math.Nextafter(x, math.Inf(-1))
			}
			for range 600 {
				next := math.Nextafter(x, math.Inf(1))
				if f.f(next) < f.f(x) {
					t.Errorf("%s falls from %x at %x to %x", f.name, f.f(x), x, f.f(next))
				}
				x = next
			}
		}
	}
}
