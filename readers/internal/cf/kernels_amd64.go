package cf

import (
	"math"

	"golang.org/x/sys/cpu"

	"github.com/shardify/shardify"
)

// haveAVX2 chooses the kernels of kernels_amd64.s: the loops of decode.go took as long as
// LZ4 takes to decode the same values. A test changes it to compare both.
var haveAVX2 = cpu.X86.HasAVX2

// kernelTurn is how many values a kernel handles at once.
const kernelTurn = 16

// The kernels decode n values, a positive multiple of kernelTurn. They check nothing. For codes
// without a fill value, fill is a number that no code has.

//go:noescape
func maskF32AVX2(dst, src *byte, n int, fill, nan float32)

//go:noescape
func maskF64AVX2(dst, src *byte, n int, fill, nan float64)

//go:noescape
func unpackF32AVX2(dst, src *byte, n int, scale, offset, nan float32, fill int32)

//go:noescape
func unpackF64AVX2(dst, src *byte, n int, scale, offset, nan float64, fill int32)

// quick decodes as many of the first values as a kernel does, and returns how many.
func (d *Decoder) quick(dst, src []byte) int {
	n := len(src) / d.stored.Size() &^ (kernelTurn - 1)
	if !haveAVX2 || n == 0 {
		return 0
	}
	_ = dst[n*d.float.Size()-1]
	switch packed := d.scaled && d.shifted; {
	case d.stored == d.float && len(d.fills) == 1 && !d.scaled && !d.shifted:
		if d.float == shardify.F32 {
			maskF32AVX2(&dst[0], &src[0], n, fillOf[float32](d), float32(math.NaN()))
		} else {
			maskF64AVX2(&dst[0], &src[0], n, fillOf[float64](d), math.NaN())
		}
	case d.stored == shardify.I16 && packed:
		fill, some, ok := small[int16](d)
		if !ok {
			return 0
		}
		code := int32(fill)
		if !some {
			code = math.MaxInt32
		}
		if d.float == shardify.F32 {
			unpackF32AVX2(&dst[0], &src[0], n, float32(d.scale), float32(d.offset), float32(math.NaN()), code)
		} else {
			unpackF64AVX2(&dst[0], &src[0], n, d.scale, d.offset, math.NaN(), code)
		}
	default:
		return 0
	}
	return n
}
