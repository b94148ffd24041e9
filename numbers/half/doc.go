// Package half converts between f32 and the two 16-bit floating-point types, IEEE binary16 and bfloat16.
//
//	h := half.ToF16(x)
//	y := half.F16(h)
//
// All 65,536 values come back, NaN and subnormal ones too. Numbers of more bits than f32 go through Narrow or
// NarrowInt first, so that they are not rounded twice. There is no arithmetic on 16 bits, and neither the standard
// library nor a module of this project has the types.
package half
