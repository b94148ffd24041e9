package hdf5

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/tests/race"
)

// grids are the lengths of the dimensions of grid_a.nc; the numbers of all data sets count up.
var grids = map[string][]string{
	"plain": {"time", "latitude", "longitude"}, "step": {"time", "latitude", "longitude"}, "one_chunk": {"time", "latitude", "longitude"},
	"packed": {"time", "latitude", "longitude"}, "plain_deep": {"time", "level", "latitude", "longitude"}, "deep": {"time", "level", "latitude", "longitude"},
	"last":   {"time", "latitude", "longitude", "level"},
	"stored": {"time", "level", "latitude", "longitude"}, "kinds": {"time", "kind"}, "series": {"time"}, "free": {"time"}, "holes": {"time", "latitude"},
}

// upTo is lo, lo+1 and so on to before hi.
func upTo(lo, hi int) (out []int) {
	for i := lo; i < hi; i++ {
		out = append(out, i)
	}
	return out
}

// selected is what a data set of counting numbers has at places of its dimensions.
func selected(name string, lengths map[string]int, places map[string][]int) (out []float64) {
	out = []float64{0}
	for _, dim := range grids[name] {
		at, ok := places[dim]
		if !ok {
			at = upTo(0, lengths[dim])
		}
		var next []float64
		for _, v := range out {
			for _, k := range at {
				next = append(next, v*float64(lengths[dim])+float64(k))
			}
		}
		out = next
	}
	for i, v := range out {
		switch name {
		case "packed":
			out[i] = v/2 + 100
		case "holes":
			if t, lat := int(v)/7, int(v)%7; t < 4 || t >= 8 || lat < 3 || lat >= 6 {
				out[i] = -5
			}
		}
	}
	return out
}

func gridLengths(times int) map[string]int {
	return map[string]int{"time": times, "level": 3, "latitude": 7, "longitude": 12, "kind": 3}
}

// TestSelectionsByCoordinate compares every layout with places that are written down.
func TestSelectionsByCoordinate(t *testing.T) {
	for _, c := range []struct {
		sel    string
		places map[string][]int
	}{
		{"time=2018-01-03..2018-01-05", map[string][]int{"time": upTo(8, 20)}},
		{"time=2018-01-05..2018-01-03", map[string][]int{"time": upTo(8, 20)}},
		{"time=2018-01-03T06..2018-01-03T12:00:00", map[string][]int{"time": {9, 10}}},
		{"time=..2018-01-01", map[string][]int{"time": upTo(0, 4)}},
		{"time=2018-01-10..", map[string][]int{"time": upTo(36, 40)}},
		{"time=2018-01-10,2018-01-02", map[string][]int{"time": {4, 5, 6, 7, 36, 37, 38, 39}}},
		{"time=2018", nil},
		{"time=::4", map[string][]int{"time": {0, 4, 8, 12, 16, 20, 24, 28, 32, 36}}},
		{"time=[2::4]", map[string][]int{"time": {2, 6, 10, 14, 18, 22, 26, 30, 34, 38}}},
		{"time=2018-01-02..::3", map[string][]int{"time": {4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37}}},
		{"time=[10:13]", map[string][]int{"time": {10, 11, 12}}},
		{"time=[-2:]", map[string][]int{"time": {38, 39}}},
		{"time=[17]", map[string][]int{"time": {17}}},
		{"latitude=-30..60,longitude=30..120", map[string][]int{"latitude": {1, 2, 3, 4}, "longitude": {1, 2, 3, 4}}},
		{"latitude=60..-30", map[string][]int{"latitude": {1, 2, 3, 4}}},
		{"latitude=-30:60", map[string][]int{"latitude": {1, 2, 3, 4}}},
		{"latitude=-90,90", map[string][]int{"latitude": {6, 0}}},
		{"longitude=-30..30", map[string][]int{"longitude": {11, 0, 1}}},
		{"longitude=330..30", map[string][]int{"longitude": {11, 0, 1}}},
		{"longitude=-30", map[string][]int{"longitude": {11}}},
		{"longitude=-180..179", map[string][]int{"longitude": {6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5}}},
		{"longitude=45..", map[string][]int{"longitude": upTo(2, 12)}},
		{"level=500,1000", map[string][]int{"level": {2, 0}}},
		{"level=500..900", map[string][]int{"level": {1, 2}}},
		{"kind=d,a", map[string][]int{"kind": {2, 0}}},
		{"time=2018-01-03::2,level=850,latitude=0,longitude=300..60", map[string][]int{"time": {8, 10}, "level": {1}, "latitude": {3}, "longitude": {10, 11, 0, 1, 2}}},
		{"time=[3:5],longitude=::5", map[string][]int{"time": {3, 4}, "longitude": {0, 5, 10}}},
	} {
		s := mustLoad(t, []string{"grid_a.nc"}, nil, format.Options{"sel": c.sel})
		for name := range grids {
			col := s.cols[name]
			if col == nil {
				t.Errorf("--sel %s: %s is missing", c.sel, name)
				continue
			}
			if got, want := values(col), selected(name, gridLengths(40), c.places); !slices.Equal(got, want) {
				t.Errorf("--sel %s: %s %v has %.0f, want %.0f", c.sel, name, col.Shape, head(got), head(want))
			}
		}
		if want := int64(len(selected("series", gridLengths(40), c.places))); s.samples != want {
			t.Errorf("--sel %s: %d samples, want %d", c.sel, s.samples, want)
		}
	}
}

