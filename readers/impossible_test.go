package readers_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// replaced is files with one text in the place of another, which is there.
func replaced(t *testing.T, files map[string][]byte, name, old, with string) map[string][]byte {
	t.Helper()
	out := maps.Clone(files)
	if out[name] = bytes.Replace(files[name], []byte(old), []byte(with), 1); bytes.Equal(out[name], files[name]) {
		t.Fatalf("%s has no %s", name, old)
	}
	return out
}

// npzOf is an archive of arrays of three rows, of the type that each is said to have.
func npzOf(t *testing.T, types map[string]string) map[string][]byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("{'descr': %q, 'fortran_order': False, 'shape': (3,), }", types[name])
		head = strings.ReplaceAll(head, `"`, "'")
		head += strings.Repeat(" ", 117-len(head)) + "\n"
		size := map[bool]int{true: 16, false: 4}[strings.HasSuffix(types[name], "16")]
		f.Write(append([]byte("\x93NUMPY\x01\x00\x76\x00"+head), make([]byte, 3*size)...))
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"a.npz": b.Bytes()}
}

// TestWhatCannotBeIsDamage, in every format that describes its fields: a description that the
// format does not have ends the conversion, and one that it has and that is not read is left out by
// name.
func TestWhatCannotBeIsDamage(t *testing.T) {
	race.Sequential(t)
	mds := lostFiles(t, "mds/testdata/plain")
	zarr := lostZarr()
	three := map[string][]byte{"zarr.json": []byte(`{"zarr_format": 3, "node_type": "group"}`)}
	for _, name := range []string{"x", "y"} {
		three[name+"/zarr.json"] = []byte(`{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8", "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}`)
		three[name+"/c/0"] = []byte{1, 2}
	}
	for what, c := range map[string]struct {
		format string
		files  map[string][]byte
		left   string // "": damage
	}{
		"zarr 2, a format of 0":          {"zarr", replaced(t, zarr, "y/.zarray", `"zarr_format": 2`, `"zarr_format": 0`), ""},
		"zarr 2, a format of 3":          {"zarr", replaced(t, zarr, "y/.zarray", `"zarr_format": 2`, `"zarr_format": 3`), ""},
		"zarr 2, a type of 3 bytes":      {"zarr", replaced(t, zarr, "y/.zarray", "<f4", "<f3"), ""},
		"zarr 2, a type with a byte":     {"zarr", replaced(t, zarr, "y/.zarray", "<f4", `<f\u009d`), ""},
		"zarr 2, a type of 16 bytes":     {"zarr", replaced(t, zarr, "y/.zarray", "<f4", "<f16"), "y"},
		"zarr 2, an unknown compression": {"zarr", replaced(t, zarr, "y/.zarray", `"zlib"`, `"other"`), "y"},
		"zarr 3, a format of 2":          {"zarr", replaced(t, three, "y/zarr.json", `"zarr_format": 3`, `"zarr_format": 2`), ""},
		"zarr 3, a format of 4":          {"zarr", replaced(t, three, "y/zarr.json", `"zarr_format": 3`, `"zarr_format": 4`), "y"},
		"zarr 3, a type of others":       {"zarr", replaced(t, three, "y/zarr.json", `"uint8"`, `"int4"`), "y"},
		"npz, a type of 3 bytes":         {"npz", npzOf(t, map[string]string{"x": "<f4", "y": "<f3"}), ""},
		"npz, a type with a byte":        {"npz", npzOf(t, map[string]string{"x": "<f4", "y": "<fU"}), ""},
		"npz, a type of 16 bytes":        {"npz", npzOf(t, map[string]string{"x": "<f4", "y": "<f16"}), "y"},
		"sqlite, rows of more values":    {"sqlite", replaced(t, lostFiles(t, "testdata/mutate/rows.db"), "rows.db", "t text, b", "t text$ b"), ""},
		"mds, an encoding of no kind":    {"mds", replacedAll(mds, `"str_int"`, `"str_inu"`), ""},
		"mds, arrays of no type":         {"mds", replacedAll(mds, `"ndarray:int32"`, `"ndarray:int33"`), ""},
		"mds, a pickle":                  {"mds", replacedAll(mds, `"str_int"`, `"pkl"`), "*"},
	} {
		dir := t.TempDir()
		s := &lostSeed{format: c.format, files: c.files}
		if len(c.files) == 1 {
			s.name = slices.Collect(maps.Keys(c.files))[0]
		}
		is, err := s.read(filepath.Join(dir, "out"), "", s.write(t, filepath.Join(dir, "in"), c.files))
		switch {
		case c.left == "" && !errors.Is(err, shardify.ErrCorrupt):
			t.Errorf("%s: %v, %+v", what, err, is)
		case c.left != "" && err != nil:
			t.Errorf("%s: %v", what, err)
		case c.left != "" && c.left != "*" && !is.left[c.left], c.left == "*" && len(is.left) == 0:
			t.Errorf("%s: left out are %v", what, is.left)
		}
	}
}

// replacedAll is replaced for all places of a set's index.
func replacedAll(files map[string][]byte, old, with string) map[string][]byte {
	out := maps.Clone(files)
	out["index.json"] = bytes.ReplaceAll(files["index.json"], []byte(old), []byte(with))
	return out
}

// TestEveryByteOfADescriptionIsReadOrRefused: a byte of a description that becomes another one never
// makes a field that is left out for damage.
func TestEveryByteOfADescriptionIsReadOrRefused(t *testing.T) {
	race.Sequential(t)
	hdf5 := lostFiles(t, "testdata/mutate/rows_latest.h5")["rows_latest.h5"]
	parquet := lostFiles(t, "testdata/mutate/plain.parquet")["plain.parquet"]
	dir := lostFolder(t)
	for _, c := range []struct {
		name, format string
		data         []byte
		from, to     int
		with         byte
		want         string
	}{
		{"a.h5", "hdf5", hdf5, 0, 1200, 0x1f, "class 15"},
		{"a.parquet", "parquet", parquet, len(parquet) - 1400, len(parquet) - 8, 0x40, "compression 32"},
	} {
		found := 0
		for at := c.from; at < c.to; at++ {
			bad := slices.Clone(c.data)
			bad[at] = c.with
			s := &lostSeed{format: c.format, name: c.name}
			is, err := s.read(filepath.Join(dir, "out"), "", s.write(t, dir, map[string][]byte{c.name: bad}))
			if err == nil && len(is.damaged) > 0 {
				t.Errorf("%s, byte %d: %v", c.name, at, is.damaged)
			}
			if err != nil && strings.Contains(err.Error(), c.want) {
				if found++; !errors.Is(err, shardify.ErrCorrupt) {
					t.Errorf("%s, byte %d: %v", c.name, at, err)
				}
			}
		}
		if found == 0 && c.format == "parquet" {
			t.Errorf("%s: no byte gives %s", c.name, c.want)
		}
	}
}

// TestDamageOfTheCorpusIsNotLeftOut: what tools left out for damage is refused.
func TestDamageOfTheCorpusIsNotLeftOut(t *testing.T) {
	dir := filepath.Join(corpus.Dir(t, "found3"), "damaged")
	for _, name := range []string{"arrow_corrupt_dropped.arrow", "mds-flip", "wds-flip"} {
		_, err := pipeline.Convert(context.Background(), pipeline.Settings{Inputs: []string{filepath.Join(dir, name)}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Memory: lostBudget})
		if !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
