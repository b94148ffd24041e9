package hdf5

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestSplitsInOneFileAreAskedFor: samples of one split are no columns of another's.
func TestSplitsInOneFileAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		file, object, sample string
		samples              int64 // -1: an error that names --split-from objects
	}{
		{"splits_groups.h5", "", "", -1},
		{"splits_names.h5", "", "", -1},
		{"splits_equal.h5", "", "", -1},
		{"splits_equal.h5", "/t*", "axis", 6},
		{"splits_groups.h5", "/train", "", 8},
		{"splits_groups.h5 splits_groups.h5", "", "", -1},
		{"splits_groups.h5 splits_groups.h5", "", "file", 2},
		{"splits_masks.h5", "", "", 6},
	} {
		o := format.Options{"object": c.object}
		if c.sample != "" {
			o["sample"] = c.sample
		}
		s, err := load(strings.Fields(c.file), nil, o)
		switch {
		case c.samples < 0:
			if err == nil || !strings.Contains(err.Error(), "--split-from objects") {
				t.Errorf("%s: %v", c.file, err)
			}
		case err != nil || s.samples != c.samples:
			t.Errorf("%s %s %s: %v", c.file, c.object, c.sample, err)
		}
	}
}

func TestSplitsBecomeParts(t *testing.T) {
	for _, c := range []struct {
		files, fields, ranges string
		missing               string
	}{
		{"splits_groups.h5", "gain x y", "0:8 train, 0:11 test", "fail"},
		{"splits_names.h5", "x y", "0:8 train, 0:10 val, 0:13 test", "fail"},
		{"splits_equal.h5", "x y", "0:6 train, 0:12 test", "fail"},
		{"splits_names.h5 splits_names.h5", "x y", "0:8 train, 0:10 val, 0:13 test, 1:8 train, 1:10 val, 1:13 test", "fail"},
		{"splits_types.h5", "x", "0:4 train, 0:7 test", "fail"},
		{"splits_unlabelled.h5", "field y is in train, not in test", "", "fail"},
		{"splits_unlabelled.h5", "x", "0:8 train, 0:11 test", "intersect"},
		{"splits_unlabelled.h5", "x y", "0:8 train, 0:11 test", "fill"},
		{"rows_a.h5", "it holds no splits such as /train/x", "", "fail"},
	} {
		ctx := context.Background()
		a := format.OpenArgs{Table: tableOf(strings.Fields(c.files)...), Options: format.Options{"missing": c.missing}, Splits: true}
		src, err := Format.Open(ctx, a)
		if err != nil {
			if c.ranges != "" || !strings.Contains(err.Error(), c.fields) {
				t.Errorf("%s: %v", c.files, err)
			}
			continue
		}
		defer src.Close()
		if got := rangesText(src.(format.Splitter).Splits()); got != c.ranges {
			t.Errorf("%s: %s", c.files, got)
		}
		a.Splits = false
		if a.State, err = src.(format.Stater).State(); err != nil {
			t.Fatal(err)
		}
		again, err := Format.Open(ctx, a)
		if err != nil {
			t.Fatalf("%s from its state: %v", c.files, err)
		}
		defer again.Close()
		all, err := readertest.Load(again, 40)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(all.Order, " "); got != c.fields {
			t.Errorf("%s: fields %s", c.files, got)
		}
		x := all.ByName["x"]
		at := 0
		var last format.SplitRange
		for _, r := range src.(format.Splitter).Splits() {
			n := int(r.End)
			if r.Input == last.Input {
				n -= int(last.End)
			}
			for k := range n * x.Elem() {
				if v := values(x)[at]; v != float64(k) {
					t.Fatalf("%s: value %d of %s is %v", c.files, k, r.Name, v)
				}
				at++
			}
			last = r
		}
	}
}

func rangesText(list []format.SplitRange) string {
	var out []string
	for _, r := range list {
		out = append(out, fmt.Sprintf("%d:%d %s", r.Input, r.End, r.Name))
	}
	return strings.Join(out, ", ")
}
