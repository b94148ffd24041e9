//go:build linux

package cuda

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// The arithmetic of the casts, written without the kernels' tricks.

func f32bits(v float32) uint32 { return math.Float32bits(v) }

// narrowed rounds to the nearest of a 16-bit type by trying its neighbours.
func narrowed(v float32, to shardify.DType) uint16 {
	sign := uint16(f32bits(v) >> 31 << 15)
	a := math.Abs(float64(v))
	lo, hi := uint16(0), uint16(0x7c00) // of f16
	if to == shardify.BF16 {
		hi = 0x7f80
	}
	top := hi
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if wide(mid, to) <= a {
			lo = mid
		} else {
			hi = mid
		}
	}
	// Rounding to infinity begins half a step above the largest number.
	up := wide(hi, to)
	if hi == top {
		up = 2*wide(hi-1, to) - wide(hi-2, to)
	}
	switch below, above := a-wide(lo, to), up-a; {
	case above < below, above == below && lo&1 == 1:
		return sign | hi
	}
	return sign | lo
}

// wide is the value of a 16-bit number's bits.
func wide(b uint16, of shardify.DType) float64 {
	bits, bias := 10, 15
	if of == shardify.BF16 {
		bits, bias = 7, 127
	}
	e, m := int(b&0x7fff)>>bits, int(b)&(1<<bits-1)
	v := math.Ldexp(float64(m+1<<bits), e-bias-bits)
	if e == 0 {
		v = math.Ldexp(float64(m), 1-bias-bits)
	} else if e == 2*bias+1 {
		v = math.Inf(1)
	}
	if b>>15 == 1 {
		v = -v
	}
	return v
}

// castReference is element e of row r after a cast.
func castReference(b []byte, from, to shardify.DType, c *Cast, r int64, e, elems int) uint32 {
	if r < 0 {
		return 0
	}
	at := (int(r)*elems + e) * int(from.Size())
	var x float32
	switch from {
	case shardify.U8:
		x = float32(b[at])
	case shardify.I16:
		x = float32(int16(binary.LittleEndian.Uint16(b[at:])))
	case shardify.I32:
		x = float32(int32(binary.LittleEndian.Uint32(b[at:])))
	case shardify.F32:
		x = math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
	default:
		x = float32(wide(binary.LittleEndian.Uint16(b[at:]), from))
	}
	if len(c.Scale) > 0 {
		k := e / int(max(c.Inner, 1)) % len(c.Scale)
		x = float32(x*c.Scale[k]) + c.Shift[k]
	}
	if to == shardify.F32 {
		return f32bits(x)
	}
	if x != x {
		return 0x7fff
	}
	return uint32(narrowed(x, to))
}
