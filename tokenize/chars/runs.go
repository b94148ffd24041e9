package chars

import "unicode/utf8"

// At is the class of the character at s[i], and its length.
func At(s []byte, i int) (bits byte, n int) {
	if c := s[i]; c < utf8.RuneSelf {
		return ascii[c], 1
	}
	r, n := utf8.DecodeRune(s[i:])
	return class.Of(r), n
}

// Run is where the characters from i on end that are of one of the classes.
func Run(s []byte, i int, bits byte) int {
	for i < len(s) {
		k, n := At(s, i)
		if k&bits == 0 {
			break
		}
		i += n
	}
	return i
}

// RunInk is where the characters from i on end that are not white space.
func RunInk(s []byte, i int) int {
	for i < len(s) {
		k, n := At(s, i)
		if k&Space != 0 {
			break
		}
		i += n
	}
	return i
}

// IsASCII reports whether no character is beyond U+007F.
func IsASCII(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
