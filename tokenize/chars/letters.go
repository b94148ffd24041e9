package chars

import "unicode/utf8"

// ByteLetters are the letters that byte-level vocabularies write bytes with.
var ByteLetters = func() (letters [256]rune) {
	n := rune(0)
	for b := range letters {
		if c := rune(b); 0x21 <= c && c <= 0x7e || 0xa1 <= c && c <= 0xac || 0xae <= c {
			letters[b] = c
		} else {
			letters[b] = 256 + n
			n++
		}
	}
	return letters
}()

// AppendLetters appends the letters of bytes.
func AppendLetters(dst, s []byte) []byte {
	for _, b := range s {
		dst = utf8.AppendRune(dst, ByteLetters[b])
	}
	return dst
}
