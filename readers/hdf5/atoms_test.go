package hdf5

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
)

// TestGroupsInGroupsAreSamples: sets of molecules, as they are published, have a group for each
// configuration in groups of batches or molecules.
func TestGroupsInGroupsAreSamples(t *testing.T) {
	for _, c := range []struct {
		name, sample, field string
		want                []float64
		why                 string
	}{
		{"atoms_mace.h5", "auto", "properties/energy", []float64{0, 1, 10}, "samples are the groups /config_batch_*/config_*"},
		{"atoms_mace_even.h5", "auto", "energy", []float64{0, 1, 10, 11}, "samples are the groups /config_batch_*/config_*"},
		{"atoms_qm7x.h5", "group", "ePBE0", []float64{10, 11, 20, 21, 100, 101}, "samples are the groups /*/*"},
		{"atoms_ani1x.h5", "group", "energy", []float64{0, 1, 2, 10, 11}, "samples are the groups /*"},
	} {
		s := mustLoad(t, []string{"testdata/" + c.name}, nil, format.Options{"sample": c.sample})
		if got := fmt.Sprint(values(s.cols[c.field])); got != fmt.Sprint(c.want) {
			t.Errorf("%s: %s, want %v", c.name, got, c.want)
		}
		if !strings.Contains(strings.Join(s.notes, "\n"), c.why) {
			t.Errorf("%s: %q, want %s", c.name, s.notes, c.why)
		}
		// Each part of the set alone has the same values.
		s = mustLoad(t, []string{"testdata/" + c.name}, []string{c.field}, format.Options{"sample": c.sample})
		if got := fmt.Sprint(values(s.cols[c.field])); got != fmt.Sprint(c.want) {
			t.Errorf("%s with --columns: %s, want %v", c.name, got, c.want)
		}
	}
	for _, name := range []string{"atoms_qm7x.h5", "atoms_ani1x.h5"} { // groups of any names are asked for
		if _, err := load([]string{"testdata/" + name}, nil, nil); err == nil || !strings.Contains(err.Error(), "--sample group makes a sample of each of the") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
