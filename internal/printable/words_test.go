package printable

import "testing"

func TestQuotedWordsSurviveTheShell(t *testing.T) {
	for word, want := range map[string]string{"a-b_c.npz": "a-b_c.npz", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "*.npz": "'*.npz'", "$x": "'$x'", "é": "'é'", "a\x1b'é\n": `$'a\033\'\303\251\012'`} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
