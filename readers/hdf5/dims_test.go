package hdf5

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/race"
)

// TestNamedDimensionsDecide: a data set whose first dimension is another one than the
// samples' is no column, however long it is.
func TestNamedDimensionsDecide(t *testing.T) {
	lat := "its first dimension is lat, the samples are time"
	for _, c := range []struct {
		files   string
		options format.Options
		columns []string
		samples int64
		fields  string
		why     string
		left    map[string]string
	}{
		{"dims_nine.nc", nil, nil, 9, "index t2m time", "dimension time, which leads the data sets that hold nearly all bytes",
			map[string]string{"lat": lat, "orog": lat, "x": "a netCDF dimension without values"}},
		{"dims_ids.nc", nil, nil, 9, "index t2m", "dimension time, which leads", map[string]string{"orog": lat}},
		{"dims_swapped.nc", nil, nil, 9, "lat orog t2m", "dimension lat", map[string]string{"time": "its first dimension is time, the samples are lat"}},
		{"dims_few.nc", nil, []string{"!orog*"}, 2, "index t2m time", "dimension time, which leads", nil},
		{"dims_nine.nc dims_few.nc", nil, nil, 11, "index t2m time", "dimension time, which leads", map[string]string{"orog": lat}},
		{"dims_few.nc dims_nine.nc", nil, nil, 11, "index t2m time", "dimension time, which leads", map[string]string{"orog": lat}},
		{"dims_nine.nc dims_swapped.nc", nil, []string{"!t2m", "!orog"}, 18, "index time", "dimension time", nil},
		{"dims_nine.nc", nil, []string{"lat", "orog"}, 9, "lat orog", "dimension lat", nil},
		{"dims_nine.nc", format.Options{"object": "/t2m,/orog"}, nil, 9, "t2m", "dimension time", map[string]string{"orog": lat}},
		{"dims_few.nc", format.Options{"object": "/orog,/t2m"}, nil, 2, "t2m", "dimension time", nil},
		{"dims_few.nc", format.Options{"sample": "file"}, nil, 1, "index lat orog orog0 orog1 orog2 orog3 t2m time x", "each file", nil},
		// Levels lead most bytes, but files of a step each are the samples where there are several.
		{"dims_levels.nc", nil, nil, 3, "lev t", "dimension lev, which leads the data sets that hold most bytes", nil},
		{"dims_levels.nc copy", nil, nil, 2, "lat lev p q t", "each file is one sample", nil},
		{"dims_levels.nc copy", format.Options{"sample": "axis"}, nil, 6, "lev t", "dimension lev", nil},
		{"dims_levels.nc copy", format.Options{"object": "/t,/p"}, nil, 2, "p t", "each file is one sample", nil},
		{"dims_levels.nc copy", format.Options{"object": "/t"}, nil, 6, "t", "dimension lev, which leads all data sets", nil},
		{"dims_swapped.nc copy", format.Options{"object": "/t2m,/index"}, nil, 2, "index t2m", "each file is one sample", nil},
		{"dims_one.nc copy", nil, nil, 2, "a b case lat", "each file is one sample", nil},
		{"dims_one.nc copy", format.Options{"sample": "axis"}, nil, 2, "a b case", "dimension case", nil},
		{"dims_growing.nc", nil, []string{"!w"}, 3, "loss step", "dimension step, which can grow", nil},
		{"dims_stations.nc", nil, nil, 6, "station v", "dimension station", map[string]string{"bounds": "its first dimension is time, the samples are station"}},
		{"dims_records.nc", nil, nil, 6, "id profile v", "dimension profile", map[string]string{"height": "its first dimension is station, the samples are profile"}},
		{"dims_scales.h5", nil, nil, 9, "free t t2 x y", "dimension t, which leads the data sets that hold most bytes",
			map[string]string{"bins": "its first dimension is edges, the samples are t", "short": "its first dimension is 7, the samples are 9"}},
		{"dims_scales.h5", format.Options{"object": "/y,/bins"}, nil, 9, "bins", "dimension edges", nil},
		{"dims_scales.h5", nil, []string{"free", "y"}, 9, "free y", "dimension t", nil},
		// Where most bytes have no names, lengths decide.
		{"dims_scales.h5", format.Options{"object": "/free,/y"}, nil, 9, "free y", "which all data sets share", nil},
		{"dims_astray.h5", nil, []string{"!group"}, 9, "a b c d e f g h", "axis 0 of the data sets that hold nearly all bytes", nil},
	} {
		t.Run(c.files+c.options["object"]+c.options["sample"], func(t *testing.T) {
			files := strings.Fields(c.files)
			if i := slices.Index(files, "copy"); i > 0 {
				b, err := os.ReadFile(filepath.Join("testdata", files[0]))
				if err != nil {
					t.Fatal(err)
				}
				files[i] = written(t, b)
			}
			s := mustLoad(t, files, c.columns, c.options)
			if got := strings.Join(s.order, " "); s.samples != c.samples || got != c.fields || !strings.Contains(s.notes[0], c.why) {
				t.Errorf("%d samples of %s, as %s", s.samples, got, s.notes[0])
			}
			for name, want := range c.left {
				if s.left[name] != want {
					t.Errorf("%s is left out: %q, want %q", name, s.left[name], want)
				}
			}
		})
	}
	_, err := load([]string{"dims_nine.nc", "dims_swapped.nc"}, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "t2m is in the other inputs, not in 1 input (testdata/dims_swapped.nc) of 2: "+lat+"; --columns '!t2m") {
		t.Errorf("a field that one of two inputs has another way: %v", err)
	}
	for _, line := range mustLoad(t, []string{"dims_astray.h5"}, []string{"!group"}, nil).notes {
		if strings.Contains(line, "] (") && !strings.HasPrefix(line, "/s ") {
			t.Errorf("not a name: %s", line)
		}
	}
	if s := mustLoad(t, []string{"dims_few.nc", "dims_nine.nc"}, nil, nil); values(s.cols["t2m"])[36] != 0 || values(s.cols["t2m"])[35] != 35 {
		t.Error("the values of the second file do not follow those of the first")
	}
	for _, columns := range [][]string{{"t2m", "orog"}, {"t2m", "lat"}} {
		if _, err := load([]string{"dims_nine.nc"}, columns, nil); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), lat) {
			t.Errorf("%v: %v", columns, err)
		}
	}
	if _, err := load([]string{"dims_records.nc"}, nil, format.Options{"object": "/id,/height"}); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "/height [6] (station), /id [6] (profile)") {
		t.Errorf("two dimensions that lead as many bytes: %v", err)
	}
}

