package elementary

import (
	"math"
	"math/big"
	"sync"
)

// The true values, from power series in arithmetic of oracleBits bits: about 10^60
// times finer than what is tested. Arguments that make a series lose bits (tiny ones)
// are served by its first terms, which are as good as exact there.

const oracleBits = 256

func num(x float64) *big.Float {
	return new(big.Float).SetPrec(oracleBits).SetFloat64(x)
}

func whole(n int64) *big.Float { return new(big.Float).SetPrec(oracleBits).SetInt64(n) }

func fresh() *big.Float { return new(big.Float).SetPrec(oracleBits) }

func add(x, y *big.Float) *big.Float { return fresh().Add(x, y) }
func sub(x, y *big.Float) *big.Float { return fresh().Sub(x, y) }
func mul(x, y *big.Float) *big.Float { return fresh().Mul(x, y) }
func div(x, y *big.Float) *big.Float { return fresh().Quo(x, y) }
func neg(x *big.Float) *big.Float    { return fresh().Neg(x) }
func root(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return x
	}
	return fresh().Sqrt(x)
}
func half(x *big.Float) *big.Float         { return twoTo(x, -1) }
func twoTo(x *big.Float, n int) *big.Float { return fresh().SetMantExp(x, n) }

// tiny reports whether x*x vanishes when it is added to 1.
func tiny(x *big.Float) bool { return x.Sign() == 0 || x.MantExp(nil) < -90 }

// series adds up terms until they no longer count; next makes the n-th from the one before.
func series(first *big.Float, next func(t *big.Float, n int64) *big.Float) *big.Float {
	sum, t := fresh().Set(first), first
	for n := int64(1); t.Sign() != 0 && t.MantExp(nil) > sum.MantExp(nil)-oracleBits-4; n++ {
		t = next(t, n)
		sum = add(sum, t)
	}
	return sum
}

// piBits holds pi to more bits than the exponents of a float64 reach.
var piBits = sync.OnceValue(func() *big.Float {
	// Machin: pi/4 = 4 atan(1/5) - atan(1/239), in fixed point.
	const bits = 2000
	arc := func(n int64) *big.Int {
		t := new(big.Int).Lsh(big.NewInt(1), bits)
		t.Quo(t, big.NewInt(n))
		sum, square := new(big.Int).Set(t), big.NewInt(n*n)
		for k := int64(3); t.Sign() != 0; k += 2 {
			t.Quo(t, square)
			t.Neg(t)
			sum.Add(sum, new(big.Int).Quo(t, big.NewInt(k)))
		}
		return sum
	}
	s := arc(5)
	s.Mul(s, big.NewInt(4)).Sub(s, arc(239))
	return new(big.Float).SetPrec(bits-16).SetMantExp(new(big.Float).SetPrec(bits-16).SetInt(s), 2-bits)
})

func pi() *big.Float { return fresh().Set(piBits()) }

var ln2 = sync.OnceValue(func() *big.Float {
	// 2 atanh(1/3)
	x := div(whole(1), whole(3))
	z, p := mul(x, x), x
	return twoTo(series(x, func(_ *big.Float, n int64) *big.Float {
		p = mul(p, z)
		return div(p, whole(2*n+1))
	}), 1)
})

func nearest(x *big.Float) *big.Int {
	h := new(big.Float).SetPrec(x.Prec()).SetFloat64(math.Copysign(0.5, float64(x.Sign())))
	n, _ := h.Add(h, x).Int(nil)
	return n
}

func bigExpm1(x *big.Float) *big.Float {
	if tiny(x) {
		return add(x, half(mul(x, x)))
	}
	return sub(bigExp(x), whole(1))
}

func bigExp(x *big.Float) *big.Float {
	if tiny(x) {
		return add(whole(1), x)
	}
	if x.MantExp(nil) > 14 { // beyond all float64
		return twoTo(whole(1), 30000*x.Sign())
	}
	k := nearest(div(x, ln2()))
	const halvings = 12
	r := twoTo(sub(x, mul(ln2(), fresh().SetInt(k))), -halvings)
	y := series(whole(1), func(t *big.Float, n int64) *big.Float { return div(mul(t, r), whole(n)) })
	for range halvings {
		y = mul(y, y)
	}
	return twoTo(y, int(k.Int64()))
}

func bigLog(x *big.Float) *big.Float {
	m := fresh()
	k := x.MantExp(m)
	if m.Cmp(num(0.7)) < 0 {
		m, k = twoTo(m, 1), k-1
	}
	f, _ := m.Float64()
	y := num(math.Log(f))
	for range 3 { // each triples the bits that are right
		e := bigExp(y)
		y = add(y, twoTo(div(sub(m, e), add(m, e)), 1))
	}
	return add(y, mul(ln2(), whole(int64(k))))
}

func bigLog1p(x *big.Float) *big.Float {
	if tiny(x) {
		return sub(x, half(mul(x, x)))
	}
	return bigLog(add(whole(1), x))
}

