package zarr

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// readNotes reads a store and gives its notes.
func readNotes(t *testing.T, o format.Options, stores ...string) (*readertest.Columns, string) {
	t.Helper()
	src, err := openStores(t, o, nil, stores...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got, err := readertest.Load(src, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	return got, notesOf(src)
}

// notesOf is the notes of a source, and what it leaves out.
func notesOf(src shardify.Source) string {
	lines := src.(format.Noter).Notes()
	for _, l := range src.(format.Reporter).Leftovers() {
		lines = append(lines, l.Name+": "+l.Reason)
	}
	return strings.Join(lines, "\n")
}

// TestFillValueOfFormat2: zarr-python writes fill_value 0 into every array. It is a missing value
// where a convention says so, or --cf on.
func TestFillValueOfFormat2(t *testing.T) {
	dims := map[string]any{"_ARRAY_DIMENSIONS": []string{"t"}}
	with := func(more ...any) map[string]any {
		m := map[string]any{"_ARRAY_DIMENSIONS": []string{"t"}}
		for i := 0; i < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	raw, zero, nine := []float64{0, 1, 2, -9}, []float64{math.NaN(), 1, 2, -9}, []float64{0, 1, 2, math.NaN()}
	both := []float64{math.NaN(), 1, 2, math.NaN()}
	for _, c := range []struct {
		name  string
		fill  any
		attrs map[string]any
		auto  []float64
		on    []float64 // what xarray gives, or would, where the dimensions have no names
		note  string
	}{
		{"plain", 0, nil, raw, zero, ""},
		{"plain, -0", json.RawMessage("-0.0"), nil, raw, zero, ""},
		{"plain, other", -9, nil, raw, nine, "fill_value of x counts as a value; --cf on"},
		{"xarray, 0", 0, dims, raw, zero, "fill_value of x counts as a value; --cf on"},
		{"xarray, other", -9, dims, nine, nine, ""},
		{"xarray, missing_value", 0, with("missing_value", -9), both, both, ""},
		{"xarray, _FillValue", 0, with("_FillValue", 0), zero, zero, ""},
		{"xarray, another _FillValue", 0, with("_FillValue", -9), zero, zero, ""},
		{"plain, _FillValue", 0, map[string]any{"_FillValue": -9}, nine, zero, ""},
		{"plain, missing_value", 0, map[string]any{"missing_value": -9}, nine, both, ""},
		{"NCZarr", -9, map[string]any{"_nczarr_array": map[string]any{"dimension_references": []string{"/t"}, "storage": "chunked"}}, nine, nine, ""},
		{"NCZarr, 0", 0, map[string]any{"_nczarr_array": map[string]any{"dimrefs": []string{"/t"}}}, raw, zero, "counts as a value"},
	} {
		for _, kind := range []string{"<i8", "<i4", "<i2", "<f4", "<f8"} {
			a := &madeArray{dtype: kind, size: int(kind[2] - '0'), shape: []int{4}, chunk: []int{4}, fill: c.fill, attrs: c.attrs}
			switch kind {
			case "<i8":
				a.data = shardify.Bytes([]int64{0, 1, 2, -9})
			case "<i4":
				a.data = shardify.Bytes([]int32{0, 1, 2, -9})
			case "<i2":
				a.data = shardify.Bytes([]int16{0, 1, 2, -9})
			case "<f4":
				a.data = shardify.Bytes([]float32{0, 1, 2, -9})
			case "<f8":
				a.data = shardify.Bytes([]float64{0, 1, 2, -9})
			}
			dir := writeStore(t, 2, map[string]*madeArray{"x": a})
			for mode, want := range map[string][]float64{"": c.auto, "on": c.on, "off": raw} {
				o := format.Options{}
				if mode != "" {
					o["cf"] = mode
				}
				got, notes := readNotes(t, o, dir)
				if col := got.ByName["x"]; fmt.Sprint(floatsOf(t, col)) != fmt.Sprint(want) || col.DType != typeOf(kind, !slices.Equal(want, raw)) {
					t.Errorf("%s, %s, --cf %s: %s %v, want %v", c.name, kind, mode, col.DType, floatsOf(t, col), want)
				}
				if mode == "" && (c.note != "") != strings.Contains(notes, "counts as a value") || !strings.Contains(notes, c.note) && mode == "" {
					t.Errorf("%s, %s: %q, want %q", c.name, kind, notes, c.note)
				}
			}
		}
	}
	b := &madeArray{dtype: "|b1", size: 1, shape: []int{4}, chunk: []int{4}, fill: false, attrs: dims, data: []byte{0, 1, 0, 1}}
	s := &madeArray{texts: []string{"", "a", "", "b"}, shape: []int{4}, chunk: []int{4}, fill: "", attrs: dims}
	for _, mode := range []string{"auto", "on", "off"} {
		got, _ := readNotes(t, format.Options{"cf": mode}, writeStore(t, 2, map[string]*madeArray{"b": b, "s": s}))
		if got.ByName["b"].DType != shardify.Bool || got.ByName["s"].Levels != 1 {
			t.Errorf("--cf %s: %s %d", mode, got.ByName["b"].DType, got.ByName["s"].Levels)
		}
	}
}

// TestFillValueOfFormat3 is no missing value: the attribute _FillValue is.
func TestFillValueOfFormat3(t *testing.T) {
	for _, mode := range []string{"auto", "on"} {
		for _, attr := range []bool{false, true} {
			a := &madeArray{dtype: "<i4", size: 4, shape: []int{4}, chunk: []int{4}, fill: 1, dims: []string{"t"}, data: shardify.Bytes([]int32{0, 1, 2, -9})}
			want := "[0 1 2 -9]"
			if attr {
				a.attrs, want = map[string]any{"_FillValue": -9}, "[0 1 2 NaN]"
			}
			got, notes := readNotes(t, format.Options{"cf": mode}, writeStore(t, 3, map[string]*madeArray{"x": a}))
			if v := fmt.Sprint(floatsOf(t, got.ByName["x"])); v != want || strings.Contains(notes, "counts as") {
				t.Errorf("--cf %s: %v, want %v: %s", mode, v, want, notes)
			}
		}
	}
}

// typeOf is the type of values, and that of the same with some missing.
func typeOf(kind string, missing bool) shardify.DType {
	switch kind {
	case "<i2":
		if missing {
			return shardify.F32
		}
		return shardify.I16
	case "<i4":
		if missing {
			return shardify.F64
		}
		return shardify.I32
	case "<i8":
		if missing {
			return shardify.F64
		}
		return shardify.I64
	case "<f4":
		return shardify.F32
	}
	return shardify.F64
}

func floatsOf(t *testing.T, c *shardify.Column) (out []float64) {
	t.Helper()
	n := len(c.Data) / c.DType.Size()
	for i := range n {
		switch c.DType {
		case shardify.I16:
			out = append(out, float64(shardify.View[int16](c.Data)[i]))
		case shardify.I32:
			out = append(out, float64(shardify.View[int32](c.Data)[i]))
		case shardify.I64:
			out = append(out, float64(shardify.View[int64](c.Data)[i]))
		case shardify.F32:
			out = append(out, float64(shardify.View[float32](c.Data)[i]))
		case shardify.F64:
			out = append(out, shardify.View[float64](c.Data)[i])
		default:
			t.Fatalf("type %s", c.DType)
		}
	}
	return out
}

// TestDatesWithoutFillValue: in chunks that are not there they are NaT, as for zarr-python; members
// of structures are 0.
func TestDatesWithoutFillValue(t *testing.T) {
	for _, kind := range []string{"<M8[s]", "<m8[ns]", ">M8[ms]", "<i8"} {
		data := []byte{0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6}
		if kind[0] == '<' {
			data = shardify.Bytes([]int64{5, 6})
		}
		a := &madeArray{dtype: kind, size: 8, shape: []int{4}, chunk: []int{1}, fill: json.RawMessage("null"), data: append(slices.Clone(data), data...),
			skip: map[string]bool{"1": true, "2": true}}
		got, notes := readNotes(t, nil, writeStore(t, 2, map[string]*madeArray{"x": a}))
		want, word := []int64{5, math.MinInt64, math.MinInt64, 6}, "NaT"
		if kind == "<i8" {
			want, word = []int64{5, 0, 0, 6}, "null: 0"
		}
		if v := shardify.View[int64](got.ByName["x"].Data); !slices.Equal(v, want) || !strings.Contains(notes, "2 of 4 chunks") || !strings.Contains(notes, word) {
			t.Errorf("%s: %v, want %v: %s", kind, v, want, notes)
		}
	}
}
