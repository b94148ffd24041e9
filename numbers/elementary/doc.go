// Package elementary has the elementary functions with the same bits on every machine.
//
// Those of package math are assembly on some machines, and on others the compiler fuses
// their products and sums, so that the last bits of a result depend on the machine.
// Here every product that is added is rounded first, float64(x*y) + z, which the
// language forbids to fuse; all else is sums, quotients, square roots and integers, which
// are the same everywhere. There is no fused multiply-add: on amd64 each costs a test of
// the processor (a polynomial of 8 terms, over a vector: 6.2 ns, and 4.0 ns without), and the
// few exact products that are needed have factors of 26 bits.
//
// Results are less than 1 ulp from the true value: the worst seen are 0.8 for sine and cosine,
// 0.65 for the other functions.
// Special values are those of C99, Annex F, and of package math. Odd and even functions
// are so to the last bit.
//
// The price: 1.1 times the time of package math in the median, from 0.45 times (exp) to 2.9 times (tan); make
// bench-libraries has all.
// There are no functions of vectors, of float32 or of complex numbers.
//
// The numbers in tables.go come from power series in wide arithmetic (tables_test.go).
package elementary

import "math"

// split is a number as a sum: hi is it rounded, lo the rest.
type split struct{ hi, lo float64 }

// madd is x*y + z with both rounded, on machines that could do it in one step too.
func madd(x, y, z float64) float64 { return float64(x*y) + z }

// head is the first 26 bits of x or fewer. The product of two heads is exact.
func head(x float64) float64 {
	return math.Float64frombits(math.Float64bits(x) &^ (1<<27 - 1))
}

// times is x*y as a sum. It is exact as long as nothing overflows or underflows.
func times(x, y float64) (hi, lo float64) {
	a, c := head(x), head(y)
	b, d := x-a, y-c
	hi = float64(x * y)
	return hi, ((float64(a*c) - hi) + float64(a*d) + float64(b*c)) + float64(b*d)
}

// sum is x+y as a sum, exactly, for |x| >= |y| (or x a multiple of y's last bit).
func sum(x, y float64) (hi, lo float64) {
	hi = x + y
	return hi, (x - hi) + y
}

// total is sum for any x and y.
func total(x, y float64) (hi, lo float64) {
	hi = x + y
	b := hi - x
	return hi, (x - (hi - b)) + (y - b)
}

// power2 is 2^n for a normal result.
func power2(n int) float64 { return math.Float64frombits(uint64(n+1023) << 52) }

// scale is (hi+lo)*2^n for a hi in [1, 2) and a lo below 0.01, rounded once.
func scale(hi, lo float64, n int) float64 {
	switch {
	case n > 1100:
		return math.Inf(1)
	case n > 1000:
		return float64((hi+lo)*0x1p1000) * power2(n-1000)
	case n < -1100:
		return 0
	case n < -1022 || n == -1022 && hi+lo < 1:
		// Beside c, the last bit is the one that subnormal numbers end with.
		c := power2(-1022 - n)
		y, rest := total(c, hi)
		y += rest + lo
		return float64((y-c)*power2(n+200)) * 0x1p-200
	}
	return (hi + lo) * power2(n)
}

func isNaN(x float64) bool { return x != x }

var inf, nan = math.Inf(1), math.NaN()

const signBit = 1 << 63

// withSign is |x| with the sign of s.
func withSign(x, s float64) float64 {
	return math.Float64frombits(math.Float64bits(x)&^signBit | math.Float64bits(s)&signBit)
}

func abs(x float64) float64 { return math.Float64frombits(math.Float64bits(x) &^ signBit) }
