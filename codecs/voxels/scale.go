package voxels

import "github.com/shardify/shardify"

// Scale makes f64 of values: v*slope + inter, of which each is rounded, as numpy does it. Complex
// numbers are pairs.
func Scale(d shardify.DType, slope, inter float64, pairs bool) func(dst, src []byte) {
	switch d {
	case shardify.I8:
		return scale[int8](slope, inter, pairs)
	case shardify.U8:
		return scale[uint8](slope, inter, pairs)
	case shardify.I16:
		return scale[int16](slope, inter, pairs)
	case shardify.U16:
		return scale[uint16](slope, inter, pairs)
	case shardify.I32:
		return scale[int32](slope, inter, pairs)
	case shardify.U32:
		return scale[uint32](slope, inter, pairs)
	case shardify.I64:
		return scale[int64](slope, inter, pairs)
	case shardify.U64:
		return scale[uint64](slope, inter, pairs)
	case shardify.F32:
		return scale[float32](slope, inter, pairs)
	}
	return scale[float64](slope, inter, pairs)
}

func scale[T shardify.Number](slope, inter float64, pairs bool) func(dst, src []byte) {
	if pairs {
		return func(dst, src []byte) {
			d, s := shardify.View[float64](dst), shardify.View[T](src)
			for i := 0; i+1 < len(s); i += 2 { // a product of complex numbers, of which one is real
				re, im := float64(s[i]), float64(s[i+1])
				d[i] = float64(float64(re*slope)-float64(im*0)) + inter
				d[i+1] = float64(re*0) + float64(im*slope)
			}
		}
	}
	return func(dst, src []byte) {
		d, s := shardify.View[float64](dst), shardify.View[T](src)
		d = d[:len(s)]
		for i, v := range s {
			d[i] = float64(float64(v)*slope) + inter
		}
	}
}
