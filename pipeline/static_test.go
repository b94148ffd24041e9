package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/verify"
)

// maskedStore writes a Zarr store of rows of x, from a time on, and a mask of 6 numbers.
func maskedStore(t *testing.T, dir string, from, rows int, mask []float32) string {
	t.Helper()
	put := func(name string, b []byte) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	array := func(name string, shape []int, kind string, data []byte, dims ...string) {
		meta, err := json.Marshal(map[string]any{"zarr_format": 2, "shape": shape, "chunks": shape, "dtype": kind, "compressor": nil, "filters": nil, "fill_value": nil, "order": "C"})
		if err != nil {
			t.Fatal(err)
		}
		attrs, err := json.Marshal(map[string]any{"_ARRAY_DIMENSIONS": dims})
		if err != nil {
			t.Fatal(err)
		}
		put(name+"/.zarray", meta)
		put(name+"/.zattrs", attrs)
		put(name+"/0"+strings.Repeat(".0", len(shape)-1), data)
	}
	put(".zgroup", []byte(`{"zarr_format": 2}`))
	var x []float32
	var times []int64
	for i := range rows {
		times = append(times, int64(from+i))
		for k := range 6 {
			x = append(x, float32(10*(from+i)+k))
		}
	}
	array("x", []int{rows, 2, 3}, "<f4", shardify.Bytes(x), "time", "latitude", "longitude")
	array("time", []int{rows}, "<i8", shardify.Bytes(times), "time")
	array("mask", []int{2, 3}, "<f4", shardify.Bytes(mask), "latitude", "longitude")
	return dir
}

func staticOf(t *testing.T, dir string) (names []string, values [][]byte) {
	t.Helper()
	d, err := gpuload.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := d.Static(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		names, values = append(names, fmt.Sprint(c.Name, c.Shape, c.Dims())), append(values, c.Data)
	}
	return names, values
}

