package rntuple

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/half"
)

// convertible reports whether a field of type dst may be stored as src without
// loss: the same type, a narrower one of its kind, or the other sign of the same
// width (whose bits are taken as they are, as the writer does).
func convertible(dst, src shardify.DType) bool {
	switch {
	case src == shardify.Invalid || dst == shardify.Invalid:
		return false
	case dst == src:
		return true
	case dst.IsFloat() || src.IsFloat():
		return dst.IsFloat() && src.IsFloat() && src.Size() < dst.Size()
	case dst == shardify.Bool:
		return false
	case dst.Size() == src.Size():
		return src != shardify.Bool
	}
	return src.Size() < dst.Size()
}

// alike reports that decoded elements of src are values of dst already.
func alike(dst, src shardify.DType) bool {
	return dst == src || dst.IsInt() && src.IsInt() && dst.Size() == src.Size()
}

// convert widens len(dst)/dt.Size() values.
func convert(dst []byte, dt shardify.DType, src []byte, st shardify.DType) {
	if dt.IsFloat() {
		widenFloat(dst, dt, src, st)
		return
	}
	switch st {
	case shardify.Bool, shardify.U8:
		widen(dst, dt, src)
	case shardify.I8:
		widen(dst, dt, shardify.View[int8](src))
	case shardify.I16:
		widen(dst, dt, shardify.View[int16](src))
	case shardify.U16:
		widen(dst, dt, shardify.View[uint16](src))
	case shardify.I32:
		widen(dst, dt, shardify.View[int32](src))
	case shardify.U32:
		widen(dst, dt, shardify.View[uint32](src))
	}
}

// widen depends on the width of dst only: two's complement numbers of either sign
// have the same bits.
func widen[S shardify.Number](dst []byte, dt shardify.DType, src []S) {
	switch dt.Size() {
	case 1:
		cast(shardify.View[int8](dst), src)
	case 2:
		cast(shardify.View[int16](dst), src)
	case 4:
		cast(shardify.View[int32](dst), src)
	case 8:
		cast(shardify.View[int64](dst), src)
	}
}

func cast[D, S shardify.Number](dst []D, src []S) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = D(src[i])
	}
}

func widenFloat(dst []byte, dt shardify.DType, src []byte, st shardify.DType) {
	switch {
	case st == shardify.F32:
		cast(shardify.View[float64](dst), shardify.View[float32](src))
	case dt == shardify.F32:
		halves(shardify.View[float32](dst), shardify.View[uint16](src))
	default:
		halves(shardify.View[float64](dst), shardify.View[uint16](src))
	}
}

func halves[D float32 | float64](dst []D, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = D(half.F16(src[i]))
	}
}
