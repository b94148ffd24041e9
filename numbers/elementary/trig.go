package elementary

import (
	"math"
	"math/bits"
)

// An angle is a number of right angles and a rest of at most 45 degrees, as a sum,
// whose sine and cosine have short polynomials.

// rest is x less q right angles, for any finite x.
func rest(x float64) (q int, r, low float64) {
	a := abs(x)
	if a <= math.Pi/4 {
		return 0, x, 0
	}
	if a < 0x1p19 {
		s := float64(x*twoOverPi) + toInteger
		q = int(int32(math.Float64bits(s)))
		s -= toInteger
		// The parts of pi/2 have 33 bits: these products are exact.
		r, low = sum(x-float64(s*halfPi1), -float64(s*halfPi2))
		r, low = sum(r, low-float64(s*halfPi3))
		if abs(r) > 0x1p-30 {
			return q, r, low
		}
		// Next to a multiple of pi/2 so much cancels that pi/2 needs more digits.
	}
	q, r, low = restFar(a)
	if x < 0 {
		return -q, -r, -low
	}
	return q, r, low
}

// restFar multiplies with as many bits of 2/pi as it takes: those before them give
// whole turns, those behind do not count.
func restFar(x float64) (q int, r, low float64) {
	b := math.Float64bits(x)
	m, e := b&(1<<52-1)|1<<52, int(b>>52)-1075
	// x is m*2^e. Bit e-64 and those behind it (bit 1 is worth 1/2) are taken, 256 of them.
	at := max(e-64, 0)
	word, shift := at/64, uint(at%64)
	var w [4]uint64
	for i := range w {
		w[i] = twoOverPiBits[word+i]<<shift | twoOverPiBits[word+i+1]>>(64-shift)
	}
	// The product as an integer of 320 bits, the lower 256 of them: the value of its last
	// bit is 2^(e-at-256).
	var p [4]uint64
	carry := uint64(0)
	for i := 3; i >= 0; i-- {
		hi, lo := bits.Mul64(m, w[i])
		var c uint64
		p[i], c = bits.Add64(lo, carry, 0)
		carry = hi + c
	}
	// The point is before bit 256-(256-e+at) = e-at from the top; carry is above p.
	d := e - at
	f := [5]uint64{carry, p[0], p[1], p[2], p[3]}
	q, v := fraction(f, 64+d)
	return assemble(q, v)
}

// fraction splits the bits f behind place n: the two before it, and 192 behind it.
func fraction(f [5]uint64, n int) (q int, v [3]uint64) {
	take := func(at int) uint64 { // 64 bits from bit at on
		w, s := at>>6, uint(at&63)
		get := func(i int) uint64 {
			if i < 0 || i >= len(f) {
				return 0
			}
			return f[i]
		}
		return get(w)<<s | get(w+1)>>(64-s)
	}
	return int(take(n-64) & 3), [3]uint64{take(n), take(n + 64), take(n + 128)}
}

// assemble makes the rest of q right angles and v parts of 2^192 of one.
func assemble(q int, v [3]uint64) (int, float64, float64) {
	sign := 1.0
	if v[0]>>63 == 1 { // more than half: up to the next
		q, sign = q+1, -1
		var c uint64
		v[2], c = bits.Sub64(0, v[2], 0)
		v[1], c = bits.Sub64(0, v[1], c)
		v[0], _ = bits.Sub64(0, v[0], c)
	}
	// 2^-62 is the least that any x leaves.
	n := 0
	if v[0] == 0 {
		v[0], v[1], v[2], n = v[1], v[2], 0, 64
	}
	s := uint(bits.LeadingZeros64(v[0]))
	n += int(s)
	if s > 0 {
		v[0], v[1] = v[0]<<s|v[1]>>(64-s), v[1]<<s|v[2]>>(64-s)
	}
	hi := float64(v[0]>>11) * power2(-53-n)
	lo := float64(v[0]<<53>>11|v[1]>>22) * power2(-106-n)
	r, low := times(hi, halfPiWhole1)
	low += float64(hi*halfPiWhole2) + float64(lo*halfPiWhole1)
	r, low = sum(r, low)
	return q & 3, float64(sign * r), float64(sign * low)
}

