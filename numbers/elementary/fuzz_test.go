package elementary

import (
	"math"
	"testing"
)

// FuzzFunctions: no panic, special values as they should be, all others less than 1 ulp
// from the truth, symmetry to the last bit.
func FuzzFunctions(f *testing.F) {
	for _, x := range special() {
		f.Add(x, 1.5)
		f.Add(0.7, x)
	}
	f.Add(0x1p-1030, 0x1.5555555555555p-03) // math.Pow is far off
	f.Fuzz(func(t *testing.T, x, y float64) {
		for _, c := range functions {
			c.check(t, x)
			got := c.ours(x)
			if m := c.ours(-x); c.parity != 0 && m == m && math.Float64bits(m) != math.Float64bits(got*float64(c.parity)) {
				t.Errorf("%s(%x) is %x, and at -x %x", c.name, x, got, m)
			}
		}
		s, c := Sincos(x)
		if x-x == 0 && (s != Sin(x) || c != Cos(x)) {
			t.Errorf("Sincos(%x) is not Sin and Cos", x)
		}
		for _, c := range functions2 {
			c.check(t, x, y)
		}
	})
}
