package zarr

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/corpus"
)

// TestBfloat16 is read with its bits, also as fill value; types that no array here has are named.
func TestBfloat16(t *testing.T) {
	types3["bfloat16"], types3["<V1"] = "bfloat16", "float8_e4m3fn"
	bits := shardify.Bytes([]uint16{0x3f80, 0xc000, 0x7fc1, 0x0001})
	for version := 2; version <= 3; version++ {
		arrays := map[string]*madeArray{
			"x": {dtype: "bfloat16", size: 2, shape: []int{4}, chunk: []int{1}, data: bits, fill: 1.5, skip: map[string]bool{"1": true, "c/1": true}},
			"n": {dtype: "bfloat16", size: 2, shape: []int{4}, chunk: []int{1}, data: bits, fill: "NaN", skip: map[string]bool{"1": true, "c/1": true}},
			"y": {dtype: "<V1", size: 1, shape: []int{4}, chunk: []int{4}, data: []byte{1, 2, 3, 4}},
		}
		if version == 2 {
			delete(arrays, "y")
		}
		got, told := readNotes(t, nil, writeStore(t, version, arrays))
		for name, fill := range map[string]uint16{"x": 0x3fc0, "n": 0x7fc0} {
			if c := got.ByName[name]; c.DType != shardify.BF16 || !slices.Equal(shardify.View[uint16](c.Data), []uint16{0x3f80, fill, 0x7fc1, 1}) {
				t.Errorf("format %d: %s: %s %x", version, name, c.DType, c.Data)
			}
		}
		if version == 3 && !strings.Contains(told, "y: values of type float8_e4m3fn are not read") {
			t.Errorf("left out: %s", told)
		}
	}
}

// TestTypesOfTensorstore: complex numbers are pairs, as in HDF5 and NPZ.
func TestTypesOfTensorstore(t *testing.T) {
	src, err := openStores(t, nil, nil, filepath.Join(corpus.Dir(t, "found3"), "ts.zarr"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	types := ""
	for _, f := range src.Schema() {
		types += f.Name + " " + f.DType.String() + " "
	}
	if types != "bfloat16 bf16 complex64 f32 float32 f32 " {
		t.Error(types)
	}
	for _, name := range []string{"float8_e4m3fn", "float8_e5m2", "int2", "int4"} {
		if !slices.ContainsFunc(src.(format.Reporter).Leftovers(), func(l format.Leftover) bool {
			return l.Name == name && l.Unreadable && strings.Contains(l.Reason, "of type "+name+" are not read")
		}) {
			t.Errorf("%s is not named: %v", name, src.(format.Reporter).Leftovers())
		}
	}
}
