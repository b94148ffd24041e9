package rows

import (
	"fmt"
	"math"

	"github.com/shardify/shardify"
)

// widths are the types in the order in which Common tries them: by size, whole
// numbers first, since they stay exact under arithmetic.
var widths = []shardify.DType{
	shardify.Bool, shardify.I8, shardify.U8, shardify.I16, shardify.U16, shardify.F16, shardify.BF16,
	shardify.I32, shardify.U32, shardify.F32, shardify.I64, shardify.U64, shardify.F64,
}

// Common is the smallest type that holds all values of all the types exactly.
// There is none for i64 with f64, u64 with a signed type, and bool with anything
// else.
func Common(types ...shardify.DType) (shardify.DType, bool) {
next:
	for _, to := range widths {
		for _, from := range types {
			if !lossless(to, from) {
				continue next
			}
		}
		return to, true
	}
	return shardify.Invalid, false
}

// lossless reports whether every value of from is one of to. Small integers would fit
// into the 16-bit floats too, but that is never intended.
func lossless(to, from shardify.DType) bool {
	switch {
	case to == from:
		return true
	case to == shardify.Bool || from == shardify.Bool:
		return false
	case from.IsFloat():
		return to.IsFloat() && to.Size() > from.Size()
	case to == shardify.F32:
		return from.Size() <= 2
	case to == shardify.F64:
		return from.Size() <= 4
	case to.IsInt() && from.IsInt():
		return to.Size() > from.Size() && (to < shardify.U8 || from >= shardify.U8)
	}
	return false
}

// Widen converts the values of src, of type from, into dst, of type to, which must
// hold as many; Common(from, to) must be to. Both must be aligned to their types.
// It works in place if src is the tail of dst. Wrong arguments are a bug: a panic.
func Widen(dst, src []byte, to, from shardify.DType) {
	if !lossless(to, from) || len(dst)/max(to.Size(), 1) != len(src)/max(from.Size(), 1) {
		panic(fmt.Sprintf("rows: widen %d bytes of %v into %d of %v", len(src), from, len(dst), to))
	}
	if to == from {
		copy(dst, src)
		return
	}
	switch from {
	case shardify.I8:
		widenTo[int8](dst, src, to)
	case shardify.I16:
		widenTo[int16](dst, src, to)
	case shardify.I32:
		widenTo[int32](dst, src, to)
	case shardify.U8:
		widenTo[uint8](dst, src, to)
	case shardify.U16:
		widenTo[uint16](dst, src, to)
	case shardify.U32:
		widenTo[uint32](dst, src, to)
	case shardify.F32:
		widenTo[float32](dst, src, to)
	case shardify.F16, shardify.BF16:
		if to == shardify.F32 {
			widenHalf[float32](dst, src, from)
		} else {
			widenHalf[float64](dst, src, from)
		}
	}
}

func widenTo[S shardify.Number](dst, src []byte, to shardify.DType) {
	switch to {
	case shardify.I16:
		convert[int16, S](dst, src)
	case shardify.I32:
		convert[int32, S](dst, src)
	case shardify.I64:
		convert[int64, S](dst, src)
	case shardify.U16:
		convert[uint16, S](dst, src)
	case shardify.U32:
		convert[uint32, S](dst, src)
	case shardify.U64:
		convert[uint64, S](dst, src)
	case shardify.F32:
		convert[float32, S](dst, src)
	case shardify.F64:
		convert[float64, S](dst, src)
	}
}

// convert goes forward: value i is read before anything behind it is written, even
// in place, since the values of dst are the longer ones.
func convert[D, S shardify.Number](dst, src []byte) {
	d, s := shardify.View[D](dst), shardify.View[S](src)
	d = d[:len(s)]
	for i, v := range s {
		d[i] = D(v)
	}
}

func widenHalf[D float32 | float64](dst, src []byte, from shardify.DType) {
	d, s := shardify.View[D](dst), shardify.View[uint16](src)
	d = d[:len(s)]
	if from == shardify.BF16 {
		for i, v := range s {
			d[i] = D(math.Float32frombits(uint32(v) << 16))
		}
		return
	}
	for i, v := range s {
		d[i] = D(half(v))
	}
}

// half is the value of an IEEE 754 binary16.
func half(h uint16) float32 {
	sign, rest := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	switch h & 0x7c00 {
	case 0: // zero or subnormal: as a whole number, since subnormals are slow to multiply
		return math.Float32frombits(math.Float32bits(float32(rest)*0x1p-24) | sign)
	case 0x7c00: // infinity, or not a number with its payload
		return math.Float32frombits(sign | 0x7f800000 | rest<<13)
	}
	return math.Float32frombits(sign | (rest<<13 + 112<<23))
}