func head(v []float64) []float64 { return v[:min(len(v), 20)] }

// TestASelectionDecodesItsChunksOnce counts the chunks that are decoded, with spans that end
// inside chunks: each of those that hold a part of the selection, once, and no others.
func TestASelectionDecodesItsChunksOnce(t *testing.T) {
	chunks := map[string][]int{"step": {1, 7, 12}, "deep": {8, 2, 3, 5}, "one_chunk": {40, 7, 12}, "kinds": {7, 2}, "packed": {16, 4, 6}}
	for _, c := range []struct {
		sel    string
		places map[string][]int
	}{
		{"time=[3:30]", map[string][]int{"time": upTo(3, 30)}},
		{"time=::3", map[string][]int{"time": {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39}}},
		{"time=[2:3],[20:31],longitude=-60..0", map[string][]int{"time": append([]int{2}, upTo(20, 31)...), "longitude": {10, 11, 0}}},
		{"level=500,1000,850,longitude=[0],[11],[1],latitude=0..60", map[string][]int{"longitude": {0, 11, 1}, "latitude": {1, 2, 3}}},
		{"level=1000,kind=a", map[string][]int{"level": {0}, "kind": {0}}},
	} {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: tableOf("grid_a.nc"), Options: format.Options{"sel": c.sel}})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		r, _ := src.Reader(0)
		r.(*reader).work.Decoded = map[*array.Array]int{}
		for lo := int64(0); lo < src.(*source).Samples(); lo += 3 { // without regard to chunks
			sp := shardify.Span{Lo: lo, Hi: min(lo+3, src.(*source).Samples()), Bytes: 1}
			mem, _ := shardify.NewPool(1<<30).Grant(context.Background(), sp.Bytes)
			if _, err := r.Read(context.Background(), sp, mem); err != nil {
				t.Fatal(err)
			}
		}
		for a, n := range r.(*reader).work.Decoded {
			name := strings.TrimPrefix(a.Path, "/")
			if chunks[name] == nil {
				continue
			}
			want := 1
			for d, dim := range grids[name] {
				at, ok := c.places[dim]
				if !ok {
					at = upTo(0, gridLengths(40)[dim])
				}
				hit := map[int]bool{}
				for _, k := range at {
					hit[k/chunks[name][d]] = true
				}
				want *= len(hit)
			}
			if n != want {
				t.Errorf("--sel %s: %s has %d chunks of it, and decodes %d", c.sel, name, want, n)
			}
		}
	}
}

