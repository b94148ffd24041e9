package elementary

import "math"

// x is 2^k*z for a z in [0.707, 1.414), and z one of logSteps numbers c, which a table
// has, times 1+r for an r of at most 2^-8. As the table's 1/c is short, r has its product
// exactly, and as one c is 1, the logarithm has all its digits where it is small.
const (
	logBits  = 7
	logSteps = 1 << logBits
	// logFrom is the bits of the first c.
	logFrom = 0x3fe6a00000000000
)

// logStep holds 1/c and log(c); what multiples of ln2 are added to hi are exact.
type logStep struct{ inv, hi, lo float64 }

// Log is the natural logarithm.
func Log(x float64) float64 {
	k := 0.0
	b := math.Float64bits(x)
	if b-1<<52 >= 0x7fe<<52 { // 0, subnormal, negative, infinite, NaN
		if !(x > 0 && x < inf) {
			return logSpecial(x)
		}
		b, k = math.Float64bits(x*0x1p54), -54
	}
	t := b - (logFrom - 1<<(51-logBits))
	e := &logTable[t>>(52-logBits)&(logSteps-1)]
	k += float64(int64(t) >> 52)
	b -= t &^ (1<<52 - 1)
	z := math.Float64frombits(b)
	zh := math.Float64frombits(b &^ (1<<21 - 1))

	rh, rl := float64(zh*e.inv)-1, float64((z-zh)*e.inv)
	r := rh + rl
	s := float64(k*ln21) + e.hi
	hi := s + r
	lo := ((s - hi) + r) + (((rh - r) + rl) + (float64(k*ln22) + e.lo))
	q := float64(r * r)
	p := madd(r, 1.0/3, -0.5) + float64(q*(madd(r, 1.0/5, -0.25)+float64(q*madd(r, 1.0/7, -1.0/6))))
	return hi + (lo + float64(q*p))
}

// logSpecial is the logarithm, of any base, of what is not positive and finite.
func logSpecial(x float64) float64 {
	switch {
	case x == 0:
		return -inf
	case x < 0:
		return nan
	}
	return x // +Inf, NaN
}

// logParts is log((x+low) * 2^k0) as a sum that is right to about 2^-67, for a normal x > 0
// and a low of at most its last bit.
func logParts(x, low float64, k0 int) (hi, lo float64) {
	b := math.Float64bits(x)
	t := b - (logFrom - 1<<(51-logBits))
	e := &logTable[t>>(52-logBits)&(logSteps-1)]
	n := int(int64(t) >> 52)
	k := float64(n + k0)
	b -= t &^ (1<<52 - 1)
	z := math.Float64frombits(b)
	zh := math.Float64frombits(b &^ (1<<21 - 1))

	r, d := sum(float64(zh*e.inv)-1, float64((z-zh)*e.inv))
	if low != 0 {
		l := float64(low*power2(-n/2)) * power2(n/2-n)
		r, l = sum(r, float64(l*e.inv))
		d += l
	}
	// Now 1+r+d is z/c.
	// The square, halved: of the head exactly, and the rest of it.
	a := head(r)
	c := (r - a) + d
	q, ql := float64(float64(0.5*a)*a), float64(c*(a+float64(0.5*c)))
	hi, e1 := sum(float64(k*ln21)+e.hi, r)
	hi, e2 := sum(hi, -q)

	w := float64(r * r)
	p := madd(r, -0.25, 1.0/3) + float64(w*(madd(r, -1.0/6, 1.0/5)+float64(w*madd(r, -1.0/8, 1.0/7))))
	lo = float64(float64(w*r)*p) - ql + (float64(k*ln22) + e.lo) + ((e1 + e2) + d)
	return sum(hi, lo)
}

// logOf is logParts of any positive finite x.
func logOf(x float64) (hi, lo float64) {
	if x < 0x1p-1022 {
		return logParts(x*0x1p54, 0, -54)
	}
	return logParts(x, 0, 0)
}

// Log2 is the logarithm of base 2, exact for powers of 2.
func Log2(x float64) float64 {
	if !(x > 0 && x < inf) {
		return logSpecial(x)
	}
	k, m := 0, math.Float64bits(x)
	if x < 0x1p-1022 {
		k, m = -54, math.Float64bits(x*0x1p54)
	}
	n := int64(m-logFrom) >> 52
	hi, lo := scaled(math.Float64frombits(m-uint64(n)<<52), log2E1, log2E2)
	whole := float64(int(n) + k)
	if whole == 0 {
		return hi + lo
	}
	hi, rest := sum(whole, hi)
	return hi + (rest + lo)
}

// Log10 is the logarithm of base 10, exact for powers of 10.
func Log10(x float64) float64 {
	if !(x > 0 && x < inf) {
		return logSpecial(x)
	}
	hi, lo := scaled(x, log10E1, log10E2)
	return hi + lo
}

// scaled is log(x) times c1+c2, whose first part is a head.
func scaled(x, c1, c2 float64) (hi, lo float64) {
	h, l := logOf(x)
	a := head(h)
	return sum(float64(a*c1), float64((h-a)*c1)+float64(h*c2)+float64(l*c1))
}

// Log1p is log(1+x), without the loss of x where it is small.
func Log1p(x float64) float64 {
	switch {
	case !(x > -1 && x < inf):
		if x == -1 {
			return -inf
		}
		return logSpecial(x)
	case abs(x) < 0x1p-54:
		return x
	}
	u, low := total(1, x)
	hi, lo := logParts(u, low, 0)
	return hi + lo
}
