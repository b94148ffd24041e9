package elementary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// digestOf is FNV-1a of the bits of the results of f for some 20,000 arguments.
func digestOf(f func(r *rand.Rand) float64, hard []float64, one func(x float64) float64) uint64 {
	h := uint64(0xcbf29ce484222325)
	add := func(x float64) {
		b := math.Float64bits(x)
		if x != x {
			b = 0x7ff8 << 48 // NaNs differ in their bits, and none counts
		}
		for i := 0; i < 64; i += 8 {
			h = (h ^ b>>i&0xff) * 0x100000001b3
		}
	}
	for _, x := range hard {
		add(one(x))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		add(f(r))
	}
	return h
}

// arbitrary is a number of the size that data have, or of any.
func arbitrary(r *rand.Rand) float64 {
	switch r.IntN(4) {
	case 0:
		return math.Float64frombits(r.Uint64())
	case 1:
		return r.Float64()*2 - 1
	case 2:
		return float64((r.Float64()*2 - 1) * 50)
	}
	return math.Float64frombits(r.Uint64()&^(0x7ff<<52) | (1023-16+r.Uint64N(26))<<52)
}

func digests() string {
	// The hard arguments, less those that package math makes.
	var fixed []float64
	for _, x := range []float64{0, 0.125, 0.25, 0.5, 1, 2, 3, 16, 22, 100, 709.782712893384, 710.4758600739439, 745.1332191019411, 0x1p19, 1e15, 1e22, 1e300,
		math.Inf(1), math.NaN(), math.MaxFloat64, least, 0x1p-1022, math.Pi, math.Pi / 2, 6381956970095103 * 0x1p797} {
		fixed = append(fixed, x, -x, math.Nextafter(x, 0), math.Nextafter(x, math.Inf(1)))
	}
	var b strings.Builder
	for _, f := range functions {
		fmt.Fprintf(&b, "%s %016x\n", f.name, digestOf(func(r *rand.Rand) float64 { return f.ours(arbitrary(r)) }, fixed, f.ours))
	}
	for _, f := range functions2 {
		fmt.Fprintf(&b, "%s %016x\n", f.name, digestOf(func(r *rand.Rand) float64 {
			x := arbitrary(r)
			if f.name == "pow" && r.IntN(4) > 0 {
				x = abs(x)
			}
			return f.ours(x, arbitrary(r))
		}, fixed, func(x float64) float64 { return f.ours(x, 1.5) + f.ours(1.5, x) }))
	}
	return b.String()
}

// TestSameBitsOnEveryMachine holds digests of results. They may change only if a function is
// rewritten, and then bytes of data sets change, too.
func TestSameBitsOnEveryMachine(t *testing.T) {
	got := digests()
	const file = "testdata/digests"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