// bigSinCos is both, for any finite x.
func bigSinCos(x *big.Float) (s, c *big.Float) {
	if tiny(x) {
		return sub(x, div(mul(x, mul(x, x)), whole(6))), sub(whole(1), half(mul(x, x)))
	}
	wide := piBits().Prec()
	quarter := new(big.Float).SetPrec(wide).SetMantExp(piBits(), -1)
	k := nearest(new(big.Float).SetPrec(wide).Quo(x, quarter))
	t := new(big.Float).SetPrec(wide).SetInt(k)
	r := fresh().Set(t.Sub(x, t.Mul(t, quarter)))
	z := neg(mul(r, r))
	s = series(r, func(t *big.Float, n int64) *big.Float { return div(mul(t, z), whole(2*n*(2*n+1))) })
	c = series(whole(1), func(t *big.Float, n int64) *big.Float { return div(mul(t, z), whole(2*n*(2*n-1))) })
	switch new(big.Int).And(k, big.NewInt(3)).Int64() {
	case 1:
		s, c = c, neg(s)
	case 2:
		s, c = neg(s), neg(c)
	case 3:
		s, c = neg(c), s
	}
	return s, c
}

func bigSin(x *big.Float) *big.Float { s, _ := bigSinCos(x); return s }
func bigCos(x *big.Float) *big.Float { _, c := bigSinCos(x); return c }
func bigTan(x *big.Float) *big.Float { s, c := bigSinCos(x); return div(s, c) }

func bigAtan(x *big.Float) *big.Float {
	if tiny(x) {
		return sub(x, div(mul(x, mul(x, x)), whole(3)))
	}
	if x.MantExp(nil) > 1 {
		return sub(fresh().SetMantExp(mul(pi(), whole(int64(x.Sign()))), -1), bigAtan(div(whole(1), x)))
	}
	const halvings = 6
	for range halvings {
		x = div(x, add(whole(1), root(add(whole(1), mul(x, x)))))
	}
	z, p := neg(mul(x, x)), x
	y := series(x, func(_ *big.Float, n int64) *big.Float {
		p = mul(p, z)
		return div(p, whole(2*n+1))
	})
	return twoTo(y, halvings)
}

func bigAtan2(y, x *big.Float) *big.Float {
	switch {
	case x.Sign() == 0:
		return mul(half(pi()), whole(int64(y.Sign())))
	case x.Sign() > 0:
		return bigAtan(div(y, x))
	case y.Sign() < 0:
		return sub(bigAtan(div(y, x)), pi())
	}
	return add(bigAtan(div(y, x)), pi())
}

func bigAsin(x *big.Float) *big.Float {
	if tiny(x) {
		return add(x, div(mul(x, mul(x, x)), whole(6)))
	}
	return bigAtan2(x, root(sub(whole(1), mul(x, x))))
}

func bigAcos(x *big.Float) *big.Float {
	return twoTo(bigAtan2(root(sub(whole(1), x)), root(add(whole(1), x))), 1)
}

func bigSinh(x *big.Float) *big.Float {
	if tiny(x) {
		return add(x, div(mul(x, mul(x, x)), whole(6)))
	}
	e := bigExp(x)
	return half(sub(e, div(whole(1), e)))
}

func bigCosh(x *big.Float) *big.Float {
	e := bigExp(x)
	return half(add(e, div(whole(1), e)))
}

func bigTanh(x *big.Float) *big.Float {
	if tiny(x) {
		return sub(x, div(mul(x, mul(x, x)), whole(3)))
	}
	return div(bigSinh(x), bigCosh(x))
}

func bigAsinh(x *big.Float) *big.Float {
	if tiny(x) {
		return sub(x, div(mul(x, mul(x, x)), whole(6)))
	}
	if x.Sign() < 0 {
		return neg(bigAsinh(neg(x)))
	}
	return bigLog(add(x, root(add(mul(x, x), whole(1)))))
}

func bigAcosh(x *big.Float) *big.Float {
	return bigLog(add(x, root(sub(mul(x, x), whole(1)))))
}

func bigAtanh(x *big.Float) *big.Float {
	if tiny(x) {
		return add(x, div(mul(x, mul(x, x)), whole(3)))
	}
	return half(bigLog(div(add(whole(1), x), sub(whole(1), x))))
}

func bigLog2(x *big.Float) *big.Float  { return div(bigLog(x), ln2()) }
func bigLog10(x *big.Float) *big.Float { return div(bigLog(x), bigLog(whole(10))) }

func bigCbrt(x *big.Float) *big.Float {
	if x.Sign() < 0 {
		return neg(bigCbrt(neg(x)))
	}
	return bigExp(div(bigLog(x), whole(3)))
}

func bigHypot(x, y *big.Float) *big.Float { return root(add(mul(x, x), mul(y, y))) }

// bigPow is for x above 0.
func bigPow(x, y *big.Float) *big.Float { return bigExp(mul(y, bigLog(x))) }
