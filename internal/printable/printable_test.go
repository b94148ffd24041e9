package printable

import (
	"errors"
	"strings"
	"testing"
)

func TestNameShowsWhatATerminalWouldActOn(t *testing.T) {
	for in, want := range map[string]string{
		"plain/name_1.h5":         "plain/name_1.h5",
		"größe 日本 🙂 e\u0301":      "größe 日本 🙂 e\u0301",
		"\x1b[2J\x1b]0;title\x07": `\x1b[2J\x1b]0;title\x07`,
		"a\nhint: rm":             `a\nhint: rm`,
		"a\r\tb\x7f\x00":          `a\r\tb\x7f\x00`,
		"\u009b31m":               `\u009b31m`,
		"\x9b31m":                 `\x9b31m`,
		"gpj.\u202eexe\u2028":     `gpj.\u202eexe\u2028`,
		"\ufffd \xff":             "\ufffd \\xff",
	} {
		if got := Name(in); got != want {
			t.Errorf("Name(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Text("a\tb\n\x1b[1mc"); got != "a\tb\n\\x1b[1mc" {
		t.Errorf("Text: %q", got)
	}
}

func TestSprintfCleansItsArguments(t *testing.T) {
	got := Sprintf("%s %-4s|%v %d\n%s", "a\nb", "\x1b", errors.New("x\ry"), 5, Lines("1\n2\x07"))
	if want := "a\\nb \\x1b|x\\ry 5\n1\n2\\x07"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWriterKeepsRunesThatAreCut(t *testing.T) {
	const text = "日本\x1b é🙂\xff!"
	for n := 1; n < 5; n++ {
		var b strings.Builder
		w := Writer{W: &b}
		for s := text; s != ""; {
			k := min(n, len(s))
			if m, err := w.Write([]byte(s[:k])); m != k || err != nil {
				t.Fatal(m, err)
			}
			s = s[k:]
		}
		if want := Text(text); b.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", n, b.String(), want)
		}
	}
}
