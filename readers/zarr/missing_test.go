package zarr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestMissingChunksThatNobodyCounts: on a server without listings and in shards what is missing
// comes to light when it is read; with fail it is damage there, too, else a note says that it
// was not counted.
func TestMissingChunksThatNobodyCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	load := func(table *format.Table, option string) (string, error) {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: format.Options{"missing-chunks": option}, Jobs: 1})
		if err != nil {
			return "", err
		}
		defer src.Close()
		_, err = readertest.Load(src, 1<<40)
		return fmt.Sprint(src.(format.Noter).Notes()), err
	}
	x := &madeArray{dtype: "<i4", size: 4, shape: []int{12, 4}, chunk: []int{3, 4}, data: randomBytes(r, 192), skip: map[string]bool{"c/1/0": true}}
	dir := writeStore(t, 3, map[string]*madeArray{"x": x})
	consolidate(t, dir)
	for _, option := range []string{"auto", "fill"} {
		if notes, err := load(served(t, dir, nil), option); err != nil || !strings.Contains(notes, "not counted") {
			t.Errorf("%s: %s %v", option, notes, err)
		}
	}
	if notes, err := load(served(t, dir, nil), "fail"); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "c/1/0") {
		t.Errorf("fail: %s %v", notes, err)
	}
	x = &madeArray{dtype: "<i4", size: 4, shape: []int{12, 4}, chunk: []int{3, 4}, shard: []int{6, 4}, data: randomBytes(r, 192)}
	dir = writeStore(t, 3, map[string]*madeArray{"x": x})
	shard := filepath.Join(dir, "x", "c", "1", "0")
	p, err := os.ReadFile(shard)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		p[len(p)-32+i] = 0xff
	}
	writeFile(t, shard, p)
	if _, err := load(tableOf(t, dir), "auto"); err != nil {
		t.Error(err)
	}
	var at *shardify.Error
	if _, err := load(tableOf(t, dir), "fail"); !errors.As(err, &at) || !errors.Is(err, shardify.ErrCorrupt) || at.Object != "x" || at.Sample != 6 {
		t.Errorf("a chunk that its shard does not have: %v", err)
	}
}

// TestNotesOfAllStores: chunks that a store other than the first lacks are named.
func TestNotesOfAllStores(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	made := func(skip map[string]bool) string {
		return writeStore(t, 2, map[string]*madeArray{"x": {dtype: "<i4", size: 4, shape: []int{12}, chunk: []int{3}, dims: []string{"time"}, data: randomBytes(r, 48), skip: skip}})
	}
	src, err := openStores(t, nil, nil, made(nil), made(map[string]bool{"1": true}))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if notes := notesOf(src); strings.Count(notes, "1 of 8 chunks") != 1 {
		t.Errorf("notes: %s", notes)
	}
}

