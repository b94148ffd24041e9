package hdf5

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
)

// TestFilesOrRows: where nothing says that rows are the samples, the user does.
func TestFilesOrRows(t *testing.T) {
	both := []string{"image_0.h5", "image_1.h5"}
	const readings = "--sample axis makes 8 of image [5,3], label repeated, mask [5,2]; --sample file makes 2 samples of image [4,5,3], label, mask [4,5,2]"
	for _, columns := range [][]string{nil, {"image"}, {"label", "mask"}} {
		_, err := load(both, columns, nil)
		if doubt := (*format.Ambiguous)(nil); !errors.As(err, &doubt) || !strings.Contains(err.Error(), readings) {
			t.Errorf("%v: %v", columns, err)
		}
	}
	if s := mustLoad(t, both, nil, format.Options{"sample": "axis"}); s.samples != 8 || !strings.Contains(strings.Join(s.notes, "\n"), "--sample file makes 2 samples") {
		t.Errorf("rows: %d samples, %q", s.samples, s.notes)
	}
	if s := mustLoad(t, both, nil, format.Options{"sample": "file"}); s.samples != 2 || len(s.cols["image"].Shape) != 3 {
		t.Errorf("files: %d samples", s.samples)
	}
	if s := mustLoad(t, both[:1], nil, nil); s.samples != 4 {
		t.Errorf("one file: %d samples", s.samples)
	}
}

// TestInputsWithoutWantedFieldsLackThem: an input that has none of the fields that were
// asked for is not taken for an empty one, which would vanish.
func TestInputsWithoutWantedFieldsLackThem(t *testing.T) {
	for _, c := range []struct {
		missing, columns, err string
		samples               int64
	}{
		{"fail", "w", "field w is in 1 input (testdata/wanted_both.h5), not in 1 input (testdata/wanted_one.h5)", 0},
		{"fail", "w*", "field w is in 1 input (testdata/wanted_both.h5), not in 1 input (testdata/wanted_one.h5)", 0},
		{"fail", "!x", "field w is in 1 input (testdata/wanted_both.h5), not in 1 input (testdata/wanted_one.h5)", 0},
		{"intersect", "w", "field w was asked for by name and is not in 1 input (testdata/wanted_one.h5)", 0},
		{"intersect", "w*", "nothing is left by --missing intersect", 0},
		{"drop", "w", "", 3},
		{"fill", "w", "", 6},
	} {
		s, err := load([]string{"wanted_both.h5", "wanted_one.h5"}, []string{c.columns}, format.Options{"missing": c.missing})
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s %s: %v", c.missing, c.columns, err)
		case err == nil && s.samples != c.samples:
			t.Errorf("%s %s: %d samples, want %d", c.missing, c.columns, s.samples, c.samples)
		}
	}
}

// TestLessThanHalfOfTheBytesIsADoubt: where a detector is beside its monitors, or a field
// beside few steps, the user says what the samples are; each command that is listed works.
func TestLessThanHalfOfTheBytesIsADoubt(t *testing.T) {
	for _, c := range []struct {
		file string
		ways []string // the first ones
	}{
		{"dims_few.nc", []string{"9 samples of /orog, /orog0, /orog1, /orog2 and 1 more", "a sample of each of 5 data sets", "2 samples of /index, /t2m"}},
		{"dims_growing.nc", []string{"7 samples of /w", "3 samples of /loss"}},
		{"half_monitors.h5", []string{"20 samples of /entry/data/data", "50 samples"}},
		{"half_groups.h5", []string{"20 samples of /entry/data/data", "samples of the groups /entry/monitor_*", "9 samples of"}},
		{"half_nwb.h5", []string{"200 samples of /acquisition/raw/data", "50 samples of /acquisition/pos/data, /acquisition/pos/timestamps", "7 samples of /units/quality, /units/spike_times", "10 samples of /intervals/trials/start"}},
	} {
		_, err := load([]string{c.file}, nil, nil)
		var d *format.Ambiguous
		if !errors.As(err, &d) {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		for i, w := range d.Ways {
			if i < len(c.ways) && !strings.HasPrefix(w.Makes, c.ways[i]) {
				t.Errorf("%s: way %d makes %s, want %s", c.file, i, w.Makes, c.ways[i])
			}
			if strings.Contains(w.Makes+w.Options["object"], "specifications") {
				t.Errorf("%s: %s", c.file, w.Makes)
			}
			var n int64
			s, err := load([]string{c.file}, w.Columns, w.Options)
			if err != nil {
				t.Errorf("%s: %v: %v", c.file, w.Options, err)
			} else if fmt.Sscan(w.Makes, &n); n > 0 && s.samples != n {
				t.Errorf("%s: %v makes %d samples, not %s", c.file, w.Options, s.samples, w.Makes)
			}
		}
	}
}
