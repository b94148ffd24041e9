package labels

import (
	"unicode"
	"unicode/utf8"
)

// perhaps marks the bytes of names that a key may escape.
var perhaps = func() (t [256]bool) {
	for c := range t {
		t[c] = c <= ' ' || c >= 0x7f
	}
	for _, c := range []byte(`\%._`) {
		t[c] = true
	}
	return t
}()

// character is how many bytes of name belong together at i, and whether a key escapes
// them: where some reader of WebDataset tars would misread them, or they look escaped.
// last is where the last part begins; first says that the key begins with name.
func character(name []byte, i, last int, first bool) (n int, odd bool) {
	switch c := name[i]; {
	case !perhaps[c]:
		return 1, false
	case c == '.':
		return 1, i >= last || i == 0 || name[i-1] == '/' // a folder may have dots inside
	case c == '%':
		return 1, i+2 < len(name) && hex(name[i+1]) && hex(name[i+2])
	case c == '_':
		return 1, first && i == 0 && len(name) > 1 && name[1] == '_'
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRune(name[i:])
		return n, r == utf8.RuneError && n == 1 || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	}
	return 1, true
}

func hex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func lastPart(name []byte) int {
	i := len(name)
	for i > 0 && name[i-1] != '/' {
		i--
	}
	return i
}

// appendEscaped appends name with %XX for each byte that a key does not hold as it is.
// To put the byte back for each % with two hex digits gives the name.
func appendEscaped(dst, name []byte, first bool) []byte {
	const digits = "0123456789ABCDEF"
	last := lastPart(name)
	for i := 0; i < len(name); {
		n, odd := character(name, i, last, first)
		if !odd {
			dst = append(dst, name[i:i+n]...)
		} else {
			for _, c := range name[i : i+n] {
				dst = append(dst, '%', digits[c>>4], digits[c&15])
			}
		}
		i += n
	}
	return dst
}

// escapedLen is the length of what appendEscaped appends.
func escapedLen(name []byte, first bool) int {
	last, size := lastPart(name), len(name)
	for i := 0; i < len(name); {
		n, odd := character(name, i, last, first)
		if odd {
			size += 2 * n
		}
		i += n
	}
	return size
}
