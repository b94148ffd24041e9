package elementary

import "math"

// Pow is x to the power of y: e^(y log x), with a logarithm of 67 bits.
func Pow(x, y float64) float64 {
	sign := 0.0
	if !(x >= 0x1p-1022 && x < inf && abs(y) > 0x1p-65 && abs(y) < 0x1p65) {
		v, done := powSpecial(x, y)
		if done {
			return v
		}
		sign = v
	}
	a := abs(x)
	hi, lo := logOf(a)
	yh, lh := head(y), head(hi)
	yl, ll := y-yh, hi-lh
	p := float64(y * hi)
	rest := ((float64(yh*lh) - p) + float64(yh*ll) + float64(yl*lh)) + (float64(yl*ll) + float64(y*lo))
	var v float64
	switch {
	case abs(p) < 708:
		k, h, l := expParts(p, rest)
		v = math.Float64frombits(math.Float64bits(h+l) + uint64(k)<<52)
	case p > 710:
		v = inf
	case p < -746:
		v = 0
	default:
		k, h, l := expParts(p, rest)
		v = scale(h, l, k)
	}
	if sign < 0 {
		return -v
	}
	return v
}

// powSpecial serves what Pow's formula does not; otherwise v is the result's sign.
func powSpecial(x, y float64) (v float64, done bool) {
	odd, integer := parity(y)
	a := abs(x)
	switch {
	case y == 0 || x == 1:
		return 1, true
	case isNaN(x) || isNaN(y):
		return nan, true
	case abs(y) == inf:
		switch {
		case a == 1:
			return 1, true
		case (a < 1) == (y > 0):
			return 0, true
		}
		return inf, true
	case x == 0 || a == inf:
		v = 0
		if (x == 0) != (y > 0) {
			v = inf
		}
		if odd {
			v = withSign(v, x)
		}
		return v, true
	case x < 0 && !integer:
		return nan, true
	}
	v = 1
	if x < 0 && odd {
		v = -1
	}
	switch {
	case a == 1 || abs(y) <= 0x1p-65:
		return v, true // v is 1 for a y that is not an integer
	case abs(y) < 0x1p65:
		return v, false
	case (a < 1) == (y > 0):
		return 0, true // a y this large is even
	}
	return inf, true
}

// parity reports whether y is an odd integer, and whether it is an integer at all.
func parity(y float64) (odd, integer bool) {
	if a := abs(y); !(a < 0x1p53) {
		return false, a >= 0x1p53
	}
	n := int64(y)
	return float64(n) == y && n&1 == 1 || float64(n) == y && n&1 == -1, float64(n) == y
}
