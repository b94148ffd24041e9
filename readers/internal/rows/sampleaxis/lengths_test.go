package sampleaxis

import (
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
)

func TestLengths(t *testing.T) {
	parts := []Part{
		{Path: "/units/id", Rows: 7, Bytes: 56}, {Path: "/units/times", Rows: 7, Bytes: 500}, {Path: "/units/times_index", Rows: 7, Beside: true},
		{Path: "/trials/id", Rows: 7, Bytes: 80},
		{Path: "/raw/data", Rows: 200, Bytes: 3200},
		{Path: "/raw/a/b", Rows: 9, Bytes: 18},
		{Path: "/raw/comma,name", Rows: 5, Bytes: 4000},
		{Path: "/date", Rows: 1, Bytes: 9000},
		{Path: "x", Rows: 3, Bytes: 1},
		{Path: "lat", Dim: "lat", Rows: 7, Bytes: 2},
	}
	var got []string
	for _, w := range Lengths(parts, func(paths []string) format.Way { return format.Way{Columns: paths} }) {
		got = append(got, w.Makes+" by "+strings.Join(w.Columns, " "))
	}
	want := []string{
		"200 samples of /raw/data by /raw/data",
		"7 samples of /units/id, /units/times, /trials/id by /trials/id /units/id /units/times /units/times_index",
		"7 samples of /units/id, /units/times by /units",
		"7 samples of /trials/id by /trials",
		"9 samples of /raw/a/b by /raw/a",
		"7 samples of lat by lat",
		"3 samples of x by x",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}
