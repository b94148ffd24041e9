// Package printable makes text from inputs safe to show on a terminal. Names of files, fields and
// classes, attributes and labels may contain anything: an escape sequence in one of them could
// clear the screen, set the title, or paint a line that no program has written. What would not be
// seen as itself is written as \x1b or \u202e.
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Name is a text within a line: a name, a hint, a value. Nothing in it ends the line.
func Name(s string) string { return clean(s, false) }

// Text is text of several lines.
func Text(s string) string { return clean(s, true) }

func clean(s string, lines bool) string {
	for i, r := range s {
		if hidden(r, lines) || r == utf8.RuneError {
			return escape(s, i, lines)
		}
	}
	return s
}

// escape is clean where the first i bytes may stay.
func escape(s string, i int, lines bool) string {
	var b strings.Builder
	b.WriteString(s[:i])
	for s = s[i:]; s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '\n' && !lines:
			b.WriteString(`\n`)
		case r == '\t' && !lines:
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !hidden(r, lines):
			b.WriteString(s[:n])
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// hidden reports whether a terminal acts on a rune instead of showing it: control characters, and
// those that turn the direction of the text around them.
func hidden(r rune, lines bool) bool {
	switch {
	case r == '\n' || r == '\t':
		return !lines
	case r < 0x20, 0x7f <= r && r < 0xa0:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, 0x2028 <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return true
	}
	return false
}

// Lines is text of several lines as an argument of Sprintf.
type Lines string

// Sprintf is fmt.Sprintf where no text among the arguments ends a line or acts on the
// terminal.
func Sprintf(format string, args ...any) string {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = Name(v)
		case Lines:
			args[i] = Text(string(v))
		case error:
			args[i] = Name(v.Error())
		case fmt.Stringer:
			args[i] = Name(v.String())
		}
	}
	return Text(fmt.Sprintf(format, args...))
}

// Fprintf writes what Sprintf makes.
func Fprintf(w io.Writer, format string, args ...any) { io.WriteString(w, Sprintf(format, args...)) }

// Writer passes on text, made printable.
type Writer struct {
	W    io.Writer
	part []byte // the begin of a rune that the next write ends
}

// Write takes text of several lines.
func (w *Writer) Write(b []byte) (int, error) {
	s := string(append(w.part, b...))
	w.part = nil
	for k := 1; k < utf8.UTFMax && k <= len(s); k++ {
		if tail := s[len(s)-k:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				s, w.part = s[:len(s)-k], []byte(tail)
			}
			break
		}
	}
	if _, err := io.WriteString(w.W, Text(s)); err != nil {
		return 0, err
	}
	return len(b), nil
}
