package convert

import (
	"strings"
	"testing"
)

// TestAMergeNamesWhatIsMissing as for --array, in a line that people can read.
func TestAMergeNamesWhatIsMissing(t *testing.T) {
	m := &Missing{Shards: []int{3, 17, 18, 19}, Of: 20}
	if want := "4 of 20 shards are missing: 3,17-19: not complete"; m.Error() != want {
		t.Errorf("%q, want %q", m, want)
	}
	for i := range 100_000 {
		m.Shards = append(m.Shards, 20+2*i)
	}
	if text := m.Error(); len(text) > 600 || !strings.Contains(text, "100004 of 20 shards are missing: 3,17-20,22") {
		t.Errorf("%d characters: %.100s", len(text), text)
	}
}
