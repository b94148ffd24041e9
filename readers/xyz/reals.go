package xyz

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/shardify/shardify/internal/numeric"
)

// spaces and zeros are 8 of them, tops the highest bits of 8 bytes.
const (
	spaces = 0x2020202020202020
	zeros  = 0x3030303030303030
	tops   = 0x8080808080808080
)

// A number that ASE and QUIP write: %16.8f behind a space.
const (
	width = 17
	point = 8 // where the point is
)

// powers of ten that f64 holds, and those that 8 digits need.
var (
	powers  [23]float64
	powers8 [9]uint64
)

func init() {
	f, u := 1.0, uint64(1)
	for i := range powers {
		powers[i] = f
		f *= 10
	}
	for i := range powers8 {
		powers8[i] = u
		u *= 10
	}
}

// eight is the number of 8 digits, the first of which is in the lowest byte.
func eight(y uint64) uint64 {
	y = y*10 + y>>8
	return ((y&0x000000ff000000ff)*0x000f424000000064 + (y>>16&0x000000ff000000ff)*0x0000271000000001) >> 32
}

// fixed reads the number of b, which has at least 8 bytes more than it; false if it is not written as
// most are. It has no branches but those that are foreseen, and where the next number is does not depend
// on this one.
func fixed(b []byte) (v float64, ok bool) {
	_ = b[width+7]
	whole, part := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[point+1:])^zeros
	sign := uint(bits.TrailingZeros64(whole^spaces)) &^ 7
	minus := uint(0)
	if byte(whole>>(sign&63)) == '-' {
		minus = 8
	}
	digits := (whole ^ zeros) &^ (1<<((sign+minus)&63) - 1)
	// Bytes that are no digits have their highest bit in the sum, or had it.
	other := (digits | (digits + 0x7676767676767676) | part | (part + 0x7676767676767676)) & tops
	if b[point] != '.' || b[width] > ' ' || byte(whole) != ' ' || byte(whole>>56)-'0' > 9 || other != 0 {
		return 0, false
	}
	v = float64(int64(eight(digits)*1e8+eight(part))) / 1e8 // 15 digits
	return math.Float64frombits(math.Float64bits(v) | uint64(minus)<<60), true
}

// appendReals appends numbers of b, from i on, as f64, n at most: digits with a point within, behind spaces
// and perhaps a minus sign, before a byte up to a space. It stops before the first that is written in
// another way, or near the end of b, which is a line feed. Where a number ends is found by branches, which
// are foreseen where numbers have the same form.
func appendReals(dst, b []byte, i, n int) (out []byte, end, count int) {
	for ; count < n; count++ {
		if !haveFixed && len(b)-i >= width+8 {
			if v, ok := fixed(b[i:]); ok {
				dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
				i += width
				continue
			}
		}
		v, j := real(b, i)
		if j < 0 {
			break
		}
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		i = j
	}
	return dst, i, count
}

// real reads one of these numbers, and returns where it ends; -1 for another one.
func real(b []byte, j int) (v float64, end int) {
	for len(b)-j >= 8 {
		k := bits.TrailingZeros64(binary.LittleEndian.Uint64(b[j:])^spaces) >> 3
		if j += k; k < 8 {
			break
		}
	}
	minus := uint64(0)
	if b[j] == '-' {
		minus = 1
	}
	j += int(minus)
	m, from := uint64(0), j
	for ; b[j]-'0' <= 9; j++ {
		m = m*10 + uint64(b[j]-'0')
	}
	if b[j] != '.' || j == from {
		return 0, -1
	}
	j++
	first := j
	for b[j]-'0' <= 9 && len(b)-j >= 8 {
		x, k := numeric.Digits(b[j:])
		m = m*powers8[k] + x
		if j += k; k < 8 {
			break
		}
	}
	e := j - first
	if j-from > 20 || b[j] > ' ' {
		return 0, -1
	}
	v, ok := float64(m)/powers[e], true
	if m >= 1<<53 {
		v, ok = numeric.Float(m, -e)
	}
	if !ok {
		return 0, -1
	}
	return math.Float64frombits(math.Float64bits(v) | minus<<63), j
}
