package elementary

import "math"

// e^x is 2^k times 2^(i/expSteps), which a table has, times e^r for an r of at most
// ln2/(2 expSteps), whose series is short.
const (
	expBits  = 7
	expSteps = 1 << expBits
)

// toInteger, added and taken away again, rounds to an integer, which is in the low
// bits of the sum.
const toInteger = 0x1.8p52

// expParts is e^(x+low) as 2^k*(hi+lo) with hi in [1, 2) and lo below 0.003, for |x| < 1000.
func expParts(x, low float64) (k int, hi, lo float64) {
	s := float64(x*stepsOverLn2) + toInteger
	n := int(int32(math.Float64bits(s)))
	s -= toInteger
	r := (x - float64(s*ln2N1)) + (low - float64(s*ln2N2))
	z := float64(r * r)
	p := r + float64(z*(madd(r, 1.0/6, 0.5)+float64(z*madd(r, 1.0/120, 1.0/24))))
	e := &expTable[n&(expSteps-1)]
	return n >> expBits, e.hi, e.lo + float64(e.hi*p)
}

// Exp is e^x.
func Exp(x float64) float64 {
	if !(abs(x) < 708) {
		return expFar(x)
	}
	s := float64(x*stepsOverLn2) + toInteger
	n := math.Float64bits(s)
	s -= toInteger
	r := (x - float64(s*ln2N1)) - float64(s*ln2N2)
	z := float64(r * r)
	p := r + float64(z*(madd(r, 1.0/6, 0.5)+float64(z*madd(r, 1.0/120, 1.0/24))))
	e := &expTable[n&(expSteps-1)]
	y := e.hi + (e.lo + float64(e.hi*p))
	return math.Float64frombits(math.Float64bits(y) + n>>expBits<<52)
}

func expFar(x float64) float64 {
	switch {
	case isNaN(x):
		return x
	case x > 710:
		return inf
	case x < -746:
		return 0
	}
	k, hi, lo := expParts(x, 0)
	return scale(hi, lo, k)
}

// Expm1 is e^x - 1, without the loss of it where x is small.
func Expm1(x float64) float64 {
	switch a := abs(x); {
	case a < 0x1p-54 || isNaN(x):
		return x
	case a < 0.25:
		c, z := &expm1Poly, float64(x*x)
		even := madd(madd(madd(madd(c[8], z, c[6]), z, c[4]), z, c[2]), z, c[0])
		odd := madd(madd(madd(madd(c[9], z, c[7]), z, c[5]), z, c[3]), z, c[1])
		return x + (float64(0.5*z) + float64(float64(x*z)*madd(odd, x, even)))
	case x > 40:
		return Exp(x)
	case x < -40:
		return -1
	}
	k, hi, lo := expParts(x, 0)
	s := power2(k)
	hi, rest := total(float64(hi*s), -1)
	return hi + (rest + float64(lo*s))
}
