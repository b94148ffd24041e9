package printable

import (
	"fmt"
	"unicode/utf8"
)

// NotUTF8 is the place of the first bytes that are not UTF-8, and what is wrong with them; -1 if
// all are.
func NotUTF8(b []byte) (at int, why string) {
	if utf8.Valid(b) {
		return -1, ""
	}
	for {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n <= 1 {
			return at, wrong(b[at:])
		}
		at += n
	}
}

// wrong says why no character begins with b.
func wrong(b []byte) string {
	c := b[0]
	want := 0 // further bytes
	switch {
	case c < 0xC0:
		return fmt.Sprintf("byte 0x%02x continues a character that has no first byte", c)
	case c < 0xC2 || c > 0xF4:
		return fmt.Sprintf("no character has byte 0x%02x", c)
	case c < 0xE0:
		want = 1
	case c < 0xF0:
		want = 2
	default:
		want = 3
	}
	for k := 1; k <= want; k++ {
		switch {
		case k == len(b):
			return fmt.Sprintf("the text ends within a character, % x", b)
		case b[k]&0xC0 != 0x80:
			return fmt.Sprintf("a character of %d bytes ends after % x", want+1, b[:k])
		}
	}
	switch {
	case c == 0xED:
		return fmt.Sprintf("% x is half of a pair of UTF-16", b[:3])
	case c == 0xF4:
		return fmt.Sprintf("% x is beyond the last character", b[:4])
	}
	return fmt.Sprintf("% x is a character in more bytes than it takes", b[:want+1])
}