// sinNear is the sine of r+low as a sum, for a rest.
func sinNear(r, low float64) (hi, lo float64) {
	z := float64(r * r)
	return r, float64(float64(r*z)*six(&sinPoly, z)) + float64(low*(1-float64(0.5*z)))
}

// cosNear is the cosine of r+low as a sum.
func cosNear(r, low float64) (hi, lo float64) {
	z := float64(r * r)
	a := head(r)
	hi, rest := sum(1, -float64(float64(0.5*a)*a))
	return hi, rest + (float64(float64(z*z)*six(&cosPoly, z)) - float64((r-a)*float64(0.5*(r+a))) - float64(r*low))
}

// Sin is the sine of x radians.
func Sin(x float64) float64 {
	if !(abs(x) < inf) {
		return nan
	}
	if abs(x) < 0x1p-27 {
		return x
	}
	q, r, low := rest(x)
	return turned(q, r, low)
}

// Cos is the cosine of x radians.
func Cos(x float64) float64 {
	if !(abs(x) < inf) {
		return nan
	}
	q, r, low := rest(abs(x))
	return turned(q+1, r, low)
}

// turned is the sine of r+low and q right angles.
func turned(q int, r, low float64) float64 {
	var hi, lo float64
	if q&1 == 0 {
		hi, lo = sinNear(r, low)
	} else {
		hi, lo = cosNear(r, low)
	}
	if q&2 != 0 {
		return -(hi + lo)
	}
	return hi + lo
}

// Sincos is Sin and Cos.
func Sincos(x float64) (sin, cos float64) { return Sin(x), Cos(x) }

// With s and c of the rest of an angle's k eighths of a turn, the tangent is
// (ns*s + nc*c) / (ds*s + dc*c), of which the factors for k modulo 4 are these. The rest is
// at most 22.5 degrees, which makes s precise, and there is nothing to branch on.
var slopes = [4]struct{ ns, nc, ds, dc float64 }{
	{1, 0, 0, 1},
	{1, 1, -1, 1},
	{0, -1, 1, 0},
	{1, -1, 1, 1},
}

// Tan is the tangent of x radians.
func Tan(x float64) float64 {
	if !(abs(x) < inf) {
		return nan
	}
	if abs(x) < 0x1p-27 {
		return x
	}
	k, r, low := restOfEighths(x)
	s, sl := sinNear(r, low)
	c, cl := cosNear(r, low)
	f := &slopes[k&3]
	n, nl := total(float64(f.ns*s), float64(f.nc*c))
	d, dl := total(float64(f.ds*s), float64(f.dc*c))
	n, nl = sum(n, nl+(float64(f.ns*sl)+float64(f.nc*cl)))
	d, dl = sum(d, dl+(float64(f.ds*sl)+float64(f.dc*cl)))
	hi, lo := quotient(n, nl, d, dl)
	return hi + lo
}

// restOfEighths is rest for halves of right angles.
func restOfEighths(x float64) (k int, r, low float64) {
	a := abs(x)
	if a <= math.Pi/8 {
		return 0, x, 0
	}
	if a < 0x1p18 {
		s := float64(x*(2*twoOverPi)) + toInteger
		k = int(int32(math.Float64bits(s)))
		s -= toInteger
		r, low = sum(x-float64(s*(halfPi1/2)), -float64(s*(halfPi2/2)))
		r, low = sum(r, low-float64(s*(halfPi3/2)))
		if abs(r) > 0x1p-30 {
			return k, r, low
		}
	}
	k, r, low = rest(x)
	k *= 2
	if up := withSign(1, r); abs(r) > math.Pi/8 {
		k += int(up)
		r, low = total(r-float64(up*(halfPiWhole1/2)), low-float64(up*(halfPiWhole2/2)))
	}
	return k, r, low
}

// quotient is (a+al)/(b+bl) as a sum.
func quotient(a, al, b, bl float64) (hi, lo float64) {
	inverse := 1 / b
	hi = float64(a * inverse)
	p, pl := times(hi, b)
	return hi, float64(((a - p) - pl + al - float64(hi*bl)) * inverse)
}
