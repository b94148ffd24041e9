package hdf5

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// listLengths are those of the lists in testdata/lists*.h5.
var listLengths = []int64{3, 0, 5, 1, 0, 4}

// flat checks that a column has lists of these lengths, times k, and counts up.
func flat(t *testing.T, s *set, name string, k int64) {
	t.Helper()
	c := s.cols[name]
	if c == nil || c.Levels != 1 {
		t.Errorf("%s is no column of lists: %v", name, s.order)
		return
	}
	for i, n := range listLengths {
		if got := c.Offsets[0][i+1] - c.Offsets[0][i]; got != k*n {
			t.Errorf("%s: list %d has %d values, want %d", name, i, got, k*n)
		}
	}
	for i, v := range values(c) {
		if v != float64(i) {
			t.Fatalf("%s: value %d is %v", name, i, v)
		}
	}
}

func TestFlatValuesAreListsByOffsets(t *testing.T) {
	s := mustLoad(t, []string{"lists.h5"}, nil, nil)
	if got := strings.Join(s.order, " "); s.samples != 6 || got != "energy hits/q hits/x table/a table/b" {
		t.Fatalf("%d samples of %s, left out %v", s.samples, got, s.left)
	}
	counts(t, s, "energy", 6)
	for _, name := range []string{"hits/q", "hits/x", "table/a", "table/b"} {
		flat(t, s, name, 1)
	}
	if x := s.cols["hits/x"]; !slices.Equal(x.Shape, []int{3}) || x.Counter != "offsets" || x.Counter != s.cols["table/a"].Counter {
		t.Errorf("hits/x: %+v", x.Field)
	}
	if !strings.Contains(strings.Join(s.notes, "\n"), "/hits/q, /hits/x, /table: lists by /offsets") || !strings.Contains(s.left["offsets"], "kept with them") {
		t.Errorf("notes %q, left out %v", s.notes, s.left)
	}
	n := mustLoad(t, []string{"lists_names.h5"}, nil, nil)
	flat(t, n, "jets/pt", 1)
	flat(t, n, "jets/eta", 1)
	flat(t, n, "tracks_d0", 2)
	if n.cols["jets/pt"].Counter == n.cols["tracks_d0"].Counter || n.samples != 6 {
		t.Errorf("%d samples, jets and tracks of one counter", n.samples)
	}
	for _, columns := range [][]string{{"hits/q"}, {"energy"}, {"table/b", "energy"}} {
		if s := mustLoad(t, []string{"lists.h5"}, columns, nil); s.samples != 6 || len(s.order) != len(columns) {
			t.Errorf("%v: %d samples of %v", columns, s.samples, s.order)
		}
	}
	p := mustLoad(t, []string{"lists_none.h5"}, nil, nil)
	if p.samples != 6 || p.cols["offset"] == nil {
		t.Errorf("an offset that is none: %v", p.order)
	}
}

func TestTablesAreListsByIndex(t *testing.T) {
	s := mustLoad(t, []string{"lists_index.h5"}, nil, nil)
	if s.samples != 6 {
		t.Fatalf("%d samples of %q", s.samples, s.order)
	}
	flat(t, s, "Pulses/charge", 1)
	counts(t, s, "Primary/charge", 6)
	if c := s.cols["Pulses/charge"]; c.Counter != "Pulses" {
		t.Errorf("counter %q", c.Counter)
	}
	if s.cols["__I3Index__/Pulses/start"] != nil || !strings.Contains(s.left["__I3Index__/Pulses"], "kept with them") {
		t.Errorf("the index is a field: %q, left out %v", s.order, s.left)
	}
}

// TestOffsetsThatContradictAreErrors: no list is made up.
func TestOffsetsThatContradictAreErrors(t *testing.T) {
	for _, c := range []struct {
		file, want string
		damage     bool
	}{
		{"lists_short.h5", "offsets: offsets of 6 lists that end at 12, but /hits/q has 13 rows; --lists off", true},
		{"lists_fall.h5", "/offsets: a list from 8 to 3 of 13 values", true},
		{"lists_equal.h5", "it is not certain whether /energy has a row or a list for each sample; --lists off", false},
		{"lists_index_gap.h5", "/__I3Index__/Pulses: rows up to 3, the next ones from 4 on", true},
	} {
		_, err := load([]string{c.file}, nil, nil)
		if err == nil || errors.Is(err, shardify.ErrCorrupt) != c.damage {
			t.Errorf("%s: %v", c.file, err)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.file, err)
		}
	}
	off := format.Options{"lists": "off"}
	if s, err := load([]string{"lists_equal.h5"}, []string{"energy", "q"}, off); err != nil || s.samples != 3 || s.cols["q"].Levels != 0 {
		t.Errorf("--lists off: %v", err)
	}
	if _, err := load([]string{"lists.h5"}, nil, off); err == nil || !strings.Contains(err.Error(), "no common first dimension") {
		t.Errorf("--lists off of data sets that differ: %v", err)
	}
}
