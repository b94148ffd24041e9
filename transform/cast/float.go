package cast

import (
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/transform/op"
)

// fromHalf goes over f32, which holds every half exactly, in pieces that stay in the
// processor's cache.
func fromHalf(dst []byte, t caster, src []byte, from shardify.DType) lost {
	sum := lost{bad: -1}
	var wide [1024]float32
	h := shardify.View[uint16](src)
	size := t.to.Size()
	for at := 0; at < len(h); at += len(wide) {
		n := min(len(wide), len(h)-at)
		for i, x := range h[at : at+n] {
			if from == shardify.F16 {
				wide[i] = half.F16(x)
			} else {
				wide[i] = half.BF16(x)
			}
		}
		l := fromFloat[float32](dst[at*size:(at+n)*size], t, shardify.Bytes(wide[:n]))
		if l.bad >= 0 {
			l.bad += at
			return l
		}
		sum.overflow, sum.cut, sum.clipped = sum.overflow+l.overflow, sum.cut+l.cut, sum.clipped+l.clipped
	}
	return sum
}

func fromFloat[S float32 | float64](dst []byte, t caster, src []byte) lost {
	x := shardify.View[S](src)
	switch t.to {
	case shardify.Bool:
		return floatToBool(dst, x)
	case shardify.I8:
		return floatToInt[S, int8](dst, x, math.MinInt8, math.MaxInt8, t.clip)
	case shardify.I16:
		return floatToInt[S, int16](dst, x, math.MinInt16, math.MaxInt16, t.clip)
	case shardify.I32:
		return floatToInt[S, int32](dst, x, math.MinInt32, math.MaxInt32, t.clip)
	case shardify.I64:
		return floatToInt[S, int64](dst, x, math.MinInt64, math.MaxInt64, t.clip)
	case shardify.U8:
		return floatToInt[S, uint8](dst, x, 0, math.MaxUint8, t.clip)
	case shardify.U16:
		return floatToInt[S, uint16](dst, x, 0, math.MaxUint16, t.clip)
	case shardify.U32:
		return floatToInt[S, uint32](dst, x, 0, math.MaxUint32, t.clip)
	case shardify.U64:
		return floatToInt[S, uint64](dst, x, 0, math.MaxUint64, t.clip)
	case shardify.F32:
		return floatToFloat[S, float32](dst, x)
	case shardify.F64:
		return floatToFloat[S, float64](dst, x)
	}
	return floatToHalf(dst, x, t.to)
}

func floatToBool[S float32 | float64](dst []byte, x []S) lost {
	for i, e := range x {
		dst[i] = 0
		if e != e {
			return lost{bad: i}
		}
		if e != 0 {
			dst[i] = 1
		}
	}
	return lost{bad: -1}
}

// floatToInt cuts fractions off, as numpy does. Beyond the range numpy's result is
// anything; here it is an error.
func floatToInt[S float32 | float64, D op.Integer](dst []byte, x []S, lo int64, hi uint64, clip bool) lost {
	z := shardify.View[D](dst)
	l := lost{bad: -1}
	below, above := float64(lo)-1, float64(hi)+1
	if lo == math.MinInt64 {
		below = math.Nextafter(-0x1p63, -9e99)
	}
	for i, e := range x {
		v := float64(e)
		if v > below && v < above {
			z[i] = D(v)
			if v != math.Trunc(v) {
				l.cut++
			}
			continue
		}
		if !clip || v != v {
			l.bad = i
			return l
		}
		l.clipped++
		if v < 0 {
			z[i] = D(lo)
		} else {
			z[i] = D(hi)
		}
	}
	return l
}

func floatToFloat[S, D float32 | float64](dst []byte, x []S) lost {
	z := shardify.View[D](dst)
	l := lost{bad: -1}
	z = z[:len(x)]
	for i, e := range x {
		d := D(e)
		z[i] = d
		if d-d != 0 && e-e == 0 {
			l.overflow++
		}
	}
	return l
}

func floatToHalf[S float32 | float64](dst []byte, x []S, to shardify.DType) lost {
	z := shardify.View[uint16](dst)
	l := lost{bad: -1}
	z = z[:len(x)]
	if f, ok := any(x).([]float32); ok {
		l.overflow = singleToHalf(z, f, to)
		return l
	}
	if to == shardify.BF16 {
		for i, e := range x {
			h := half.ToBF16(half.Narrow(float64(e)))
			if z[i] = h; h&0x7f80 == 0x7f80 && e-e == 0 {
				l.overflow++
			}
		}
		return l
	}
	for i, e := range x {
		h := half.ToF16(half.Narrow(float64(e)))
		if z[i] = h; h&0x7c00 == 0x7c00 && e-e == 0 {
			l.overflow++
		}
	}
	return l
}

// singleToHalf rounds f32, the most frequent of all, and counts what overflows.
func singleToHalf(z []uint16, x []float32, to shardify.DType) (overflow int64) {
	z = z[:len(x)]
	if to == shardify.BF16 {
		for i, e := range x {
			h := half.ToBF16(e)
			if z[i] = h; h&0x7f80 == 0x7f80 && e-e == 0 {
				overflow++
			}
		}
		return overflow
	}
	for i, e := range x {
		h := half.ToF16(e)
		if z[i] = h; h&0x7c00 == 0x7c00 && e-e == 0 {
			overflow++
		}
	}
	return overflow
}
