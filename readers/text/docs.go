package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// What a document is.
const (
	docFile      = "file"
	docLine      = "line"
	docParagraph = "paragraph"
	docBetween   = "separator="
)

// docs finds documents in text.
type docs struct {
	kind string
	mark []byte // the line between documents, of docBetween
}

func parseDocs(s string) (docs, error) {
	switch {
	case s == "":
		return docs{}, format.NewAmbiguous("nothing says which part of a text is a sample; --text-docs separator=LINE makes the text between such lines one", []format.Way{
			{Options: format.Options{optDocs: docFile}, Makes: "each file one"},
			{Options: format.Options{optDocs: docLine}, Makes: "each line one"},
			{Options: format.Options{optDocs: docParagraph}, Makes: "each text between blank lines one"},
		})
	case s == docFile || s == docLine || s == docParagraph:
		return docs{kind: s}, nil
	}
	mark, ok := strings.CutPrefix(s, docBetween)
	switch {
	case !ok:
		return docs{}, shardify.Misuse("--%s %q: want line, paragraph, file or separator=LINE", optDocs, s)
	case mark == "" || strings.ContainsAny(mark, "\n\r\x00") || !utf8.ValidString(mark):
		return docs{}, shardify.Misuse("--%s %q: want the text of one line behind separator=", optDocs, s)
	}
	return docs{docBetween, []byte(mark)}, nil
}

// line is the line that begins at b[i], without its end, and where the next one begins. b ends
// with a line feed.
func line(b []byte, i int) (text []byte, next int) {
	k := bytes.IndexByte(b[i:], '\n')
	text = b[i : i+k]
	return bytes.TrimSuffix(text, []byte{'\r'}), i + k + 1
}

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// parts reports whether a line is between documents.
func (d *docs) parts(line []byte) bool {
	if d.kind == docBetween {
		return bytes.Equal(line, d.mark)
	}
	return blank(line)
}

// next is the document b[lo:hi] at b[i] or behind, and where to look for the one after it; lo is
// -1 without one. A stretch of blank lines is not a document.
func (d *docs) next(b []byte, i int) (lo, hi, after int) {
	lo = -1
	full := false
	for i < len(b) {
		l, next := line(b, i)
		switch {
		case d.parts(l):
			if full {
				return lo, hi, next
			}
			lo = -1
		default:
			if lo < 0 {
				lo = i
			}
			hi = i + len(l)
			if full = full || !blank(l); d.kind == docLine && full {
				return lo, hi, next
			}
		}
		i = next
	}
	if full {
		return lo, hi, i
	}
	return -1, 0, i
}

// end is lines.Survey's End.
func (d *docs) end(b []byte, from int) int {
	i := 0
	if from = min(from, len(b)); from > 0 {
		i = bytes.LastIndexByte(b[:from-1], '\n') + 1
	}
	for {
		k := bytes.IndexByte(b[i:], '\n')
		if k < 0 {
			return -1
		}
		if d.kind == docLine {
			return i + k + 1
		}
		l, next := line(b, i)
		if d.parts(l) {
			return next
		}
		i = next
	}
}
