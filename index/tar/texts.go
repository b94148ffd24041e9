package tar

import (
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// A member of kind MemberTexts is a JSON array of strings without white space,
// ["a","b"], or null for a sample without a list. Only what JSON demands is
// escaped.

// NoTexts is the member of a sample whose list is missing.
const NoTexts = "null"

const hexDigits = "0123456789abcdef"

// textEscapes has the letter after the backslash for bytes that have one.
var textEscapes = [256]byte{'"': '"', '\\': '\\', '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f'}

// AppendTexts appends the list of texts data[offsets[i]:offsets[i+1]]. Text that is not
// UTF-8 cannot be in JSON.
func AppendTexts(dst, data []byte, offsets []int64) ([]byte, error) {
	dst = append(dst, '[')
	for i := 1; i < len(offsets); i++ {
		if i > 1 {
			dst = append(dst, ',')
		}
		text := data[offsets[i-1]:offsets[i]]
		if !utf8.Valid(text) {
			return dst, shardify.Corrupt(-1, "text %d of the list is not UTF-8: %.80q", i-1, text)
		}
		dst = append(appendText(append(dst, '"'), text), '"')
	}
	return append(dst, ']'), nil
}

func appendText(dst, text []byte) []byte {
	done := 0
	for i, c := range text {
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(append(dst, text[done:i]...), '\\')
		if e := textEscapes[c]; e != 0 {
			dst = append(dst, e)
		} else {
			dst = append(dst, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		done = i + 1
	}
	return append(dst, text[done:]...)
}

// TextsSize counts the texts of a list and their bytes, and checks that they are
// written as AppendTexts writes them. Offsets in errors count from the beginning
// of b.
func TextsSize(b []byte) (texts, size int, err error) {
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return 0, 0, shardify.Corrupt(0, "list of texts is %.40q, want a JSON array of strings", b)
	}
	if !utf8.Valid(b) {
		return 0, 0, shardify.Corrupt(0, "list of texts is not UTF-8")
	}
	for i := 1; i < len(b)-1; texts++ {
		n, end, ok := textSize(b, i, texts > 0)
		if !ok {
			return 0, 0, shardify.Corrupt(int64(end), "list of texts: text %d is not a JSON string as this format writes it", texts)
		}
		size += n
		i = end
	}
	return texts, size, nil
}

// textSize checks one text at b[i:], after a comma unless it is the first. end
// is behind the closing quote, or the place of the fault.
func textSize(b []byte, i int, comma bool) (size, end int, ok bool) {
	if comma {
		if b[i] != ',' {
			return 0, i, false
		}
		i++
	}
	if b[i] != '"' {
		return 0, i, false
	}
	for i++; i < len(b)-1; i++ {
		switch c := b[i]; {
		case c == '"':
			return size, i + 1, true
		case c < 0x20:
			return 0, i, false
		case c == '\\':
			_, n := unescape(b[i+1 : len(b)-1])
			if n == 0 {
				return 0, i, false
			}
			i += n
		}
		size++
	}
	return 0, i, false
}

// unescape reads what follows a backslash: the byte and how many bytes spell it, or 0 for
// an escape that we do not write.
func unescape(b []byte) (c byte, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch b[0] {
	case '"', '\\':
		return b[0], 1
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'b':
		return '\b', 1
	case 'f':
		return '\f', 1
	}
	if len(b) < 5 || string(b[:3]) != "u00" || b[3] != '0' && b[3] != '1' {
		return 0, 0
	}
	c = (b[3] - '0') << 4
	switch d := b[4]; {
	case d >= '0' && d <= '9':
		c |= d - '0'
	case d >= 'a' && d <= 'f':
		c |= d - 'a' + 10
	default:
		return 0, 0
	}
	if textEscapes[c] != 0 {
		return 0, 0 // has a shorter escape
	}
	return c, 5
}

// DecodeTexts appends the texts of a list that TextsSize has accepted to data,
// and the end of each, counted in data, to ends.
func DecodeTexts(data []byte, ends []int64, b []byte) ([]byte, []int64) {
	for i := 1; i < len(b)-1; i++ {
		if b[i] == ',' {
			i++
		}
		for i++; b[i] != '"'; i++ {
			if b[i] != '\\' {
				data = append(data, b[i])
				continue
			}
			c, n := unescape(b[i+1:])
			data = append(data, c)
			i += n
		}
		ends = append(ends, int64(len(data)))
	}
	return data, ends
}
