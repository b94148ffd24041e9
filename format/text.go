package format

import (
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// CheckText refuses what is no text, of formats with the option --text.
func CheckText(b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	return shardify.Unsupported("text that is not UTF-8 (%.40q); --text bytes takes it as it is", b)
}

// IsText tells the media whose bytes are text, which is UTF-8.
func IsText(media string) bool { return media == "txt" || media == "json" }

// PlainName makes a valid field name of one that a format gives: _ for what has a meaning
// in shards or on a terminal, and one _ for several at its beginning (pandas has
// __index_level_0__). What is too long, or is not UTF-8, stays what it is.
func PlainName(s string) string {
	if shardify.ValidName(s) == nil || !utf8.ValidString(s) {
		return s
	}
	plain := strings.Map(func(r rune) rune {
		if r == '#' || r < 0x20 || r == 0x7f {
			return '_'
		}
		return r
	}, s)
	if strings.HasPrefix(plain, "__") {
		plain = "_" + strings.TrimLeft(plain, "_")
	}
	if shardify.ValidName(plain) != nil {
		return s
	}
	return plain
}
