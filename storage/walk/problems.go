package walk

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// listed is how many bad inputs one error spells out.
const listed = 8

// BadInputs is all inputs that cannot be read, found in one pass.
type BadInputs struct {
	First []error // in the order of the inputs, at most 8
	Count int
}

// Error lists the first ones and counts the rest.
func (b *BadInputs) Error() string {
	var s strings.Builder
	if b.Count > 1 {
		fmt.Fprintf(&s, "%d inputs cannot be read: ", b.Count)
	}
	for i, err := range b.First {
		if i > 0 {
			s.WriteString("; ")
		}
		s.WriteString(err.Error())
	}
	if n := b.Count - len(b.First); n > 0 {
		fmt.Fprintf(&s, "; and %d more", n)
	}
	return s.String()
}

// Unwrap returns the listed errors.
func (b *BadInputs) Unwrap() []error { return b.First }

func (b *BadInputs) add(path string, err error) {
	b.Count++
	if len(b.First) < listed {
		b.First = append(b.First, shardify.Annotate(err, "list", Quote(path), ""))
	}
}

func (b *BadInputs) merge(c *BadInputs) {
	b.Count += c.Count
	b.First = append(b.First, c.First[:min(len(c.First), listed-len(b.First))]...)
}

func (b *BadInputs) err() error {
	if b.Count == 0 {
		return nil
	}
	return b
}

// shown bounds the part of a path that an error shows.
const shown = 400

// Quote returns a path as it is if a terminal can show it, else in Go's quotes; a
// very long one without its middle.
func Quote(path string) string {
	if len(path) > shown {
		path = path[:shown/4] + "..." + path[len(path)-shown*3/4:]
	}
	if path == "" {
		return `""`
	}
	if !utf8.ValidString(path) || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Sprintf("%q", path)
	}
	return path
}
