package rows

import (
	"math"
	"math/bits"
)

// MaxSamples and MaxDecoded bound what one file may claim, so that sums of
// samples and bytes do not overflow, and a file of holes is not an endless plan.
// MaxFields bounds the fields of all different layouts together: files that have
// nothing in common must not fill the memory before that is said.
const (
	MaxSamples = 1 << 50
	MaxDecoded = 1 << 52
	MaxFields  = 1 << 20
)

// MulDiv is a*b/c, all of them not negative, or the largest number.
func MulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

// SatMul is a*b, both not negative, or the largest number.
func SatMul(a, b int64) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(b)); hi == 0 && lo <= math.MaxInt64 {
		return int64(lo)
	}
	return math.MaxInt64
}

// SatAdd is a+b, both not negative, or the largest number.
func SatAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