// TestSelectionsOfWholeStores: with one sample for each store the first dimension, too, has the
// order that is asked for.
func TestSelectionsOfWholeStores(t *testing.T) {
	level := []int32{0, 100, 200, 300, 400, 500, 600}
	dir := writeStore(t, 2, map[string]*madeArray{"level": {dtype: "<i4", size: 4, shape: []int{7}, chunk: []int{3}, dims: []string{"level"}, data: shardify.Bytes(level)}})
	src, err := openStores(t, format.Options{"sample": "file", "cf": "off", "sel": "level=500,100,600,0"}, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got, err := readertest.Load(src, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	if x := shardify.View[int32](got.ByName["level"].Data); !slices.Equal(x, []int32{500, 100, 600, 0}) {
		t.Errorf("%v", x)
	}
}

// TestSelectionsKeepNotes: that no value of a coordinate counts as missing says nothing of its
// fill value.
func TestSelectionsKeepNotes(t *testing.T) {
	x := []int32{1, 2, 3, 0, 0, 0, 7, 8, 9}
	dir := writeStore(t, 2, map[string]*madeArray{"time": {dtype: "<i4", size: 4, shape: []int{9}, chunk: []int{3}, dims: []string{"time"}, data: shardify.Bytes(x), skip: map[string]bool{"1": true}}})
	src, err := openStores(t, format.Options{"sel": "time=2..8"}, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	notes := notesOf(src)
	if !strings.Contains(notes, "1 of 3 chunks") || strings.Contains(notes, "null") || !strings.Contains(notes, "fill_value of time counts as a value") {
		t.Errorf("notes: %s", notes)
	}
}

// TestNamesOfVariables: names are those of what is there, in its order.
func TestNamesOfVariables(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	names := []string{"time", "variable", "cell"}
	for sel, want := range map[string]string{"": "a\nb\nc", "variable=[1],[0],[2]": "", "variable=[0:2]": "", "time=[1:3]": "a\nb\nc"} {
		dir := writeStore(t, 2, map[string]*madeArray{"data": {dtype: "<f4", size: 4, shape: []int{4, 3, 5}, chunk: []int{1, 3, 5}, dims: names, data: randomBytes(r, 240)}})
		writeJSON(t, filepath.Join(dir, ".zattrs"), map[string]any{"variables": []string{"a", "b", "c"}})
		src, err := openStores(t, format.Options{"sel": sel, "cf": "off"}, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := src.Schema()[0].Attrs["channels"]; got != want {
			t.Errorf("--sel %s: %q, want %q", sel, got, want)
		}
		src.Close()
	}
}

// TestSelectionsOfRowsWithoutNames: an array whose rows have no name cannot follow a selection.
func TestSelectionsOfRowsWithoutNames(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	dir := writeStore(t, 3, map[string]*madeArray{
		"a": {dtype: "<i4", size: 4, shape: []int{10}, chunk: []int{4}, dims: []string{"t"}, data: randomBytes(r, 40)},
		"b": {dtype: "<i4", size: 4, shape: []int{10, 8}, chunk: []int{4, 8}, data: randomBytes(r, 320)},
	})
	if _, err := openStores(t, format.Options{"sel": "t=[0:5]"}, nil, dir); err == nil || !strings.Contains(err.Error(), "has no name") {
		t.Error(err)
	}
	src, err := openStores(t, format.Options{"sel": "t=[0:5]", "sample": "axis"}, []string{"a"}, dir)
	if err != nil {
		t.Fatal(err)
	}
	src.Close()
}

// TestNamesOfDimensions: a name that a list cannot hold is not used.
func TestNamesOfDimensions(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	for name, want := range map[string]string{"lat": "lat\nlon", "a\nlat": ""} {
		dir := writeStore(t, 3, map[string]*madeArray{"x": {dtype: "<i4", size: 4, shape: []int{4, 2, 3}, chunk: []int{4, 2, 3}, dims: []string{"time", name, "lon"}, data: randomBytes(r, 96)}})
		src, err := openStores(t, nil, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := src.Schema()[0].Attrs[shardify.DimsAttr]; got != want {
			t.Errorf("%q: %q", name, got)
		}
		src.Close()
	}
}

// TestCoordinatesWithoutChunks: with fail, what a coordinate lacks is damage, too.
func TestCoordinatesWithoutChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	level := []int32{10, 20, 30, 40}
	dir := writeStore(t, 3, map[string]*madeArray{
		"level": {dtype: "<i4", size: 4, shape: []int{4}, chunk: []int{2}, dims: []string{"level"}, data: shardify.Bytes(level), skip: map[string]bool{"c/1": true}},
		"x":     {dtype: "<i4", size: 4, shape: []int{6, 4}, chunk: []int{3, 4}, dims: []string{"time", "level"}, data: randomBytes(r, 96)},
	})
	for option, fails := range map[string]bool{"fill": false, "fail": true} {
		src, err := openStores(t, format.Options{"sel": "level=10..20", "missing-chunks": option}, []string{"x"}, dir)
		if errors.Is(err, shardify.ErrCorrupt) != fails || err != nil && !fails {
			t.Errorf("%s: %v", option, err)
		}
		if err == nil {
			src.Close()
		}
	}
}

// TestFillValuesOfAnotherPrecision: a missing_value that is not an f32 matches no value, as for
// xarray, and a note says so. A number as _FillValue of format 3, which xarray does not read,
// counts for the array.
func TestFillValuesOfAnotherPrecision(t *testing.T) {
	data := shardify.Bytes([]float32{1, 1e20, 3, -999})
	for _, c := range []struct {
		version, nan int
		attr         string
		value        float64
	}{{2, 0, "missing_value", 1e20}, {3, 0, "missing_value", 1e20}, {2, 1, "missing_value", -999}, {3, 1, "_FillValue", 1e20}} {
		dir := writeStore(t, c.version, map[string]*madeArray{"x": {dtype: "<f4", size: 4, shape: []int{4}, chunk: []int{4}, data: data, attrs: map[string]any{c.attr: c.value}}})
		src, err := openStores(t, nil, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		all, err := readertest.Load(src, 1<<20)
		notes := strings.Join(src.(format.Noter).Notes(), "\n")
		src.Close()
		if err != nil {
			t.Fatal(err)
		}
		nan := 0
		for _, v := range shardify.View[float32](all.ByName["x"].Data) {
			if v != v {
				nan++
			}
		}
		if nan != c.nan || strings.Contains(notes, "matches none") != (c.nan == 0) {
			t.Errorf("%+v: %d are missing: %s", c, nan, notes)
		}
	}
}
