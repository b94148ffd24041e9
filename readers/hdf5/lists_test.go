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

// TestListsThatTheOptionNames: by starts, counts, ends and offsets, of data sets and of columns of a table.
func TestListsThatTheOptionNames(t *testing.T) {
	good := []string{"!longer"}
	points := "; points starts=events/first counts=events/number"
	for _, rule := range []string{"hits counts=n_hits", "hits/* starts=first_hit counts=n_hits", "hits/q,/hits/x starts=/first_hit ends=end_hit", "hits ends=end_hit"} {
		s := mustLoad(t, []string{"ruled.h5"}, good, format.Options{"lists": rule + points})
		if s.samples != 6 {
			t.Fatalf("%s: %d samples of %v", rule, s.samples, s.order)
		}
		flat(t, s, "hits/q", 1)
		flat(t, s, "hits/x", 1)
		flat(t, s, "points", 2)
		counts(t, s, "events/energy", 6)
		q, p := s.cols["hits/q"], s.cols["points"]
		if q.Counter != s.cols["hits/x"].Counter || q.Counter == p.Counter || p.Counter != "events/number" {
			t.Errorf("%s: counters %q and %q", rule, q.Counter, p.Counter)
		}
		by := strings.Fields(rule)[len(strings.Fields(rule))-1]
		if _, name, _ := strings.Cut(by, "="); !strings.Contains(s.left[name], "kept with them") || !strings.Contains(strings.Join(s.notes, "\n"), "lists by starts=events/first counts=events/number") {
			t.Errorf("%s: left out %v, notes %q", rule, s.left, s.notes)
		}
	}
	s := mustLoad(t, []string{"lists.h5"}, []string{"energy", "hits/q", "table/a"}, format.Options{"lists": "hits,table offsets=offsets"})
	flat(t, s, "hits/q", 1)
	flat(t, s, "table/a", 1)
	if s := mustLoad(t, []string{"ruled.h5"}, []string{"id"}, format.Options{"lists": "hits counts=n_hits"}); s.samples != 6 {
		t.Errorf("%d samples", s.samples)
	}
}

// TestListsOfTheOptionThatContradict: what is said of a list is checked, and the error has its row.
func TestListsOfTheOptionThatContradict(t *testing.T) {
	for _, c := range []struct {
		rule, want string
		row        int64
		kind       error
	}{
		{"hits counts=negative", "list 1 by counts=negative: it has -1 values", 1, shardify.ErrCorrupt},
		{"hits counts=beyond", "list 5 by counts=beyond: it starts at 9 with 4611686018427387904 values, of 13 in all", 5, shardify.ErrCorrupt},
		{"hits counts=fewer", "counts of 6 lists add up to 12, of 13 values", -1, shardify.ErrCorrupt},
		{"hits starts=outside counts=n_hits", "list 5 by starts=outside counts=n_hits: it starts at 14, of 13", 5, shardify.ErrCorrupt},
		{"hits starts=first_hit counts=longer", "both say where lists are", -1, shardify.ErrCorrupt},
		{"hits,points counts=n_hits", "/points: 26 rows, but lists by counts=n_hits take 13", -1, shardify.ErrCorrupt},
		{"hits starts=shuffled counts=n_hits", "list 0 starts at 8, and the lists before it end at 0", 0, shardify.ErrUnsupported},
		{"hits starts=overlap counts=n_hits", "list 2 starts at 2, and the lists before it end at 3", 2, shardify.ErrUnsupported},
		{"hits counts=energy", "energy: --lists names it: there is no such data set", -1, shardify.ErrSchema},
		{"hits counts=hits/q", "hits/q: --lists says that it has a whole number", -1, shardify.ErrSchema},
		{"photons counts=n_hits", "--lists names photons: there is no such", -1, shardify.ErrSchema},
		{"hits counts=n_hits; hits/q ends=end_hit", "two rules of --lists name it", -1, shardify.ErrSchema},
	} {
		_, err := load([]string{"ruled.h5"}, []string{"id", "hits/q", "hits/x", "points"}, format.Options{"lists": c.rule})
		var at *shardify.Error
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "ruled.h5") {
			t.Errorf("%s: %v", c.rule, err)
		} else if errors.As(err, &at) && at.Sample != c.row {
			t.Errorf("%s: row %d, want %d: %v", c.rule, at.Sample, c.row, err)
		}
	}
	for _, o := range []format.Options{{"lists": "hits"}, {"lists": "hits counts=n_hits", "sample": "file"}, {"lists": "hits counts=n_hits", "sel": "x=0:1"}} {
		if _, err := load([]string{"ruled.h5"}, nil, o); err == nil || !strings.Contains(err.Error(), "--lists") {
			t.Errorf("%v: %v", o, err)
		}
	}
}
