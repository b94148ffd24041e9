package csv

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unsafe"
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

// eight reports whether 8 bytes are digits, and their number.
func eight(b []byte) (uint64, bool) {
	x := binary.LittleEndian.Uint64(b)
	y := x - 0x3030303030303030
	if (y|(x+0x4646464646464646))&0x8080808080808080 != 0 {
		return 0, false
	}
	y = y*10 + y>>8
	return ((y&0x000000ff000000ff)*0x000f424000000064 + (y>>16&0x000000ff000000ff)*0x0000271000000001) >> 32, true
}

// decimal reads digits, a point and an exponent from i on, behind any sign: m*10^e is the number.
// n is how many digits there are, at most 19 of which fit; end is where it ends. Behind b[end] are
// 8 bytes or a line feed.
func decimal(b []byte, i int) (m uint64, e, n, end int) {
	s := i
	for ; b[i]-'0' <= 9; i++ {
		m = m*10 + uint64(b[i]-'0')
	}
	n = i - s
	if b[i] == '.' {
		i++
		f := i
		for len(b)-i >= 8 {
			x, ok := eight(b[i:])
			if !ok {
				break
			}
			m = m*1e8 + x
			i += 8
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

// float is m*10^e, correctly rounded; false if that takes more than this.
func float(m uint64, e int) (float64, bool) {
	switch {
	case m < 1<<53 && e >= -22 && e <= 0:
		return float64(m) / powers[-e], true
	case m < 1<<53 && e > 0 && e <= 22:
		return float64(m) * powers[e], true
	case e < 0 && e >= -19:
		// A quotient of 63 bits at least, whose last one stands for all behind it, is rounded
		// once by the conversion.
		d := powers8[-e]
		zm, zd := bits.LeadingZeros64(m), bits.LeadingZeros64(d)
		m, d = m<<zm, d<<zd
		q, rest := bits.Div64(m>>1, m<<63, d)
		if rest != 0 {
			q |= 1
		}
		return math.Ldexp(float64(q), zd-zm-63), true
	}
	return 0, false
}

// parseFloat is the number in a cell that has one.
func parseFloat(text []byte) (float64, error) {
	return strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
}

// isNumber tells digits with a point or an exponent, or both, and inf and nan.
func isNumber(t []byte) bool {
	t = unsigned(t)
	switch len(t) {
	case 0:
		return false
	case 3:
		if fold(t, "inf") || fold(t, "nan") {
			return true
		}
	case 8:
		if fold(t, "infinity") {
			return true
		}
	}
	i, n := 0, 0
	for ; i < len(t) && t[i]-'0' <= 9; i++ {
		n++
	}
	if i < len(t) && t[i] == '.' {
		for i++; i < len(t) && t[i]-'0' <= 9; i++ {
			n++
		}
	}
	if n > 0 && i+1 < len(t) && t[i]|0x20 == 'e' {
		t = unsigned(t[i+1:])
		for i = 0; i < len(t) && t[i]-'0' <= 9; i++ {
		}
		n = i
	}
	return n > 0 && i == len(t)
}

func unsigned(t []byte) []byte {
	if len(t) > 0 && (t[0] == '-' || t[0] == '+') {
		return t[1:]
	}
	return t
}

// fold compares with a word in lower case.
func fold(t []byte, word string) bool {
	if len(t) != len(word) {
		return false
	}
	for i := range t {
		if c := t[i]; c != word[i] && (c < 'A' || c > 'Z' || c|0x20 != word[i]) {
			return false
		}
	}
	return true
}

// whole reads a whole number. fits: it is one, without needless zeros, of at most 64 bits.
func whole(t []byte) (m uint64, neg, fits bool) {
	d := unsigned(t)
	neg = len(t) > len(d) && t[0] == '-'
	if len(d) == 0 || len(d) > 20 || d[0] == '0' && (len(d) > 1 || neg) {
		return 0, neg, false
	}
	for i, c := range d {
		if c -= '0'; c > 9 {
			return 0, neg, false
		} else if i == 19 {
			hi, lo := bits.Mul64(m, 10)
			var carry uint64
			if m, carry = bits.Add64(lo, uint64(c), 0); hi != 0 || carry != 0 {
				return 0, neg, false
			}
		} else {
			m = m*10 + uint64(c)
		}
	}
	return m, neg, true
}

// allDigits tells what looks like a whole number.
func allDigits(t []byte) bool {
	d := unsigned(t)
	for _, c := range d {
		if c-'0' > 9 {
			return false
		}
	}
	return len(d) > 0
}
