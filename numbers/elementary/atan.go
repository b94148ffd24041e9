package elementary

import "math"

// From 1/8 to 16 a table has the angles of atanSteps tangents c, and the tangent of what
// is left of x is t = (x-c)/(1+xc), at most 2^-7. Below, and for the reciprocal above, a
// polynomial is enough.
const (
	atanBits  = 5
	atanSteps = 7<<atanBits + 1
	atanFrom  = 0x3fc0000000000000 // 1/8
)

// Atan is the angle whose tangent is x.
func Atan(x float64) float64 {
	a := abs(x)
	if a < 0.125 {
		if a < 0x1p-27 {
			return x
		}
		return x + atanRest(x)
	}
	if !(a < 16) {
		if isNaN(x) {
			return x
		}
		u := -1 / a
		return withSign(halfPiWhole1+(u+(halfPiWhole2+atanRest(u))), x)
	}
	i := (math.Float64bits(a) - (atanFrom - 1<<(51-atanBits))) >> (52 - atanBits)
	e := &atanTable[i]
	c := math.Float64frombits(atanFrom + i<<(52-atanBits))
	t := (a - c) / madd(a, c, 1)
	z := float64(t * t)
	return withSign(e.hi+(t+(e.lo+float64(float64(t*z)*madd(z, madd(z, -1.0/7, 1.0/5), -1.0/3)))), x)
}

// atanRest is atan(x) - x for |x| of at most 1/8.
func atanRest(x float64) float64 {
	c, z := &atanPoly, float64(x*x)
	w := float64(z * z)
	even := madd(madd(madd(c[6], w, c[4]), w, c[2]), w, c[0])
	odd := madd(madd(c[5], w, c[3]), w, c[1])
	return float64(float64(x*z) * madd(odd, z, even))
}

// atanParts is atan(x+low) as a sum, for x from 2^-64 to 2^64.
func atanParts(x, low float64) (hi, lo float64) {
	if x < 0.125 {
		return x, atanRest(x) + float64(low*(1-float64(x*x)))
	}
	if x >= 16 {
		u, ul := quotient(-1, 0, x, low)
		return sum(halfPiWhole1, u+(ul+halfPiWhole2+atanRest(u)))
	}
	i := (math.Float64bits(x) - (atanFrom - 1<<(51-atanBits))) >> (52 - atanBits)
	e := &atanTable[i]
	c := math.Float64frombits(atanFrom + i<<(52-atanBits))
	d := madd(x, c, 1)
	t := ((x - c) + low) / d
	z := float64(t * t)
	return sum(e.hi, t+(e.lo+float64(float64(t*z)*madd(z, madd(z, -1.0/7, 1.0/5), -1.0/3))))
}

// Atan2 is the angle of the point (x, y) in (-pi, pi].
func Atan2(y, x float64) float64 {
	a, b := abs(y), abs(x)
	switch {
	case isNaN(x) || isNaN(y):
		return nan
	case a == 0 || b == inf || a == inf || b == 0:
		return atan2Special(y, x)
	}
	n := exponent(a) - exponent(b)
	switch {
	case n > 60:
		return withSign(halfPiWhole1, y)
	case n < -60 && x < 0:
		return withSign(piWhole1, y)
	case n < -60:
		return y / x // which may be subnormal
	}
	if k := exponent(b); k < -900 || k > 900 {
		a, b = normal(a, -k), normal(b, -k)
	}
	q, ql := quotient(a, 0, b, 0)
	hi, lo := atanParts(q, ql)
	if x < 0 {
		var rest float64
		hi, rest = sum(piWhole1, -hi)
		lo = rest + (piWhole2 - lo)
	}
	return withSign(hi+lo, y)
}

// atan2Special is Atan2 on the axes and at infinity.
func atan2Special(y, x float64) float64 {
	right := math.Float64bits(x)&signBit == 0
	flat := y == 0 || abs(x) == inf && abs(y) != inf
	switch {
	case y == 0 && x == 0, flat:
		if right {
			return withSign(0, y)
		}
		return withSign(piWhole1, y)
	case abs(x) != inf:
		return withSign(halfPiWhole1, y)
	case right:
		return withSign(math.Pi/4, y)
	}
	return withSign(3*math.Pi/4, y)
}

// exponent is that of the first bit of x, also of a subnormal one.
func exponent(x float64) int {
	if x < 0x1p-1022 {
		return int(math.Float64bits(x*0x1p54)>>52) - 1023 - 54
	}
	return int(math.Float64bits(x)>>52) - 1023
}

// normal is x*2^n for a result that is far from overflow and underflow.
func normal(x float64, n int) float64 {
	h := n / 2
	return float64(x*power2(h)) * power2(n-h)
}

// asinRest is asin(x) - x for |x| of at most 1/2.
func asinRest(x, z float64) float64 {
	c, w := &asinPoly, float64(z*z)
	v := float64(w * w)
	p0 := madd(z, c[1], c[0]) + float64(w*madd(z, c[3], c[2]))
	p1 := madd(z, c[5], c[4]) + float64(w*madd(z, c[7], c[6]))
	p2 := madd(z, c[9], c[8]) + float64(w*(madd(z, c[11], c[10])+float64(w*c[12])))
	return float64(float64(x*z) * (p0 + float64(v*(p1+float64(v*p2)))))
}

// halfway is asin(sqrt((1-a)/2)) as a sum, for a in [0.5, 1].
func halfway(a float64) (hi, lo float64) {
	z := float64(0.5 * (1 - a))
	if z == 0 {
		return 0, 0
	}
	s := math.Sqrt(z)
	h := head(s)
	l := s - h
	c := ((z - float64(h*h)) - float64(l*(s+h))) / (s + s)
	return s, c + asinRest(s, z)
}

// Asin is the angle whose sine is x.
func Asin(x float64) float64 {
	a := abs(x)
	switch {
	case a < 0x1p-27:
		return x
	case a <= 0.5:
		return x + asinRest(x, float64(x*x))
	case !(a <= 1):
		return nan
	}
	hi, lo := halfway(a)
	hi, rest := sum(halfPiWhole1, -(hi + hi))
	return withSign(hi+(rest+(halfPiWhole2-(lo+lo))), x)
}

// Acos is the angle whose cosine is x.
func Acos(x float64) float64 {
	switch {
	case abs(x) <= 0.5:
		hi, rest := sum(halfPiWhole1, -x)
		return hi + (rest + (halfPiWhole2 - asinRest(x, float64(x*x))))
	case !(abs(x) <= 1):
		return nan
	}
	hi, lo := halfway(abs(x))
	if x > 0 {
		return 2 * (hi + lo)
	}
	hi, rest := sum(piWhole1, -(hi + hi))
	return hi + (rest + (piWhole2 - (lo + lo)))
}
