// Package numeric converts arrays of numbers from one type to another.
package numeric

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
)

// Convert writes the values of src, of type from, to dst as values of type to. Both
// are aligned to their types, and dst has room for all values. If values of dst are not
// shorter, it works in place where src is the tail of dst.
//
// A type becomes itself, F32 or F64, rounded to the nearest, ties to even. Integers and
// bools become any integer too, of which they keep the low bits. There is nothing else:
// any other pair of types is a bug, and a panic.
func Convert(dst []byte, to shardify.DType, src []byte, from shardify.DType) {
	if to == from {
		copy(dst, src)
		return
	}
	switch from {
	case shardify.I8:
		whole[int8](dst, to, src)
	case shardify.I16:
		whole[int16](dst, to, src)
	case shardify.I32:
		whole[int32](dst, to, src)
	case shardify.I64:
		whole[int64](dst, to, src)
	case shardify.Bool, shardify.U8:
		whole[uint8](dst, to, src)
	case shardify.U16:
		whole[uint16](dst, to, src)
	case shardify.U32:
		whole[uint32](dst, to, src)
	case shardify.U64:
		whole[uint64](dst, to, src)
	case shardify.F32:
		floating[float32](dst, to, src)
	case shardify.F64:
		floating[float64](dst, to, src)
	default:
		if to == shardify.F32 {
			halves[float32](dst, src, from)
		} else {
			halves[float64](dst, src, from)
		}
	}
}

// whole converts integers. Two's complement numbers of either sign have the same bits.
func whole[S shardify.Number](dst []byte, to shardify.DType, src []byte) {
	switch {
	case !to.IsInt():
		floating[S](dst, to, src)
	case to.Size() == 1:
		each[int8, S](dst, src)
	case to.Size() == 2:
		each[int16, S](dst, src)
	case to.Size() == 4:
		each[int32, S](dst, src)
	default:
		each[int64, S](dst, src)
	}
}

func floating[S shardify.Number](dst []byte, to shardify.DType, src []byte) {
	switch to {
	case shardify.F32:
		each[float32, S](dst, src)
	case shardify.F64:
		each[float64, S](dst, src)
	default:
		panic("numeric: no conversion to " + to.String())
	}
}

// each goes forward: value i is read before anything behind it is written, even in place.
func each[D, S shardify.Number](dst, src []byte) {
	s := shardify.View[S](src)
	d := shardify.View[D](dst)[:len(s)]
	for i := range d {
		d[i] = D(s[i])
	}
}

func halves[D float32 | float64](dst, src []byte, from shardify.DType) {
	s := shardify.View[uint16](src)
	d := shardify.View[D](dst)[:len(s)]
	if from == shardify.BF16 {
		for i, v := range s {
			d[i] = D(half.BF16(v))
		}
		return
	}
	for i, v := range s {
		d[i] = D(half.F16(v))
	}
}
