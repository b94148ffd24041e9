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

// TestRowsOfGroupsAreSamples: sets with a group for each molecule and all of its conformations give a sample for each
// conformation; what has no row for each belongs to all.
func TestRowsOfGroupsAreSamples(t *testing.T) {
	rows := format.Options{"sample": "group-axis"}
	for _, c := range []struct{ name, columns, field, want string }{
		{"atoms_ani1x.h5", "", "energy", "[0 1 2 10 11]"},
		{"atoms_ani1x.h5", "", "coordinates.shape", "[5 3 5 3 5 3 3 3 3 3]"},
		{"atoms_ani1x.h5", "", "atomic_numbers", "[0 1 2 3 4 0 1 2 3 4 0 1 2 3 4 0 1 2 0 1 2]"},
		{"atoms_ani1x.h5", "energy,atomic_numbers", "energy", "[0 1 2 10 11]"},
		{"atoms_ani1x.h5", "atomic_numbers", "atomic_numbers.shape", "[5 5 5 3 3]"},
		{"atoms_spice.h5", "", "dft_total_energy", "[100 101 200 201 202 203 300 301 302]"},
		{"atoms_spice.h5", "", "conformations.shape", "[3 3 3 3 2 3 2 3 2 3 2 3 3 3 3 3 3 3]"},
		{"atoms_spice.h5", "", "atomic_numbers", "[1 2 3 1 2 3 1 2 1 2 1 2 1 2 1 2 3 1 2 3 1 2 3]"},
		{"atoms_spice.h5", "", "scf_dipole", "[100 101 102 103 104 105 200 201 202 203 204 205 206 207 208 209 210 211 300 301 302 303 304 305 306 307 308]"},
	} {
		var columns []string
		if c.columns != "" {
			columns = strings.Split(c.columns, ",")
		}
		s := mustLoad(t, []string{"testdata/" + c.name}, columns, rows)
		if got := fmt.Sprint(values(s.cols[c.field])); got != c.want {
			t.Errorf("%s %s: %s is %s, want %s", c.name, c.columns, c.field, got, c.want)
		}
	}
	s := mustLoad(t, []string{"testdata/atoms_spice.h5"}, nil, rows)
	var want []float64
	for k, n := range []int{2 * 3 * 3, 4 * 2 * 3, 3 * 3 * 3} {
		for i := range n {
			want = append(want, float64(100*(k+1)+i))
		}
	}
	if got := fmt.Sprint(values(s.cols["conformations"])); got != fmt.Sprint(want) {
		t.Errorf("conformations are %s", got)
	}
	if x := s.cols["smiles"]; string(x.Data) != strings.Repeat("[103147]", 2)+strings.Repeat("[ala-gly]", 4)+strings.Repeat("[water]", 3) {
		t.Errorf("smiles are %q", x.Data)
	}
	if !strings.Contains(strings.Join(s.notes, "\n"), "samples are the rows of conformations in the groups /*") {
		t.Errorf("notes %q", s.notes)
	}
	if _, err := load([]string{"testdata/atoms_qm7x.h5"}, nil, rows); err == nil || !strings.Contains(err.Error(), "no array of three axes") {
		t.Errorf("groups without rows: %v", err)
	}
}
