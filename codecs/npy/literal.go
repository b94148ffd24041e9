package npy

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// kind is the type of a value in a header.
type kind uint8

const (
	isNone kind = iota
	isBool
	isInt
	isString
	isTuple
	isList
	isDict
)

var kindNames = [...]string{"None", "a bool", "an integer", "a string", "a tuple", "a list", "a dict"}

// value is one Python literal.
type value struct {
	kind  kind
	at    int // byte in the header text
	text  string
	num   int64   // of an integer; of a bool 0 or 1
	items []value // of a dict: key, value, key, value, ...
}

const (
	maxDepth = 32
	// maxValues bounds the memory of a header to some 20 MB; 4,000 fields take 12,000.
	maxValues = 1 << 18
)

// literal reads the subset of Python that headers are written in: dict, tuple,
// list, string, integer, True, False, None. Anything else is an error with its
// position; nothing is ever evaluated.
type literal struct {
	s      []byte
	pos    int
	base   int  // of s in the file, for errors
	latin  bool // bytes are Latin-1, as in versions 1.0 and 2.0; else UTF-8
	values int
}

func (l *literal) fail(at int, format string, args ...any) error {
	return shardify.Corrupt(int64(l.base+at), "header: "+format, args...)
}

func (l *literal) space() {
	for l.pos < len(l.s) && strings.IndexByte(" \t\r\n", l.s[l.pos]) >= 0 {
		l.pos++
	}
}

// peek is the next byte after white space, 0 at the end.
func (l *literal) peek() byte {
	l.space()
	if l.pos == len(l.s) {
		return 0
	}
	return l.s[l.pos]
}

// whole reads one value and nothing but white space after it.
func (l *literal) whole() (value, error) {
	v, err := l.value(0)
	if err != nil {
		return v, err
	}
	if l.space(); l.pos < len(l.s) {
		return v, l.fail(l.pos, "something follows the literal")
	}
	return v, nil
}

func (l *literal) value(depth int) (v value, err error) {
	c := l.peek()
	v.at = l.pos
	if l.values++; l.values > maxValues {
		return v, l.fail(l.pos, "more than %d values", maxValues)
	}
	if depth > maxDepth {
		return v, l.fail(l.pos, "nested deeper than %d", maxDepth)
	}
	switch {
	case c == 0 && l.pos == len(l.s):
		return v, l.fail(l.pos, "ends in the middle")
	case c == '{':
		v.kind = isDict
		v.items, _, err = l.sequence('}', depth)
	case c == '[':
		v.kind = isList
		v.items, _, err = l.sequence(']', depth)
	case c == '(':
		return l.tuple(depth)
	case c == '\'' || c == '"':
		v.kind = isString
		v.text, err = l.str()
	case c == '-' || c >= '0' && c <= '9':
		v.kind = isInt
		v.num, err = l.integer()
	default:
		return l.word()
	}
	return v, err
}

// tuple reads (a, b), (a,), () and the value in parentheses (a).
func (l *literal) tuple(depth int) (value, error) {
	v := value{kind: isTuple, at: l.pos}
	items, comma, err := l.sequence(')', depth)
	if err != nil {
		return v, err
	}
	if len(items) == 1 && !comma {
		return items[0], nil
	}
	v.items = items
	return v, nil
}

// sequence reads what is between brackets, commas between the items and
// optionally behind the last one. In a dict each item is key: value.
func (l *literal) sequence(end byte, depth int) (items []value, comma bool, err error) {
	start := l.pos
	l.pos++
	for {
		c := l.peek()
		if c == end {
			l.pos++
			return items, comma, nil
		}
		if len(items) > 0 && !comma {
			return nil, false, l.fail(l.pos, "want a comma or %q", end)
		}
		v, err := l.value(depth + 1)
		if err != nil {
			return nil, false, err
		}
		items = append(items, v)
		if end == '}' {
			if l.peek() != ':' {
				return nil, false, l.fail(l.pos, "want a colon")
			}
			l.pos++
			if v, err = l.value(depth + 1); err != nil {
				return nil, false, err
			}
			items = append(items, v)
		}
		if comma = l.peek() == ','; comma {
			l.pos++
		}
		if l.space(); l.pos == len(l.s) {
			return nil, false, l.fail(start, "bracket is not closed")
		}
	}
}

