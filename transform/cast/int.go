package cast

import (
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/transform/op"
)

func convertValues(dst []byte, t caster, src []byte, from shardify.DType) lost {
	switch from {
	case shardify.Bool:
		return fromInt[uint8](dst, t, src)
	case shardify.I8:
		return fromInt[int8](dst, t, src)
	case shardify.I16:
		return fromInt[int16](dst, t, src)
	case shardify.I32:
		return fromInt[int32](dst, t, src)
	case shardify.I64:
		return fromInt[int64](dst, t, src)
	case shardify.U8:
		return fromInt[uint8](dst, t, src)
	case shardify.U16:
		return fromInt[uint16](dst, t, src)
	case shardify.U32:
		return fromInt[uint32](dst, t, src)
	case shardify.U64:
		return fromInt[uint64](dst, t, src)
	case shardify.F32:
		return fromFloat[float32](dst, t, src)
	case shardify.F64:
		return fromFloat[float64](dst, t, src)
	}
	return fromHalf(dst, t, src, from)
}

func fromInt[S op.Integer](dst []byte, t caster, src []byte) lost {
	x := shardify.View[S](src)
	switch t.to {
	case shardify.Bool:
		for i, e := range x {
			dst[i] = 0
			if e != 0 {
				dst[i] = 1
			}
		}
		return lost{bad: -1}
	case shardify.I8:
		return intToInt[S, int8](dst, x, math.MinInt8, math.MaxInt8, t.clip)
	case shardify.I16:
		return intToInt[S, int16](dst, x, math.MinInt16, math.MaxInt16, t.clip)
	case shardify.I32:
		return intToInt[S, int32](dst, x, math.MinInt32, math.MaxInt32, t.clip)
	case shardify.I64:
		return intToInt[S, int64](dst, x, math.MinInt64, math.MaxInt64, t.clip)
	case shardify.U8:
		return intToInt[S, uint8](dst, x, 0, math.MaxUint8, t.clip)
	case shardify.U16:
		return intToInt[S, uint16](dst, x, 0, math.MaxUint16, t.clip)
	case shardify.U32:
		return intToInt[S, uint32](dst, x, 0, math.MaxUint32, t.clip)
	case shardify.U64:
		return intToInt[S, uint64](dst, x, 0, math.MaxUint64, t.clip)
	case shardify.F32:
		return intToFloat[S, float32](dst, x)
	case shardify.F64:
		return intToFloat[S, float64](dst, x)
	}
	return intToHalf(dst, x, t.to)
}

func intToHalf[S op.Integer](dst []byte, x []S, to shardify.DType) lost {
	l := lost{bad: -1}
	z := shardify.View[uint16](dst)
	limit := float32(math.Ldexp(1, magnitude[S]()))
	for i, e := range x {
		f := half.NarrowInt(uint64(e), e < 0)
		var back float32
		if to == shardify.F16 {
			z[i] = half.ToF16(f)
			back = half.F16(z[i])
		} else {
			z[i] = half.ToBF16(f)
			back = half.BF16(z[i])
		}
		switch {
		case math.IsInf(float64(back), 0):
			l.overflow++
		case back >= limit || S(back) != e:
			l.rounded++
		}
	}
	return l
}

// magnitude is the exponent that integers of S stay below.
func magnitude[S op.Integer]() (exp int) {
	for e := S(1); e > 0; e <<= 1 {
		exp++
	}
	return exp
}

// intToInt checks whether the value comes back, and keeps its sign.
func intToInt[S, D op.Integer](dst []byte, x []S, lo int64, hi uint64, clip bool) lost {
	z := shardify.View[D](dst)
	l := lost{bad: -1}
	for i, e := range x {
		d := D(e)
		if S(d) == e && (d < 0) == (e < 0) {
			z[i] = d
			continue
		}
		if !clip {
			l.bad = i
			return l
		}
		l.clipped++
		if e < 0 {
			z[i] = D(lo)
		} else {
			z[i] = D(hi)
		}
	}
	return l
}

func intToFloat[S op.Integer, D float32 | float64](dst []byte, x []S) lost {
	z := shardify.View[D](dst)
	l := lost{bad: -1}
	exp := magnitude[S]()
	exact := 53
	if D(1<<24+1) == D(1<<24) {
		exact = 24
	}
	if exp <= exact {
		for i, e := range x {
			z[i] = D(e)
		}
		return l
	}
	limit := D(math.Ldexp(1, exp))
	for i, e := range x {
		f := D(e)
		if z[i] = f; f >= limit || S(f) != e {
			l.rounded++
		}
	}
	return l
}
