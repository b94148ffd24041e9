package suggest

import "testing"

func TestDidYouMean(t *testing.T) {
	words := []string{"convert", "columns", "inspect", "jobs", "merge"}
	for word, want := range map[string]string{"convrt": "convert", "colums": "columns", "insp": "inspect", "job": "jobs", "margin": "", "xyz": "", "merg": "merge"} {
		if got := Word(word, words); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