// Files whose samples are one axis are selected from as one, by value.
func TestSelectionsOverSeveralFiles(t *testing.T) {
	both := []string{"grid_a.nc", "grid_b.nc"}
	for _, c := range []struct {
		sel  string
		a, b []int
	}{
		{"time=2018-01-10..2018-01-11", upTo(36, 40), upTo(0, 4)},
		{"time=2018-01-02", upTo(4, 8), nil},
		{"time=2018-01-13,2018-01-02T00", []int{4}, upTo(8, 12)},
		{"time=::4", []int{0, 4, 8, 12, 16, 20, 24, 28, 32, 36}, []int{0, 4, 8, 12, 16, 20}},
	} {
		s := mustLoad(t, both, nil, format.Options{"sel": c.sel})
		for _, name := range []string{"plain", "step", "deep", "series", "one_chunk"} {
			want := append(selected(name, gridLengths(40), map[string][]int{"time": c.a}), selected(name, gridLengths(22), map[string][]int{"time": c.b})...)
			if got := values(s.cols[name]); !slices.Equal(got, want) {
				t.Errorf("--sel %s: %s has %.0f, want %.0f", c.sel, name, head(got), head(want))
			}
		}
	}
	for sel, want := range map[string]string{
		"time=[0:10]":     "places count within one input",
		"time=::3":        "does not go on behind testdata/grid_a.nc",
		"time=2019":       "time in testdata/grid_a.nc its 40 values go from 2018-01-01T00:00:00 to 2018-01-10T18:00:00",
		"time=2018,2019":  "--sel time=2019 takes nothing",
		"latitude=95..99": "takes nothing of latitude: its values are 90, 60, 30, 0, -30, -60, -90",
	} {
		if _, err := load(both, nil, format.Options{"sel": sel}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--sel %s: %v", sel, err)
		}
	}
}

// A selection of places that are not there, or of a kind that the axis has not, is an error
// that says what there is.
func TestSelectionsThatTakeNothing(t *testing.T) {
	for sel, want := range map[string]string{
		"height=3":           "no dimension height; the fields have kind, latitude, level, longitude, time",
		"level=700":          "its values are 1000, 850, 500",
		"level=500,500":      "takes place 2 twice",
		"level=x":            `"x" is not a number`,
		"latitude=1..20":     "takes nothing of latitude",
		"time=2018-02-30":    "is not a date",
		"time=noon":          "is not a date",
		"kind=x":             `its values are "a", "bc", "d"`,
		"kind=a..d":          "texts have no range",
		"time=[40:50]":       "takes nothing",
		"time=":              "names no value",
		"500":                "is not DIMENSION=VALUES",
		"level=500,level=85": "a second time",
		"time=::0":           "a step is ::N",
		"time=[1:2:3:4]":     "BEGIN:END:STEP",
	} {
		_, err := load([]string{"grid_a.nc"}, nil, format.Options{"sel": sel})
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, shardify.ErrSchema) && !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("--sel %s: %v", sel, err)
		}
	}
}

// TestSelectionsOfWholeFiles: where a file is a sample, all of its dimensions may be cut.
func TestSelectionsOfWholeFiles(t *testing.T) {
	s := mustLoad(t, []string{"grid_a.nc"}, []string{"plain", "lsm", "deep"}, format.Options{"sample": "file", "sel": "time=2018-01-03,latitude=0..60"})
	if got := fmt.Sprint(s.cols["plain"].Shape, s.cols["deep"].Shape, s.cols["lsm"].Shape); got != "[4 3 12] [4 3 3 12] [3 12]" {
		t.Errorf("shapes %s", got)
	}
	want := selected("deep", gridLengths(40), map[string][]int{"time": upTo(8, 12), "latitude": {1, 2, 3}})
	if got := values(s.cols["deep"]); !slices.Equal(got, want) {
		t.Errorf("deep has %.0f, want %.0f", head(got), head(want))
	}
	// The first dimension, too, has the order that is asked for.
	s = mustLoad(t, []string{"grid_a.nc"}, nil, format.Options{"sample": "file", "sel": "time=[30],[2],[20:25],latitude=-90,90,0"})
	places := map[string][]int{"time": {30, 2, 20, 21, 22, 23, 24}, "latitude": {6, 0, 3}}
	for name := range grids {
		if name == "free" { // its dimension has no name
			continue
		}
		if got, want := values(s.cols[name]), selected(name, gridLengths(40), places); !slices.Equal(got, want) {
			t.Errorf("%s has %.0f, want %.0f", name, head(got), head(want))
		}
	}
}

