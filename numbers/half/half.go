package half

import (
	"math"
	"math/bits"
)

// F16 is the value of IEEE binary16 bits, exactly.
func F16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&31, uint32(h&0x3ff)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
	}
	// Below 2^-14 a value is frac times 2^-24, which f32 holds.
	return math.Float32frombits(sign | math.Float32bits(float32(frac)*0x1p-24))
}

// ToF16 rounds to the nearest binary16, ties to even; what is too large becomes
// infinite. NaN stays NaN.
func ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x47800000: // 65536 and more
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: multiples of 2^-24
		// Adding 0.5 rounds to the wanted place: f32 has 24 bits.
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1
	return sign | uint16(b>>13-112<<10)
}

// BF16 is the value of bfloat16 bits, exactly.
func BF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 rounds to the nearest bfloat16, ties to even.
func ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// Narrow rounds to f32 so that rounding the result again to 16 bits gives the same as rounding x at
// once: to odd, if x is not an f32.
func Narrow(x float64) float32 {
	f := float32(x)
	if float64(f) == x || x != x || math.IsInf(float64(f), 0) {
		return f
	}
	b := math.Float32bits(f)
	if b&1 == 0 { // an even neighbour: take the odd one on the side of x
		if (float64(f) < x) == (x > 0) {
			b++
		} else {
			b--
		}
	}
	return math.Float32frombits(b)
}

// NarrowInt is Narrow for an integer: its two's complement, sign-extended.
func NarrowInt(x uint64, negative bool) float32 {
	if negative {
		x = -x
	}
	shift := max(bits.Len64(x)-24, 0)
	m := x >> shift
	if m<<shift != x {
		m |= 1
	}
	f := float32(math.Ldexp(float64(m), shift))
	if negative {
		return -f
	}
	return f
}
