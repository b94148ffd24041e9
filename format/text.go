package format

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// CheckText refuses what is no text, of formats with the option --text.
func CheckText(b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	return Cure(shardify.Unsupported("text that is not UTF-8 (%.40q); --text bytes takes it as it is", b), AsBytes)
}

// AsBytes is the way to read texts that are not UTF-8, of formats with the option --text.
var AsBytes = Way{Options: Options{"text": "bytes"}, Makes: "strings as bytes"}

// VocabAttr says in a field's attributes what its labels were before --encode gave them codes: "text" or "int".
const VocabAttr = "vocab"

// IsText reports whether files of this media type are text, in UTF-8.
func IsText(media string) bool { return media == "txt" || media == "json" }

// codesSuffix ends the name of a field of codes that is named by its column: obs/cell_type/codes.
const codesSuffix = "/codes"

// FieldNamed is the place of a field by the name that a user gives it, or -1: its own, the one
// that the input has, or for codes with labels that of their column where it is unique.
func FieldNamed(schema []shardify.Field, name string) int {
	for _, name := range []string{name, PlainName(name)} {
		if i := shardify.FieldIndex(schema, name); i >= 0 {
			return i
		}
	}
	found := -1
	for i := range schema {
		column, ok := strings.CutSuffix(schema[i].Name, codesSuffix)
		if !ok || schema[i].Labels() == nil || column != name && !strings.HasSuffix(column, "/"+name) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

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

// UnknownField is a name that no field has.
type UnknownField struct {
	Name    string
	Suggest string // the field that was meant, perhaps
	// Meant is that of another name in the same text: the name itself if there is such a field, "" if none is
	// known. nil: the text has no other names.
	Meant func(name string) string
}

// Error names the field, and the one that was meant.
func (e *UnknownField) Error() string {
	if e.Suggest != "" {
		return fmt.Sprintf("no field %s; did you mean %s?", e.Name, e.Suggest)
	}
	return "no field " + e.Name
}
