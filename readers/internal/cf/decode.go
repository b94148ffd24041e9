package cf

import (
	"math"

	"github.com/shardify/shardify"
)

// Decode decodes values from src into dst. Both are aligned to their types; their
// lengths are those of equally many values. Where From and To are one type, they may be one.
func (d *Decoder) Decode(dst, src []byte) error {
	switch {
	case d.clock != nil:
		return d.decodeTimes(shardify.View[int64](dst), src)
	case d.truth:
		for i, b := range src {
			dst[i] = 0
			if b != 0 {
				dst[i] = 1
			}
		}
	case d.float == shardify.F32:
		n := d.quick(dst, src)
		toFloats(shardify.View[float32](dst)[n:], src[n*d.stored.Size():], d)
	case d.float == shardify.F64:
		n := d.quick(dst, src)
		toFloats(shardify.View[float64](dst)[n:], src[n*d.stored.Size():], d)
	default:
		copy(dst, src)
	}
	return nil
}

type floats interface{ float32 | float64 }

func toFloats[T floats](dst []T, src []byte, d *Decoder) {
	switch d.stored {
	case shardify.I8:
		unpack(dst, shardify.View[int8](src), d)
	case shardify.I16:
		unpack(dst, shardify.View[int16](src), d)
	case shardify.I32:
		unpack(dst, shardify.View[int32](src), d)
	case shardify.I64:
		unpack(dst, shardify.View[int64](src), d)
	case shardify.U8:
		unpack(dst, shardify.View[uint8](src), d)
	case shardify.U16:
		unpack(dst, shardify.View[uint16](src), d)
	case shardify.U32:
		unpack(dst, shardify.View[uint32](src), d)
	case shardify.U64:
		unpack(dst, shardify.View[uint64](src), d)
	case shardify.F32:
		unpack(dst, shardify.View[float32](src), d)
	default:
		unpack(dst, shardify.View[float64](src), d)
	}
}

// unpack converts, masks, scales and shifts. Each step is rounded to T: the explicit
// conversions keep the compiler from joining multiplication and addition.
func unpack[T floats, S shardify.Number](dst []T, src []S, d *Decoder) {
	dst = dst[:len(src)]
	scale, offset := T(1), T(0)
	if d.scaled {
		scale = T(d.scale)
	}
	if d.shifted {
		offset = T(d.offset)
	}
	nan := T(math.NaN())
	if fill, some, ok := small[S](d); ok && d.scaled && d.shifted { // packed data, in one pass
		for i, v := range src {
			x := T(v)
			if some && v == fill {
				x = nan
			}
			dst[i] = T(x*scale) + offset
		}
		return
	}
	switch {
	case len(d.fills) == 0:
		for i, v := range src {
			dst[i] = T(v)
		}
	case len(d.fills) == 1:
		fill := fillOf[T](d)
		for i, v := range src {
			x := T(v)
			if x == fill {
				x = nan
			}
			dst[i] = x
		}
	default:
		for i, v := range src {
			x := T(v)
			for _, f := range d.fills {
				if float64(x) == f.Float {
					x = nan
				}
			}
			dst[i] = x
		}
	}
	// A step that is not asked for is not done: -0 + 0 is 0.
	switch {
	case d.scaled && d.shifted:
		for i, x := range dst {
			dst[i] = T(x*scale) + offset
		}
	case d.scaled:
		for i, x := range dst {
			dst[i] = x * scale
		}
	case d.shifted:
		for i, x := range dst {
			dst[i] = x + offset
		}
	}
}

// fillOf is the only fill value, or NaN, which equals nothing, where no value of T is it.
func fillOf[T floats](d *Decoder) T {
	if fill := T(d.fills[0].Float); float64(fill) == d.fills[0].Float {
		return fill
	}
	return T(math.NaN())
}

// small is the fill value of integers of 16 bits and less, all of which floats hold exactly; some
// is false without one, and ok is false for other types or several fill values.
func small[S shardify.Number](d *Decoder) (fill S, some, ok bool) {
	if !d.stored.IsInt() || d.stored.Size() > 2 || len(d.fills) > 1 {
		return fill, false, false
	}
	if len(d.fills) == 0 {
		return fill, false, true
	}
	f := d.fills[0].Float
	n := int64(f)
	return S(n), float64(n) == f && int64(S(n)) == n, true
}
