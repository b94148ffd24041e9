package index

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// scanner reads JSON strictly and in place. encoding/json would keep the last of
// two equal names without a word, and takes several times the memory.
type scanner struct {
	b    []byte
	pos  int
	base int64 // offset of b in the file, for errors
}

func (s *scanner) fail(format string, args ...any) error {
	return shardify.Corrupt(s.base+int64(s.pos), format, args...)
}

func (s *scanner) space() {
	for s.pos < len(s.b) {
		switch s.b[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek is the next byte that is no white space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos < len(s.b) {
		return s.b[s.pos]
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	if got := s.peek(); got != c || s.pos == len(s.b) {
		if s.pos == len(s.b) {
			return s.fail("JSON ends where %q should be", c)
		}
		return s.fail("JSON has %q where %q should be", got, c)
	}
	s.pos++
	return nil
}

// each reads a list or object between open and close and calls item before every
// entry.
func (s *scanner) each(open, close byte, item func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.peek() == close {
		s.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		if s.peek() != ',' {
			return s.expect(close)
		}
		s.pos++
	}
}

// object reads an object and calls value before every value.
func (s *scanner) object(value func(name string) error) error {
	return s.each('{', '}', func() error {
		name, err := s.string()
		if err == nil {
			err = s.expect(':')
		}
		if err != nil {
			return err
		}
		return value(name)
	})
}

// string reads a string; bytes that are not UTF-8, bare control characters and
// halves of surrogate pairs are refused.
func (s *scanner) string() (string, error) {
	if err := s.expect('"'); err != nil {
		return "", err
	}
	var long strings.Builder
	from := s.pos
	if end := bytes.IndexByte(s.b[from:], '"'); end >= 0 {
		long.Grow(end) // and more if that one is escaped
	}
	for ; s.pos < len(s.b); s.pos++ {
		switch c := s.b[s.pos]; {
		case c == '"':
			long.Write(s.b[from:s.pos])
			s.pos++
			if text := long.String(); utf8.ValidString(text) {
				return text, nil
			}
			return "", s.fail("string is not UTF-8")
		case c < 0x20:
			return "", s.fail("control character %#x in a string", c)
		case c == '\\':
			long.Write(s.b[from:s.pos])
			r, err := s.escape()
			if err != nil {
				return "", err
			}
			long.WriteRune(r)
			from = s.pos + 1
		}
	}
	return "", s.fail("JSON ends inside a string")
}

// escape reads an escape and leaves pos at its last byte.
func (s *scanner) escape() (rune, error) {
	s.pos++
	if s.pos == len(s.b) {
		return 0, s.fail("JSON ends inside a string")
	}
	c := s.b[s.pos]
	if c == 'u' {
		return s.unicode()
	}
	const short, long = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(short, c); i >= 0 {
		return rune(long[i]), nil
	}
	return 0, s.fail("escape \\%c in a string", c)
}

func (s *scanner) unicode() (rune, error) {
	r, err := s.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if s.pos+2 < len(s.b) && s.b[s.pos+1] == '\\' && s.b[s.pos+2] == 'u' {
		s.pos += 2
		low, err := s.hex4()
		if err != nil {
			return 0, err
		}
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, s.fail("half of a surrogate pair in a string")
}

// hex4 reads the four digits after pos.
func (s *scanner) hex4() (r rune, err error) {
	for i := 0; i < 4; i++ {
		s.pos++
		if s.pos == len(s.b) {
			return 0, s.fail("JSON ends inside a string")
		}
		d := strings.IndexByte("0123456789abcdef", s.b[s.pos]|0x20)
		if d < 0 || s.b[s.pos] < '0' {
			return 0, s.fail("escape \\u without four digits")
		}
		r = r<<4 | rune(d)
	}
	return r, nil
}

// uint reads a whole number from 0 to 2^63-1, without sign, fraction or leading
// zeros.
func (s *scanner) uint() (n int64, err error) {
	s.space()
	from := s.pos
	for ; s.pos < len(s.b) && s.b[s.pos]-'0' <= 9; s.pos++ {
		d := int64(s.b[s.pos] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, s.fail("number exceeds 63 bits")
		}
		n = n*10 + d
	}
	switch digits := s.pos - from; {
	case digits == 0:
		return 0, s.fail("want a whole number")
	case digits > 1 && s.b[from] == '0':
		return 0, s.fail("number with a leading zero")
	case s.pos < len(s.b) && strings.IndexByte(".eE", s.b[s.pos]) >= 0:
		return 0, s.fail("want a whole number")
	}
	return n, nil
}

// uints reads a list of up to most numbers.
func (s *scanner) uints(into []int64, most int) ([]int64, error) {
	most += len(into)
	err := s.each('[', ']', func() error {
		if len(into) == most {
			return s.fail("list of more than %d numbers", most)
		}
		n, err := s.uint()
		into = append(into, n)
		return err
	})
	return into, err
}

// maxDepth bounds the values that skip descends into.
const maxDepth = 64

// skip passes over any value.
func (s *scanner) skip(depth int) error {
	if depth == maxDepth {
		return s.fail("JSON nested deeper than %d", maxDepth)
	}
	switch c := s.peek(); {
	case c == '{':
		return s.object(func(string) error { return s.skip(depth + 1) })
	case c == '[':
		return s.each('[', ']', func() error { return s.skip(depth + 1) })
	case c == '"':
		_, err := s.string()
		return err
	}
	from := s.pos
	for s.pos < len(s.b) && strings.IndexByte(" \t\r\n,]}", s.b[s.pos]) < 0 {
		s.pos++
	}
	switch word := string(s.b[from:s.pos]); {
	case word == "true" || word == "false" || word == "null":
		return nil
	case isNumber(word):
		return nil
	}
	return s.fail("JSON has %.20q where a value should be", s.b[from:])
}

// isNumber follows the grammar: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func isNumber(w string) bool {
	w = strings.TrimPrefix(w, "-")
	whole := digits(w)
	if whole == 0 || whole > 1 && w[0] == '0' {
		return false
	}
	w = w[whole:]
	if strings.HasPrefix(w, ".") {
		n := digits(w[1:])
		if n == 0 {
			return false
		}
		w = w[1+n:]
	}
	if w != "" && w[0]|0x20 == 'e' {
		w = w[1:]
		if w != "" && (w[0] == '+' || w[0] == '-') {
			w = w[1:]
		}
		n := digits(w)
		return n > 0 && n == len(w)
	}
	return w == ""
}

func digits(w string) (n int) {
	for n < len(w) && w[n]-'0' <= 9 {
		n++
	}
	return n
}
