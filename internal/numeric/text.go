package numeric

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// powers of ten that a float64 holds exactly, and those that 64 bits hold.
var (
	powers  [23]float64
	powers8 [20]uint64
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

// Digits reads the digits that 8 bytes begin with: their number, and how many there are.
func Digits(b []byte) (m uint64, n int) {
	x := binary.LittleEndian.Uint64(b)
	y := x - 0x3030303030303030
	n = 8
	if other := (y | (x + 0x4646464646464646)) & 0x8080808080808080; other != 0 {
		// The first byte that is no digit has its bit. Zeros take the place of it and those behind it.
		z := bits.TrailingZeros64(other) &^ 7
		y, n = y<<(64-z), z>>3
	}
	y = y*10 + y>>8
	return ((y&0x000000ff000000ff)*0x000f424000000064 + (y>>16&0x000000ff000000ff)*0x0000271000000001) >> 32, n
}

// Decimal reads digits, a point and an exponent from i on, behind any sign: m*10^e is the number.
// n is how many digits there are, at most 19 of which fit; end is where it ends. Behind b[end] are
// 8 bytes or a line feed.
func Decimal(b []byte, i int) (m uint64, e, n, end int) {
	s := i
	for ; b[i]-'0' <= 9; i++ {
		m = m*10 + uint64(b[i]-'0')
	}
	n = i - s
	if b[i] == '.' {
		i++
		f := i
		for len(b)-i >= 8 {
			x, k := Digits(b[i:])
			m = m*powers8[k] + x
			if i += k; k < 8 {
				break
			}
		}
		for ; b[i]-'0' <= 9; i++ {
			m = m*10 + uint64(b[i]-'0')
		}
		n, e = n+i-f, f-i
	}
	if b[i]|0x20 == 'e' && n > 0 {
		j := i + 1
		neg := b[j] == '-'
		if neg || b[j] == '+' {
			j++
		}
		x, from := 0, j
		for ; b[j]-'0' <= 9 && j-from < 6; j++ {
			x = x*10 + int(b[j]-'0')
		}
		if j > from {
			if i = j; neg {
				x = -x
			}
			e += x
		}
	}
	return m, e, n, i
}

// Float is m*10^e, correctly rounded; false if that takes more than this.
func Float(m uint64, e int) (float64, bool) {
	switch {
	case m < 1<<53 && e >= -22 && e <= 0:
		return float64(m) / powers[-e], true
	case m < 1<<53 && e > 0 && e <= 22:
		return float64(m) * powers[e], true
	case e < 0 && e >= -19:
		// A quotient of 63 bits at least, whose last one summarizes all bits behind it, is rounded
		// once by the conversion.
		d := powers8[-e]
		zm, zd := bits.LeadingZeros64(m), bits.LeadingZeros64(d)
		m, d = m<<zm, d<<zd
		q, rest := bits.Div64(m>>1, m<<63, d)
		if rest != 0 {
			q |= 1
		}
		return float64(q) * math.Float64frombits(uint64(1023+zd-zm-63)<<52), true
	}
	return 0, false
}

// ParseFloat is the number in a cell that has one.
func ParseFloat(text []byte) (float64, error) {
	return strconv.ParseFloat(string(text), 64) // the string does not escape
}
