package printable

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Quote writes a word as a POSIX shell would take it. Of one that cannot be printed it
// makes the form $'...', which POSIX has since 2024 and shells have had for long.
func Quote(s string) string {
	safe := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r))
	}) < 0
	if safe {
		return s
	}
	if Name(s) != s {
		return escaped(s)
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func escaped(s string) string {
	b := []byte("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c >= 0x7f:
			b = fmt.Appendf(b, `\%03o`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '\''))
}

// Few lists words, the first five of many.
func Few(words []string) string {
	if len(words) > 5 {
		return strings.Join(words[:5], ", ") + fmt.Sprintf(" and %d more", len(words)-5)
	}
	return strings.Join(words, ", ")
}

// Wrap breaks a text between words, into lines of up to so many runes. A longer word has
// a line of its own.
func Wrap(s string, columns int) []string {
	var out []string
	line, width := "", 0
	for _, w := range strings.Fields(s) {
		n := utf8.RuneCountInString(w)
		switch {
		case line == "":
			line, width = w, n
		case width+1+n > columns:
			out = append(out, line)
			line, width = w, n
		default:
			line, width = line+" "+w, width+1+n
		}
	}
	return append(out, line)
}

// Fold breaks a line between words so that it has at most so many columns; 0 is as many as it
// needs. What follows a label, as in "output   FILE" or "checked: 2 shards", stays below where
// it began. Nothing but the spaces where it breaks is lost.
func Fold(line string, columns int) string {
	text := []rune(line)
	if columns <= 0 || len(text) <= columns {
		return line
	}
	indent := labelOf(text)
	if indent > columns/2 {
		indent = 0
	}
	var b strings.Builder
	for room, label := columns, indent; ; room, label = columns-indent, 0 {
		at := -1
		for i, r := range text {
			if r == ' ' && i > label && (i <= room || at < 0) {
				at = i
			}
		}
		if len(text) <= room || at < 0 {
			b.WriteString(string(text))
			return b.String()
		}
		b.WriteString(string(text[:at]) + "\n" + strings.Repeat(" ", indent))
		text = text[at+1:]
	}
}

// labelOf is the length of a line's label and the spaces behind it, 0 without one.
func labelOf(line []rune) int {
	for i := 1; i < len(line); i++ {
		if line[i] != ' ' && line[i-1] == ' ' && (i < 2 || line[i-2] == ' ' || line[i-2] == ':') {
			return i
		}
		if i > 20 {
			break
		}
	}
	return 0
}

// Shares is the most frequent of some values: "3: 81 %, 7: 19 %".
func Shares(values []int64) string {
	counts := map[int64]int{}
	for _, v := range values {
		counts[v]++
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b int64) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var b strings.Builder
	for i, k := range keys[:min(len(keys), 4)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d: %d %%", k, 100*counts[k]/len(values))
	}
	if len(keys) > 4 {
		fmt.Fprintf(&b, " and %d more", len(keys)-4)
	}
	return b.String()
}
