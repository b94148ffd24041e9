package sampleaxis

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestDoubtful(t *testing.T) {
	array := func(shape ...int64) Array { return Array{Name: "a", Shape: shape} }
	for _, c := range []struct {
		name   string
		files  int64
		equal  bool
		arrays []Array
		want   bool
	}{
		{"images and masks", 5, true, []Array{array(24, 24, 4), array(24, 24, 3)}, true},
		{"one file", 1, true, []Array{array(24, 24, 4)}, false},
		{"batches with labels", 5, true, []Array{array(100, 3, 32, 32), array(100)}, false},
		{"pieces, the last one shorter", 5, false, []Array{array(100, 3, 32, 32)}, false},
		{"tables", 5, true, []Array{array(100, 7)}, false},
		{"a table and a single value", 5, true, []Array{array(32, 32), array()}, true},
		{"clouds of points", 5, false, []Array{array(700, 3), array()}, true},
		{"events and a version", 5, false, []Array{array(700, 3), array(700), array()}, false},
		{"single values", 5, true, []Array{array(), array()}, false},
	} {
		r := Readings{Files: c.files, Rows: 100, Equal: c.equal, Arrays: c.arrays}
		if got := r.doubtful(); got != c.want {
			t.Errorf("%s: doubtful %v, want %v", c.name, got, c.want)
		}
	}
	r := Readings{Files: 5, Rows: 120, Arrays: []Array{{"image", "f64", []int64{24, 24, 4}}, {"label", "i64", nil}}}
	err := r.ask()
	want := "--sample axis makes 120 of image f64 [24,4], label i64 repeated; --sample file makes 5 samples of image f64 [24,24,4], label i64"
	if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), want) {
		t.Errorf("asks %q, want %q", err, want)
	}
}
