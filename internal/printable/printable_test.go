package printable

import (
	"errors"
	"slices"
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

// TestWordsAreCounted: one of a kind has no s, and many have commas.
func TestWordsAreCounted(t *testing.T) {
	for n, want := range map[int64]string{0: "0 shards", 1: "1 shard", 2: "2 shards", 12345: "12,345 shards"} {
		if got := Of(n, "shard"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int]string{5: "a, a, a, a, a", 7: "a, a, a, a, a and 2 more"} {
		if got := Few(slices.Repeat([]string{"a"}, n)); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    []string
	}{
		{"", 5, []string{""}},
		{"ab cd ef", 5, []string{"ab cd", "ef"}},
		{"ab cd ef", 4, []string{"ab", "cd", "ef"}},
		{" a\n b  c ", 80, []string{"a b c"}},
		{"a longer b", 3, []string{"a", "longer", "b"}},
		{"äö üß x", 5, []string{"äö üß", "x"}},
	} {
		if got := Wrap(c.in, c.columns); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d columns: %q, want %q", c.in, c.columns, got, c.want)
		}
	}
}

// TestFold: lines are broken at a space and go on below the text behind the label; nothing but
// that space is lost.
func TestFold(t *testing.T) {
	for _, c := range []struct {
		in      string
		columns int
		want    string
	}{
		{"jobs     two of them", 0, "jobs     two of them"},
		{"jobs     two of them", 20, "jobs     two of them"},
		{"jobs     two of  them all", 20, "jobs     two of \n         them all"},
		{"done: a bb ccc dddd", 12, "done: a bb\n      ccc\n      dddd"},
		{"no label that is long", 10, "no label\nthat is\nlong"},
		{"x        averyveryverylongname b", 20, "x        averyveryverylongname\n         b"},
		{"x  äöü äöü äöü", 10, "x  äöü äöü\n   äöü"},
	} {
		if got := Fold(c.in, c.columns); got != c.want {
			t.Errorf("%q in %d columns:\n%s\nwant\n%s", c.in, c.columns, got, c.want)
		}
	}
}
