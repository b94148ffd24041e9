package readertest

import (
	"strings"
	"testing"
)

// Setting is what a hint says behind a flag, as a shell would give it to a program.
func Setting(t testing.TB, hint, flag string) string {
	t.Helper()
	_, rest, ok := strings.Cut(hint, flag+" ")
	if !ok {
		t.Fatalf("no %s in %q", flag, hint)
	}
	if word, ok := strings.CutPrefix(rest, "'"); ok {
		word, _, _ = strings.Cut(word, "'")
		return word
	}
	word, _, _ := strings.Cut(rest, " ")
	return word
}