// word reads True, False, None, and strings with the prefix u or b.
func (l *literal) word() (value, error) {
	at := l.pos
	if l.pos+1 < len(l.s) && (l.s[at]|0x20 == 'u' || l.s[at]|0x20 == 'b') && (l.s[at+1] == '\'' || l.s[at+1] == '"') {
		l.pos++
		s, err := l.str()
		return value{kind: isString, at: at, text: s}, err
	}
	end := at
	for end < len(l.s) && (l.s[end] == '_' || l.s[end]|0x20 >= 'a' && l.s[end]|0x20 <= 'z') {
		end++
	}
	l.pos = end
	switch string(l.s[at:end]) {
	case "True":
		return value{kind: isBool, at: at, num: 1}, nil
	case "False":
		return value{kind: isBool, at: at}, nil
	case "None":
		return value{kind: isNone, at: at}, nil
	}
	return value{}, l.fail(at, "%q is no literal", clip(string(l.s[at:max(end, at+1)]), 20))
}

func (l *literal) integer() (int64, error) {
	at := l.pos
	neg := l.s[l.pos] == '-'
	if neg {
		l.pos++
	}
	digits := l.pos
	var n int64
	for ; l.pos < len(l.s) && l.s[l.pos] >= '0' && l.s[l.pos] <= '9'; l.pos++ {
		d := int64(l.s[l.pos] - '0')
		if n > (math.MaxInt64-d)/10 {
			return 0, l.fail(at, "integer overflow")
		}
		n = n*10 + d
	}
	if l.pos == digits || l.s[digits] == '0' && l.pos > digits+1 {
		return 0, l.fail(at, "not an integer")
	}
	if l.pos < len(l.s) {
		switch c := l.s[l.pos]; {
		case c == 'L' || c == 'l': // as Python 2 wrote it
			l.pos++
		case c == '.' || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
			return 0, l.fail(at, "not an integer")
		}
	}
	if neg {
		n = -n
	}
	return n, nil
}

// str reads a string; the position is at its opening quote.
func (l *literal) str() (string, error) {
	start := l.pos
	quote := l.s[l.pos]
	l.pos++
	var b strings.Builder
	for l.pos < len(l.s) {
		c := l.s[l.pos]
		switch {
		case c == quote:
			l.pos++
			return b.String(), nil
		case c == '\\':
			if err := l.escape(&b); err != nil {
				return "", err
			}
			continue
		case c == '\n' || c == '\r':
			return "", l.fail(l.pos, "line end in a string")
		case c < utf8.RuneSelf:
			b.WriteByte(c)
		case l.latin:
			b.WriteRune(rune(c))
		default:
			r, n := utf8.DecodeRune(l.s[l.pos:])
			if r == utf8.RuneError && n <= 1 {
				return "", l.fail(l.pos, "string is not UTF-8")
			}
			b.WriteRune(r)
			l.pos += n
			continue
		}
		l.pos++
	}
	return "", l.fail(start, "string is not closed")
}

var escapes = map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'n': '\n', 't': '\t', 'r': '\r'}

// escape reads a backslash and what belongs to it.
func (l *literal) escape(b *strings.Builder) error {
	at := l.pos
	l.pos += 2
	if l.pos > len(l.s) {
		return l.fail(at, "string is not closed")
	}
	c := l.s[at+1]
	if r, ok := escapes[c]; ok {
		b.WriteByte(r)
		return nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 {
		return l.fail(at, "unknown escape in a string")
	}
	if l.pos+digits > len(l.s) {
		return l.fail(at, "string is not closed")
	}
	var r uint32
	for _, h := range l.s[l.pos : l.pos+digits] {
		d := strings.IndexByte("0123456789abcdef", h|0x20)
		if d < 0 || h < '0' {
			return l.fail(at, "bad escape in a string")
		}
		r = r<<4 | uint32(d)
	}
	if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
		return l.fail(at, "escape is not a character")
	}
	l.pos += digits
	b.WriteRune(rune(r))
	return nil
}

// clip shortens what a file says before it goes into a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
