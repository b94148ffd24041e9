package elementary

import "math"

// Sinh is the hyperbolic sine.
func Sinh(x float64) float64 {
	a := abs(x)
	switch {
	case a < 0x1p-27 || isNaN(x):
		return x
	case a < 0.25:
		z := float64(x * x)
		return x + float64(float64(x*z)*six(&sinhPoly, z))
	case a < 22:
		p, pl, q, ql := both(a)
		hi, rest := sum(p, -q)
		return withSign(hi+(rest+(pl-ql)), x)
	}
	return withSign(halfExp(a), x)
}

// Cosh is the hyperbolic cosine.
func Cosh(x float64) float64 {
	a := abs(x)
	switch {
	case isNaN(x):
		return x
	case a < 22:
		p, pl, q, ql := both(a)
		hi, rest := sum(p, q)
		return hi + (rest + (pl + ql))
	}
	return halfExp(a)
}

// Tanh is the hyperbolic tangent.
func Tanh(x float64) float64 {
	a := abs(x)
	switch {
	case a < 0x1p-27 || isNaN(x):
		return x
	case a < 0.25:
		c, z := &tanhPoly, float64(x*x)
		w := float64(z * z)
		p := madd(z, c[1], c[0]) + float64(w*madd(z, c[3], c[2]))
		q := madd(z, c[5], c[4]) + float64(w*madd(z, c[7], c[6]))
		return x + float64(float64(x*z)*(p+float64(float64(w*w)*q)))
	case a > 22:
		return withSign(1, x)
	}
	k, hi, lo := expParts(2*a, 0)
	s := power2(k)
	hi, lo = float64(hi*s), float64(lo*s)
	n, nl := sum(hi, -1)
	d, dl := sum(hi, 1)
	n, nl = sum(n, nl+lo)
	d, dl = sum(d, dl+lo)
	q, ql := quotient(n, nl, d, dl)
	return withSign(q+ql, x)
}

// both is half of e^x and half of e^-x, as sums.
func both(x float64) (p, pl, q, ql float64) {
	k, hi, lo := expParts(x, 0)
	s := power2(k - 1)
	p, pl = float64(hi*s), float64(lo*s)
	k, hi, lo = expParts(-x, 0)
	s = power2(k - 1)
	return p, pl, float64(hi * s), float64(lo * s)
}

// halfExp is e^x/2, which may be finite where e^x is not, for x > 0.
func halfExp(x float64) float64 {
	if x > 711 {
		return inf
	}
	k, hi, lo := expParts(x, 0)
	return scale(hi, lo, k-1)
}

func six(c *[6]float64, z float64) float64 {
	w := float64(z * z)
	return madd(z, c[1], c[0]) + float64(w*(madd(z, c[3], c[2])+float64(w*madd(z, c[5], c[4]))))
}

func nine(c *[9]float64, z float64) float64 {
	w := float64(z * z)
	p := madd(z, c[1], c[0]) + float64(w*madd(z, c[3], c[2]))
	q := madd(z, c[5], c[4]) + float64(w*(madd(z, c[7], c[6])+float64(w*c[8])))
	return p + float64(float64(w*w)*q)
}

// Asinh is the inverse of Sinh.
func Asinh(x float64) float64 {
	a := abs(x)
	switch {
	case a < 0x1p-27 || !(a < inf):
		return x
	case a < 0.25:
		z := float64(x * x)
		return x + float64(float64(x*z)*nine(&asinhPoly, z))
	case a > 0x1p60:
		hi, lo := logParts(a, 0, 1)
		return withSign(hi+lo, x)
	}
	s, sl := times(a, a)
	s, rest := total(s, 1)
	s, sl = sqrtOf(s, rest+sl)
	s, rest = sum(s, a)
	s, sl = sum(s, rest+sl)
	hi, lo := logParts(s, sl, 0)
	return withSign(hi+lo, x)
}

// Acosh is the inverse of Cosh.
func Acosh(x float64) float64 {
	switch {
	case !(x >= 1):
		return nan
	case x > 0x1p60:
		if x == inf {
			return x
		}
		hi, lo := logParts(x, 0, 1)
		return hi + lo
	case x == 1:
		return 0
	}
	// log(1 + t + sqrt(t*(t+2))), where t = x-1 may be small.
	t := x - 1
	var tl float64
	if x > 2 {
		tl = (x - t) - 1
	}
	u, ul := total(t, 2)
	s, sl := times(t, u)
	sl += float64(t*ul) + float64(2*float64(tl*(t+1)))
	s, sl = sum(s, sl)
	s, sl = sqrtOf(s, sl)
	s, rest := total(s, t)
	s, sl = sum(s, rest+(sl+tl))
	v, rest := total(s, 1)
	v, sl = sum(v, rest+sl)
	hi, lo := logParts(v, sl, 0)
	return hi + lo
}

// sqrtOf is the square root of x+low as a sum.
func sqrtOf(x, low float64) (hi, lo float64) {
	hi = math.Sqrt(x)
	h := head(hi)
	l := hi - h
	rest := ((x - float64(h*h)) - float64(l*(hi+h))) + low
	return hi, float64(float64(rest*(0.5/x)) * hi) // rest/(2 hi), without waiting for hi
}

// Atanh is the inverse of Tanh.
func Atanh(x float64) float64 {
	a := abs(x)
	switch {
	case a < 0x1p-27:
		return x
	case a < 0.25:
		z := float64(x * x)
		return x + float64(float64(x*z)*nine(&atanhPoly, z))
	case !(a < 1):
		if a == 1 {
			return withSign(inf, x)
		}
		return nan
	}
	p, low := sum(1, a)
	p, pl := logParts(p, low, -1)
	q, low := sum(1, -a)
	q, ql := logParts(q, low, -1)
	// Each has a log(2) too much, taken off; their difference halved is what is wanted.
	hi, rest := total(p, -q)
	return withSign(0.5*(hi+(rest+(pl-ql))), x)
}