// TestFilesOfAnotherGridAreRefused: samples of equal shape whose latitudes, say, go the other way
// are of no one set.
func TestFilesOfAnotherGridAreRefused(t *testing.T) {
	race.Sequential(t)
	original, err := os.ReadFile("testdata/grid_b.nc")
	if err != nil {
		t.Fatal(err)
	}
	latitudes := []float32{90, 60, 30, 0, -30, -60, -90}
	other := func(change func(v []float32)) string {
		v := slices.Clone(latitudes)
		change(v)
		if n := bytes.Count(original, shardify.Bytes(latitudes)); n != 1 {
			t.Fatalf("the latitudes are found %d times", n)
		}
		name := filepath.Join(t.TempDir(), "b.nc")
		if err := os.WriteFile(name, bytes.Replace(original, shardify.Bytes(latitudes), shardify.Bytes(v), 1), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	rising := other(slices.Reverse[[]float32])
	shifted := other(func(v []float32) { v[2] = 31 })
	noisy := other(func(v []float32) { v[2] = math.Nextafter32(30, 31) })
	for _, c := range []struct {
		b       string
		columns []string
		o       format.Options
		err     string
	}{
		{"grid_b.nc", nil, nil, ""},
		{noisy, nil, nil, ""},
		{rising, nil, nil, "the coordinate latitude falls from 90 to -90 in testdata/grid_a.nc, rises from -90 to 90 in " + rising},
		{shifted, nil, nil, "the coordinate latitude has 30 at place 2 in testdata/grid_a.nc, has 31 in " + shifted},
		{rising, []string{"plain"}, nil, "field plain: the coordinate latitude falls"},
		{rising, nil, format.Options{"cf": "off"}, "the coordinate latitude falls"},
		{rising, nil, format.Options{"sel": "latitude=-30..30,level=500"}, "falls from 30 to -30"},
		{rising, nil, format.Options{"channels": "x=plain,deep@500"}, "fields deep, plain: the coordinate latitude falls"},
		{rising, nil, format.Options{"channels": "x=plain,lsm"}, "fields lsm, plain: the coordinate latitude falls"},
		{rising, []string{"kinds", "series"}, nil, ""},
		{rising, nil, format.Options{"sel": "latitude=0"}, ""},
		{shifted, nil, format.Options{"sel": "latitude=-90..0"}, ""},
	} {
		_, err := load([]string{"grid_a.nc", c.b}, c.columns, c.o)
		if c.err == "" && err != nil || c.err != "" && (!errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v %v: error %v, want %q", c.columns, c.o, err, c.err)
		}
	}
	if _, err := load([]string{rising}, nil, nil); err != nil {
		t.Errorf("one file: %v", err)
	}
}

// A dimension of netCDF without values has places alone.
func TestSelectionsOfDimensionsWithoutValues(t *testing.T) {
	for sel, want := range map[string]string{"x=0": "x has no coordinate", "x=0..1": "x has no coordinate", "x=[0]": ""} {
		_, err := load([]string{"dims_nine.nc"}, nil, format.Options{"sel": sel})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("--sel %s: error %v, want %q", sel, err, want)
		}
	}
}
