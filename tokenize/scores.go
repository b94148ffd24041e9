package tokenize

import (
	"math"
	"strconv"
)

// powers are 1e0 to 1e308.
var powers = func() (p [309]float64) {
	for i := range p {
		p[i], _ = strconv.ParseFloat("1e"+strconv.Itoa(i), 64)
	}
	return p
}()

// scoreOf is the number that the reference reads: the digits as an integer of 64 bits, those
// beyond left out, times or by a power of ten. In the last bit it may not be the nearest one, and
// which of two ways is the better may depend on that bit. The text is a number of JSON.
func scoreOf(s []byte) float64 {
	digits, exponent, i := uint64(0), 0, 0
	if s[0] == '-' {
		i++
	}
	fraction, full := false, false
loop:
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '.':
			fraction = true
		case c < '0' || c > '9': // e or E
			break loop
		default:
			d := uint64(c - '0')
			if full = full || digits > math.MaxUint64/10 || digits == math.MaxUint64/10 && d > math.MaxUint64%10; full {
				if !fraction {
					exponent++
				}
				continue
			}
			digits = digits*10 + d
			if fraction {
				exponent--
			}
		}
	}
	if i < len(s) {
		e, err := strconv.Atoi(string(s[i+1:]))
		if err != nil || e < math.MinInt32 { // far beyond all others
			e = math.MinInt32
		}
		exponent += e
	}
	f := float64(digits)
	for ; exponent < -308 && f != 0; exponent += 308 {
		f /= 1e308
	}
	switch {
	case f == 0:
	case exponent >= 0:
		f *= powers[min(exponent, 308)]
	default:
		f /= powers[-exponent]
	}
	if s[0] == '-' {
		f = -f
	}
	return f
}
