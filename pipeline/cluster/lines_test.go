package cluster

import (
	"slices"
	"testing"
)

// TestOneIsNotPlural in the lines of a report.
func TestOneIsNotPlural(t *testing.T) {
	r := Report{State: StatusComplete, Samples: 1, Bytes: 5, Exact: true, Skipped: 1, Damaged: []int{7}}
	want := []string{"state    complete", "set      1 sample in 5 B", "damaged  1 receipt, the first of shard 7; the next run makes this good", "skipped  1 sample of the inputs, which cannot be read"}
	if got := r.Lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