// written is a file of the test.
func written(t *testing.T, b []byte) string {
	name := filepath.Join(t.TempDir(), "f.nc")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestReferencesThatLeadAstrayAreIgnored: whatever is stored as references to
// scales, the values are those of the file.
func TestReferencesThatLeadAstrayAreIgnored(t *testing.T) {
	race.Sequential(t)
	good, err := os.ReadFile("testdata/dims_nine.nc")
	if err != nil {
		t.Fatal(err)
	}
	heap := bytes.Index(good, []byte("GCOL"))
	want := mustLoad(t, []string{"dims_nine.nc"}, nil, nil)
	patched := 0
	for at := heap + 16; heap > 0 && at+16 < heap+4096 && at+32 <= len(good); at += 8 {
		if addr := le.Uint64(good[at:]); addr == 0 || addr >= uint64(len(good)) {
			continue
		}
		for _, ref := range []uint64{0, ^uint64(0), 96, uint64(at), uint64(len(good)), 1 << 62} {
			b := bytes.Clone(good)
			le.PutUint64(b[at:], ref)
			s, err := load([]string{written(t, b)}, []string{"t2m"}, nil)
			if err != nil {
				t.Fatalf("byte %d is %d: %v", at, ref, err)
			}
			if !bytes.Equal(s.cols["t2m"].Data, want.cols["t2m"].Data) {
				t.Errorf("byte %d is %d: other values", at, ref)
			}
			patched++
		}
	}
	if patched < 30 {
		t.Errorf("%d references", patched)
	}
}
