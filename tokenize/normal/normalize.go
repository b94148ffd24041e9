package normal

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
)

// Normalizer is the steps that change a text before it is cut into words.
type Normalizer []Step

// Memory is the memory of a normalizer, of one goroutine.
type Memory struct {
	Watch bool      // Head is wanted
	Head  []byte    // what the normalizer has made of the first character
	norm  [2][]byte // what a Step reads, and what it writes
}

// Step is one of them. It returns s where nothing changes, else dst with what it appended.
// More than limit bytes are an error.
type Step interface {
	Apply(dst, s []byte, limit int) ([]byte, error)
}

// What a text may grow to: by as much, and by so much more.
const (
	growTimes = 64
	growBytes = 1 << 16
)

// MayGrow is the limit for a text of n bytes.
func MayGrow(n int) int { return growTimes*n + growBytes }

// Apply runs the steps; the result is valid until the next call.
func (n Normalizer) Apply(s []byte, m *Memory, limit int) ([]byte, error) {
	k := 0
	if m.Watch {
		_, n := utf8.DecodeRune(s)
		m.Head = s[:n]
	}
	for _, st := range n {
		if len(s) == 0 {
			break
		}
		if m.Watch && len(m.Head) > 0 {
			m.Head = firstBy(st, m.Head, s)
		}
		out, err := st.Apply(m.norm[k][:0], s, limit)
		if err != nil {
			return nil, err
		}
		if len(out) > limit {
			return nil, tooLong()
		}
		if len(out) == 0 || &out[0] != &s[0] {
			m.norm[k] = out
			k = 1 - k
		}
		s = out
	}
	return s, nil
}

// firstBy is what a Step makes of the first character of s, which is head.
func firstBy(st Step, head, s []byte) []byte {
	switch st := st.(type) {
	case ReplaceText:
		if bytes.HasPrefix(s, st.From) {
			return st.To
		}
	case ReplaceSpaces:
		if bytes.HasPrefix(s, []byte("  ")) {
			return st.To
		}
	case Trim:
		st.Right = false // the text goes on
		out, _ := st.Apply(nil, head, 0)
		return out
	}
	out, err := st.Apply(nil, head, MayGrow(len(head)))
	if err != nil {
		return nil
	}
	return out
}

func tooLong() error {
	return shardify.Unsupported("the normalizer makes a text more than %d times as long", growTimes)
}

// RemovesSpaces reports whether the result has no U+0020.
func (n Normalizer) RemovesSpaces() bool {
	if len(n) == 0 {
		return false
	}
	r, ok := n[len(n)-1].(ReplaceText)
	return ok && string(r.From) == " " && !bytes.Contains(r.To, r.From)
}

// Prepend puts a text before each.
type Prepend []byte

func (p Prepend) Apply(dst, s []byte, _ int) ([]byte, error) {
	return append(append(dst, p...), s...), nil
}

// ReplaceText replaces each text From.
type ReplaceText struct{ From, To []byte }

func (r ReplaceText) Apply(dst, s []byte, limit int) ([]byte, error) {
	i := bytes.Index(s, r.From)
	if i < 0 {
		return s, nil
	}
	for ; i >= 0; i = bytes.Index(s, r.From) {
		dst = append(append(dst, s[:i]...), r.To...)
		if s = s[i+len(r.From):]; len(dst) > limit {
			return nil, tooLong()
		}
	}
	return append(dst, s...), nil
}

// ReplaceSpaces is the regular expression ` {2,}`.
type ReplaceSpaces struct{ To []byte }

func (r ReplaceSpaces) Apply(dst, s []byte, limit int) ([]byte, error) {
	two := []byte("  ")
	i := bytes.Index(s, two)
	if i < 0 {
		return s, nil
	}
	for ; i >= 0; i = bytes.Index(s, two) {
		dst = append(append(dst, s[:i]...), r.To...)
		if s = bytes.TrimLeft(s[i:], " "); len(dst) > limit {
			return nil, tooLong()
		}
	}
	return append(dst, s...), nil
}

// Lowercase is character by character.
type Lowercase struct{ Map *chars.Mapping }

func (l Lowercase) Apply(dst, s []byte, _ int) ([]byte, error) {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if to, changes := l.Map.Of(r); changes {
			dst = append(dst, to...)
		} else {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst, nil
}

// Remove drops characters.
type Remove struct{ Chars *chars.Props }

func (f Remove) Apply(dst, s []byte, _ int) ([]byte, error) {
	if chars.IsASCII(s) { // no table has any
		return s, nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if f.Chars.Of(r) == 0 {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst, nil
}

// CleanText drops control characters and makes spaces of white space.
type CleanText struct{ Chars *chars.Props }

func (c CleanText) Apply(dst, s []byte, _ int) ([]byte, error) {
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(s[i:])
		}
		switch c.Chars.Of(r) {
		case 0:
			dst = append(dst, s[i:i+n]...)
		case chars.ToSpace:
			dst = append(dst, ' ')
		}
		i += n
	}
	return dst, nil
}

// Trim drops white space at the ends.
type Trim struct{ Left, Right bool }

func (t Trim) Apply(dst, s []byte, _ int) ([]byte, error) {
	lo, hi := 0, len(s)
	if t.Left {
		lo = chars.Run(s, 0, chars.Space)
	}
	for t.Right && hi > lo {
		r, n := utf8.DecodeLastRune(s[:hi])
		if chars.ClassOf(r)&chars.Space == 0 {
			break
		}
		hi -= n
	}
	if lo == 0 && hi == len(s) {
		return s, nil
	}
	return append(dst, s[lo:hi]...), nil
}

// ToLetters writes bytes as the letters of byte-level vocabularies.
type ToLetters struct{}

func (ToLetters) Apply(dst, s []byte, _ int) ([]byte, error) { return chars.AppendLetters(dst, s), nil }

// SpaceCJK puts spaces around each Chinese character.
type SpaceCJK struct{}

func (SpaceCJK) Apply(dst, s []byte, _ int) ([]byte, error) {
	if chars.IsASCII(s) {
		return s, nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if isCJK(r) {
			dst = append(append(append(dst, ' '), s[i:i+n]...), ' ')
		} else {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst, nil
}

// isCJK has the ranges of the reference, of which one begins later than in the original.
func isCJK(r rune) bool {
	return r >= 0x3400 && (r <= 0x4dbf || 0x4e00 <= r && r <= 0x9fff || 0xf900 <= r && r <= 0xfaff ||
		0x20000 <= r && r <= 0x2a6df || 0x2a700 <= r && r <= 0x2b81f || 0x2b920 <= r && r <= 0x2ceaf || 0x2f800 <= r && r <= 0x2fa1f)
}
