package lines

import (
	"unicode/utf8"

	"github.com/shardify/shardify/format"
)

// BadUTF8 is the option that says what becomes of bytes that are not UTF-8.
var BadUTF8 = format.Option{
	Name: "bad-utf8", Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "replace"}, Quiet: true,
	Help: "bytes that are not UTF-8: refuse, or write U+FFFD as errors='replace' of Python does, and count them",
}

// Replaced is the name of the count of a field.
func Replaced(field string) string {
	return "bad-utf8 " + field + ": U+FFFD in the place of bytes that are not UTF-8"
}

// Valid appends text with U+FFFD in the place of what is not UTF-8, one for each longest part of
// it that begins a character (Unicode, section 3.9), and says how many.
func Valid(to, text []byte) (out []byte, n int64) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r != utf8.RuneError || size > 1 {
			to = append(to, text[i:i+size]...)
			i += size
			continue
		}
		to = append(to, "\uFFFD"...)
		n++
		i += partial(text[i:])
	}
	return to, n
}

// ValidSize is how many bytes Valid appends.
func ValidSize(text []byte) (n int64) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			n += int64(len("\uFFFD"))
			i += partial(text[i:])
			continue
		}
		n += int64(size)
		i += size
	}
	return n
}

// partial is how many bytes at the start of b, which are no whole character, begin one; at least 1.
func partial(b []byte) int {
	lo, hi := byte(0x80), byte(0xBF)
	want := 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		want = 1
	case c >= 0xE0 && c <= 0xEF:
		want = 2
		if c == 0xE0 {
			lo = 0xA0
		} else if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		want = 3
		if c == 0xF0 {
			lo = 0x90
		} else if c == 0xF4 {
			hi = 0x8F
		}
	}
	n := 1
	for ; n <= want && n < len(b) && b[n] >= lo && b[n] <= hi; n++ {
		lo, hi = 0x80, 0xBF
	}
	return n
}
