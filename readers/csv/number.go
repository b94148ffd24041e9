package csv

import "math/bits"

// isNumber reports whether t is digits with a point or an exponent, or both, or inf or nan.
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

// allDigits reports whether t looks like a whole number.
func allDigits(t []byte) bool {
	d := unsigned(t)
	for _, c := range d {
		if c-'0' > 9 {
			return false
		}
	}
	return len(d) > 0
}
