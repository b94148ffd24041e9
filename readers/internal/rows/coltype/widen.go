package coltype

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

// widths are the types in the order in which Common tries them: by size, whole
// numbers first, since they stay exact under arithmetic.
var widths = []shardify.DType{
	shardify.Bool, shardify.I8, shardify.U8, shardify.I16, shardify.U16, shardify.F16, shardify.BF16,
	shardify.I32, shardify.U32, shardify.F32, shardify.I64, shardify.U64, shardify.F64,
}

// Common is the smallest type that holds all values of all the types exactly. None does for i64
// with f64, u64 with a signed type, and bool with anything else. Without one, it is F64 if all are numbers, which may be
// rounded to that.
func Common(types ...shardify.DType) (shardify.DType, bool) {
next:
	for _, to := range widths {
		for _, from := range types {
			if !Lossless(to, from) {
				continue next
			}
		}
		return to, true
	}
	if slices.Contains(types, shardify.Bool) {
		return shardify.Invalid, false
	}
	return shardify.F64, false
}

// Lossless reports whether every value of from is one of to. Small integers would fit
// into the 16-bit floats too, but that is never intended.
func Lossless(to, from shardify.DType) bool {
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

// Becomes reports whether values of from can become values of to: without loss, or rounded to f64, for which users must ask.
func Becomes(to, from shardify.DType) bool {
	return Lossless(to, from) || to == shardify.F64 && from.IsInt()
}

// Widen converts the values of src, of type from, into dst, of type to, which must
// hold as many; Becomes(to, from) must be true. Both must be aligned to their types.
// It works in place if src is the tail of dst. Wrong arguments are a bug: a panic.
func Widen(dst, src []byte, to, from shardify.DType) {
	if !Becomes(to, from) || len(dst)/max(to.Size(), 1) != len(src)/max(from.Size(), 1) {
		panic(fmt.Sprintf("coltype: widen %d bytes of %v into %d of %v", len(src), from, len(dst), to))
	}
	numeric.Convert(dst, to, src, from)
}
