package tokenize

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/tokenize/chars"
)

// The names of counts of a field that is tokenized.
const (
	CountDocuments = "tokenize %s: documents"
	CountTokens    = "tokenize %s: tokens"
	CountBytes     = "tokenize %s: bytes of text"
	CountWords     = "tokenize %s: words"
)

// Rates is how many tokens texts have become.
type Rates struct{ Documents, Bytes, Words, Tokens int64 }

// String is tokens for each byte and for each word (fertility), and bytes for each token.
func (r Rates) String() string {
	if r.Bytes == 0 || r.Tokens == 0 {
		return "no tokens"
	}
	s := per(r.Tokens, r.Bytes) + " tokens a byte, " + per(r.Bytes, r.Tokens) + " bytes a token"
	if r.Words > 0 {
		s += ", " + per(r.Tokens, r.Words) + " tokens a word"
	}
	return s
}

func per(a, b int64) string { return printable.Value(float64(a) / float64(b)) }

// RatesOf is a line about each field that counts say was tokenized.
func RatesOf(counts []shardify.Count) (lines []string) {
	get := func(name, field string) int64 {
		for _, c := range counts {
			if c.Name == fmt.Sprintf(name, field) {
				return c.N
			}
		}
		return 0
	}
	before, after, _ := strings.Cut(CountTokens, "%s")
	for _, c := range counts {
		field, ok := strings.CutSuffix(c.Name, after)
		if rest, of := strings.CutPrefix(field, before); ok && of {
			r := Rates{Bytes: get(CountBytes, rest), Words: get(CountWords, rest), Tokens: c.N}
			lines = append(lines, fmt.Sprintf(before+"%s: %s", rest, r))
		}
	}
	return lines
}

// Words is how many runs of characters a text has that are not white space. A tokenizer was loaded.
func Words(text []byte) (n int64) {
	const high = 0x8080808080808080
	each := func(b byte) uint64 { return uint64(b) * 0x0101010101010101 }
	in := uint64(0) // 1 in a word
	for len(text) > 0 {
		if len(text) >= 8 {
			if x := binary.LittleEndian.Uint64(text); x&high == 0 {
				blank := ^((x ^ each(' ')) + each(0x7f)) | (x+each(0x80-'\t'))&^(x+each(0x80-'\r'-1))
				word := ^blank & high
				n += int64(bits.OnesCount64(word &^ (word<<8 | in<<7)))
				in, text = word>>63, text[8:]
				continue
			}
		}
		r, size := rune(text[0]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text)
		}
		if chars.ClassOf(r)&chars.Space != 0 {
			in = 0
		} else {
			n += int64(1 - in)
			in = 1
		}
		text = text[size:]
	}
	return n
}