// TestStaticFieldsAreStoredOnce for a set and each of its splits, in every way to make one, and
// remain in sets that are made of it.
func TestStaticFieldsAreStoredOnce(t *testing.T) {
	in, out := t.TempDir(), t.TempDir()
	mask := []float32{0, 1, 1, 0, 0.5, 1}
	other := slices.Clone(mask)
	other[3] = 7
	a := maskedStore(t, filepath.Join(in, "a.zarr"), 0, 10, mask)
	b := maskedStore(t, filepath.Join(in, "b.zarr"), 10, 10, mask)
	c := maskedStore(t, filepath.Join(in, "c.zarr"), 20, 10, other)
	check := func(dir string) {
		t.Helper()
		names, values := staticOf(t, dir)
		if len(names) != 1 || names[0] != "mask[2 3] [latitude longitude]" || !slices.Equal(values[0], shardify.Bytes(mask)) {
			t.Errorf("%s: %v, %v", filepath.Base(dir), names, values)
		}
	}
	settings := func(name string, inputs ...string) Settings {
		return Settings{Inputs: inputs, Output: filepath.Join(out, name), Format: "mmap", ShardSamples: 4, Static: []string{"mask"}, Sync: "none", Jobs: 2}
	}
	made := func(s Settings) string {
		t.Helper()
		if _, err := Convert(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return s.Output
	}

	s := settings("splits", a, b)
	s.SplitFrom = "train=a.zarr/*,val=b.zarr/*"
	p, err := Plan(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	for k := range 2 {
		if _, err := Work(t.Context(), s.Output, Task{Task: k, Tasks: 2}, s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Merge(t.Context(), s.Output, s); err != nil {
		t.Fatal(err)
	}
	check(filepath.Join(s.Output, "train"))
	check(filepath.Join(s.Output, "val"))

	first, second, third := made(settings("a", a)), made(settings("b", b)), made(settings("c", c))
	check(first)
	wds := settings("wds", first)
	wds.Format, wds.Static = "wds", nil
	check(made(wds))
	for _, kind := range []string{"parquet", "arrow", "tfrecord", "mds"} { // and come back from exports
		export := settings(kind, a)
		export.Format = kind
		back := settings("of-"+kind, made(export))
		back.Static = nil
		check(made(back))
	}
	merge := func(name string, inputs ...string) error {
		_, err := MergeSets(t.Context(), MergeSettings{Inputs: inputs, Output: filepath.Join(out, name), Jobs: 1, Sync: "none"})
		return err
	}
	if err := merge("ab", first, second); err != nil {
		t.Fatal(err)
	}
	check(filepath.Join(out, "ab"))
	for what, err := range map[string]error{
		"merged":  merge("ac", first, third),
		"at once": func() error { _, err := Convert(t.Context(), settings("ac", a, c)); return err }(),
		"of sets": func() error {
			s := settings("ac", first, third)
			s.Static = nil
			_, err := Convert(t.Context(), s)
			return err
		}(),
		"extended": func() error {
			_, err := Extend(t.Context(), first, Settings{Inputs: []string{c}, Jobs: 1, Sync: "none"}, false)
			return err
		}(),
	} {
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "other values") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Extend(t.Context(), second, Settings{Inputs: []string{a}, Jobs: 1, Sync: "none"}, false); err != nil {
		t.Fatal(err)
	}
	check(second)
	plain := settings("plain", b)
	plain.Static, plain.Columns = nil, []string{"x", "time"}
	if err := merge("lost", first, made(plain)); err != nil {
		t.Fatal(err)
	}
	if names, _ := staticOf(t, filepath.Join(out, "lost")); names != nil {
		t.Errorf("of one set alone: %v", names)
	}
	for _, dir := range []string{s.Output, first, second, filepath.Join(out, "ab"), filepath.Join(out, "lost"), wds.Output} {
		if r, err := Verify(t.Context(), []string{dir}, verify.Options{}, Hooks{}); err != nil || len(r.Problems) > 0 {
			t.Errorf("%s: %v, %+v", dir, err, r.Problems)
		}
	}

	// Any byte of the file that is another one is found.
	name := filepath.Join(first, index.StaticName)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 9, 300, len(text) - 24, len(text) - 1} {
		bad := slices.Clone(text)
		bad[at] ^= 4
		if err := os.WriteFile(name, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if r, err := Verify(t.Context(), []string{first}, verify.Options{}, Hooks{}); err != nil || len(r.Problems) != 1 {
			t.Errorf("byte %d: %v, %+v", at, err, r.Problems)
		}
		d, err := gpuload.Open(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Static(t.Context()); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("byte %d: read with %v", at, err)
		}
	}
}

// TestStaticFieldsThatAreNone are refused, each by its name.
func TestStaticFieldsThatAreNone(t *testing.T) {
	in := t.TempDir()
	a := maskedStore(t, filepath.Join(in, "a.zarr"), 0, 10, []float32{0, 1, 1, 0, 0.5, 1})
	hours(t, in, "a.csv", sixHourly(10))
	for _, c := range []struct{ input, field, want string }{
		{a, "x", "x has a value for each sample"},
		{a, "sea", `no field "sea"`},
		{filepath.Join(in, "a.csv"), "v", "no fields beside their samples"},
	} {
		_, err := Convert(t.Context(), Settings{Inputs: []string{c.input}, Output: filepath.Join(t.TempDir(), "set"), Static: []string{c.field}, Sync: "none"})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--static "+c.field) {
			t.Errorf("%s of %s: %v", c.field, filepath.Base(c.input), err)
		}
	}
}

// TestStaticFieldsOfASelection are cut as the samples are, in NetCDF-4 files, too.
func TestStaticFieldsOfASelection(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "zarr"), "cf")
	for name, field := range map[string]string{"era5_new.nc": "lsm", "era5_wb2_v3.zarr": "land_sea_mask"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
		s := Settings{Inputs: []string{filepath.Join(dir, name)}, Static: []string{field}, Format: "mmap", Sync: "none", Jobs: 1}
		var whole []byte
		for _, sel := range []string{"", "latitude=-30..60,longitude=60..300"} {
			s.Output, s.Options = filepath.Join(t.TempDir(), "set"), map[string]string{"sel": sel}
			if _, err := Convert(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			names, values := staticOf(t, s.Output)
			if sel == "" {
				whole = values[0]
				continue
			}
			var want []byte // rows 60 to -30 of 7, columns 60 to 300 of 12
			for row := 1; row < 5; row++ {
				want = append(want, whole[4*(12*row+2):4*(12*row+11)]...)
			}
			if names[0] != field+"[4 9] [latitude longitude]" || !slices.Equal(values[0], want) {
				t.Errorf("%s: %v, %v, want %v", name, names, values, want)
			}
		}
	}
}
