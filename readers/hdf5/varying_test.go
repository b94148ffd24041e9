package hdf5

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/race"
)

// Members of any kind may differ in shape from group to group: texts, lists and
// records beside numbers, which alone have a field for their shape.
func TestGroupsOfMembersThatVary(t *testing.T) {
	s := mustLoad(t, []string{"varying.h5"}, nil, nil)
	if s.samples != 4 || len(s.left) != 0 {
		t.Fatalf("%d samples, left out %v", s.samples, s.left)
	}
	want := []string{"before", "lists", "records/n", "records/n.shape", "records/word", "records/pair", "records/pair.shape", "track", "track.shape", "words"}
	if !slices.Equal(s.order, want) {
		t.Errorf("fields %v, want %v", s.order, want)
	}
	for name, want := range map[string]string{
		"before":             "[0 1 2 3]",
		"lists":              "[0 0 0 1 0 0 1 0 1 2]",
		"records/n":          "[0 1 0 1 2 3 0 1 2 3 4 5]",
		"records/n.shape":    "[0 2 1 2 2 2 3 2]",
		"records/pair":       "[0 1 2 3 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7 8 9 10 11]",
		"records/pair.shape": "[0 2 2 1 2 2 2 2 2 3 2 2]",
		"track.shape":        "[1 3 2 3 3 3 4 3]",
	} {
		if got := fmt.Sprint(values(s.cols[name])); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := textsOf(s.cols["words"]); !slices.Equal(got, []string{"w0", "w0", "w1", "w0", "w1", "w2"}) {
		t.Errorf("words %q", got)
	}
	if got := s.cols["words"].Offsets[0]; !slices.Equal(got, []int64{0, 0, 1, 3, 6}) {
		t.Errorf("words of the samples end at %v", got)
	}
	if got := s.cols["lists"].Offsets; !slices.Equal(got[0], []int64{0, 1, 3, 6, 10}) || !slices.Equal(got[1], []int64{0, 0, 0, 1, 1, 2, 4, 4, 5, 7, 10}) {
		t.Errorf("lists end at %v", got)
	}
	if got := textsOf(s.cols["records/word"]); len(got) != 12 || got[11] != "ab" {
		t.Errorf("words of records %q", got)
	}
}

// Rows of a source are not where the rows of the virtual data set go to, which
// are converted afterwards.
func TestVirtualRecords(t *testing.T) {
	s := mustLoad(t, []string{"virtual_records.h5"}, nil, nil)
	if got := fmt.Sprint(values(s.cols["v/n"])); got != "[13 0 15 2 17 4 19 6 21 8 23 10]" {
		t.Errorf("numbers %s", got)
	}
	if got := fmt.Sprint(textsOf(s.cols["v/word"])); got != "[b6 a0 b7 a1 b8 a2 b9 a3 b10 a4 b11 a5]" {
		t.Errorf("words %s", got)
	}
	if got := values(s.cols["v/pair"]); len(got) != 24 || got[0] != 26 || got[1] != 27 || got[23] != 21 {
		t.Errorf("pairs %v", got)
	}
}

// Fixed texts are compressed: their bytes may exceed the file's many times over.
func TestTextsLargerThanTheirFile(t *testing.T) {
	race.Sequential(t)
	s := mustLoad(t, []string{"repeated.h5"}, nil, format.Options{"sample": "file"})
	if got := textsOf(s.cols["text"]); len(got) != 72 || got[71] != strings.Repeat("x", 1e6) {
		t.Errorf("%d texts", len(got))
	}
}
