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
func flat(t *testing.T, s *memory, name string, k int64) {
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
		t.Errorf("a field named offset: %v", p.order)
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

// TestListsOfListsAreNotReadAsLists: an index of an index makes lists of lists. Those are left out, and
// the other columns are read.
func TestListsOfListsAreNotReadAsLists(t *testing.T) {
	for file, n := range map[string]int64{"ends_twice.h5": 4, "ends_twice_said.h5": 4, "ends_twice_equal.h5": 6, "offsets_twice.h5": 6} {
		index := "x_index"
		if file == "offsets_twice.h5" {
			index = "x_offsets"
		}
		outer := index + strings.TrimPrefix(index, "x")
		s := mustLoad(t, []string{file}, []string{"id"}, nil)
		if got := strings.Join(s.order, " "); s.samples != n || got != "id" {
			t.Errorf("%s: %d samples of %s", file, s.samples, got)
		}
		_, err := load([]string{file}, []string{"x"}, nil)
		want := "lists of lists, by /" + index + " and /" + outer
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--lists off --sample file") {
			t.Errorf("%s: %v", file, err)
		}
		off := mustLoad(t, []string{file}, nil, format.Options{"lists": "off", "sample": "file"})
		if c := off.cols["x"]; off.samples != 1 || c == nil || len(values(c)) != 12 || off.cols[index] == nil || off.cols[outer] == nil {
			t.Errorf("%s: as they are, %d samples of %v", file, off.samples, off.order)
		}
	}
}

// TestListsByTheirEnds: NWB says where lists end, without a 0 at the beginning.
func TestListsByTheirEnds(t *testing.T) {
	s := mustLoad(t, []string{"ends.h5"}, nil, nil)
	c := s.cols["x"]
	if s.samples != 4 || c == nil || c.Levels != 1 || !slices.Equal(c.Offsets[0], []int64{0, 3, 3, 7, 10}) || !slices.Equal(values(c), []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Fatalf("%d samples of %v: %+v", s.samples, s.order, c)
	}
	if s.cols["x_index"] != nil || !strings.Contains(s.left["x_index"], "kept with them") || s.cols["note"] == nil {
		t.Errorf("%v, left out %v", s.order, s.left)
	}
	n := mustLoad(t, []string{"half_nwb.h5"}, nil, format.Options{"object": "/units"})
	if c := n.cols["units/spike_times"]; n.samples != 7 || c == nil || !slices.Equal(c.Offsets[0], []int64{0, 3, 3, 10, 20, 40, 41, 63}) {
		t.Errorf("%d samples of %v", n.samples, n.order)
	}
	p := mustLoad(t, []string{"ends_columns.h5"}, nil, nil)
	if got := strings.Join(p.order, " "); p.samples != 6 || got != "frame frame_index particle particle_index" || p.cols["particle"].Levels != 0 {
		t.Errorf("columns: %d samples of %s", p.samples, got)
	}
	for file, want := range map[string]string{
		"ends_bad.h5":     "/x_index: ends of 4 lists of which the last one is 9, but /x has 10 rows",
		"ends_falling.h5": "/x_index: a list from 8 to 7 of 10 values",
	} {
		if _, err := load([]string{file}, nil, nil); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if s := mustLoad(t, []string{"ends_bad.h5"}, []string{"x"}, format.Options{"lists": "off"}); s.samples != 10 {
		t.Errorf("without lists: %d samples", s.samples)
	}
}
