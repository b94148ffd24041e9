package zarr

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// madeArray is an array to be written: whole elements of a fixed size in C order, or texts.
type madeArray struct {
	dtype  string // of NumPy
	size   int
	shape  []int
	chunk  []int
	shard  []int // nil: none
	dims   []string
	attrs  map[string]any
	fill   any
	data   []byte
	texts  []string
	format int
	gzip   bool
	zstd   bool
	skip   map[string]bool // chunks that are not written
}

var types3 = map[string]string{"<f4": "float32", "<f8": "float64", "<i2": "int16", "<i4": "int32", "<u2": "uint16", "<i8": "int64", "|u1": "uint8", "|b1": "bool"}

func product(s []int) int {
	n := 1
	for _, x := range s {
		n *= x
	}
	return n
}

// block is the elements of a box at origin, beyond the array those of the fill value.
func (a *madeArray) block(origin, shape []int) []byte {
	out := make([]byte, product(shape)*a.size)
	at := make([]int, len(shape))
	for i := 0; i < product(shape); i++ {
		from, in := 0, true
		for d := range shape {
			x := origin[d] + at[d]
			in = in && x < a.shape[d]
			from = from*a.shape[d] + x
		}
		if in {
			copy(out[i*a.size:(i+1)*a.size], a.data[from*a.size:])
		}
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < shape[d] {
				break
			}
			at[d] = 0
		}
	}
	return out
}

func (a *madeArray) pack(p []byte) []byte {
	if a.zstd {
		return readertest.Zstd(p)
	}
	if !a.gzip {
		return p
	}
	return readertest.Gzip(p)
}

// each calls f for the origins of a grid.
func each(shape, step []int, f func(index, origin []int)) {
	n := make([]int, len(shape))
	for d := range n {
		n[d] = (shape[d] + step[d] - 1) / step[d]
	}
	index := make([]int, len(n))
	for range product(n) {
		origin := make([]int, len(n))
		for d := range n {
			origin[d] = index[d] * step[d]
		}
		f(slices.Clone(index), origin)
		for d := len(n) - 1; d >= 0; d-- {
			if index[d]++; index[d] < n[d] {
				break
			}
			index[d] = 0
		}
	}
}

func (a *madeArray) write(t testing.TB, dir string) {
	t.Helper()
	meta, attrs := map[string]any{"shape": a.shape, "fill_value": a.fill}, map[string]any{}
	maps.Copy(attrs, a.attrs)
	outer := a.chunk
	if a.format == 2 {
		meta["zarr_format"], meta["chunks"], meta["dtype"], meta["order"], meta["filters"], meta["compressor"] = 2, a.chunk, a.dtype, "C", nil, nil
		if a.gzip {
			meta["compressor"] = map[string]any{"id": "gzip", "level": 1}
		}
		if a.texts != nil {
			meta["dtype"], meta["filters"] = "|O", []any{map[string]any{"id": "vlen-utf8"}}
		}
		if a.dims != nil {
			attrs["_ARRAY_DIMENSIONS"] = a.dims
		}
		writeJSON(t, filepath.Join(dir, ".zattrs"), attrs)
		writeJSON(t, filepath.Join(dir, ".zarray"), meta)
	} else {
		codecs := []any{map[string]any{"name": "bytes", "configuration": map[string]any{"endian": "little"}}}
		if a.texts != nil {
			codecs = []any{"vlen-utf8"}
		}
		if a.gzip {
			codecs = append(codecs, map[string]any{"name": "gzip", "configuration": map[string]any{"level": 1}})
		}
		if a.zstd {
			codecs = append(codecs, map[string]any{"name": "zstd", "configuration": map[string]any{"level": 0, "checksum": false}})
		}
		if a.shard != nil {
			outer = a.shard
			codecs = []any{map[string]any{"name": "sharding_indexed", "configuration": map[string]any{"chunk_shape": a.chunk, "codecs": codecs,
				"index_codecs": []any{map[string]any{"name": "bytes", "configuration": map[string]any{"endian": "little"}}}}}}
		}
		dtype := types3[a.dtype]
		if a.texts != nil {
			dtype = "string"
		}
		maps.Copy(meta, map[string]any{"zarr_format": 3, "node_type": "array", "data_type": dtype, "codecs": codecs, "attributes": attrs,
			"chunk_grid":         map[string]any{"name": "regular", "configuration": map[string]any{"chunk_shape": outer}},
			"chunk_key_encoding": map[string]any{"name": "default", "configuration": map[string]any{"separator": "/"}}})
		if a.dims != nil {
			meta["dimension_names"] = a.dims
		}
		writeJSON(t, filepath.Join(dir, "zarr.json"), meta)
	}
	each(a.shape, outer, func(index, origin []int) {
		var p []byte
		switch {
		case a.texts != nil:
			p = binary.LittleEndian.AppendUint32(p, uint32(a.chunk[0]))
			for i := range a.chunk[0] {
				s := ""
				if origin[0]+i < len(a.texts) {
					s = a.texts[origin[0]+i]
				}
				p = append(binary.LittleEndian.AppendUint32(p, uint32(len(s))), s...)
			}
			p = a.pack(p)
		case a.shard != nil:
			var table []byte
			each(a.shard, a.chunk, func(_, at []int) {
				for d := range at {
					at[d] += origin[d]
				}
				x := a.pack(a.block(at, a.chunk))
				table = binary.LittleEndian.AppendUint64(table, uint64(len(p)))
				table = binary.LittleEndian.AppendUint64(table, uint64(len(x)))
				p = append(p, x...)
			})
			p = append(p, table...)
		default:
			p = a.pack(a.block(origin, a.chunk))
		}
		key := strings.Trim(fmt.Sprint(index), "[]")
		if key = strings.ReplaceAll(key, " ", "."); a.format == 3 {
			key = "c/" + strings.ReplaceAll(key, ".", "/")
			if len(index) == 0 {
				key = "c"
			}
		} else if len(index) == 0 {
			key = "0"
		}
		if !a.skip[key] {
			writeFile(t, filepath.Join(dir, key), p)
		}
	})
}

func writeJSON(t testing.TB, name string, v any) {
	t.Helper()
	p, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, name, p)
}

func writeFile(t testing.TB, name string, p []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, p, 0o666); err != nil {
		t.Fatal(err)
	}
}

// writeStore writes a store with these arrays below a new folder.
func writeStore(t testing.TB, version int, arrays map[string]*madeArray) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made.zarr")
	if version == 3 {
		writeJSON(t, filepath.Join(dir, "zarr.json"), map[string]any{"zarr_format": 3, "node_type": "group"})
	} else {
		writeJSON(t, filepath.Join(dir, ".zgroup"), map[string]any{"zarr_format": 2})
	}
	for name, a := range arrays {
		if a.format = version; a.fill == nil {
			a.fill = 0
			if a.texts != nil {
				a.fill = ""
			}
		}
		if group := filepath.Dir(filepath.Join(dir, name)); version == 3 && group != dir {
			writeJSON(t, filepath.Join(group, "zarr.json"), map[string]any{"zarr_format": 3, "node_type": "group"})
		}
		a.write(t, filepath.Join(dir, name))
	}
	return dir
}

func randomBytes(r *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32()) & 0x7f
	}
	return p
}

// weather is arrays of n steps with chunks that do not fit each other.
func weather(r *rand.Rand, n, version int) map[string]*madeArray {
	hours := make([]int64, n)
	var names []string
	for i := range hours {
		hours[i] = int64(6 * i)
		names = append(names, strings.Repeat("x", i%5)+fmt.Sprint(i))
	}
	time := []string{"time"}
	out := map[string]*madeArray{
		"t2m":    {dtype: "<f4", size: 4, shape: []int{n, 5, 7}, chunk: []int{3, 2, 4}, dims: []string{"time", "latitude", "longitude"}, gzip: true, attrs: map[string]any{"units": "K"}},
		"packed": {dtype: "<i2", size: 2, shape: []int{n, 5, 7}, chunk: []int{4, 5, 7}, dims: []string{"time", "latitude", "longitude"}, attrs: map[string]any{"scale_factor": 0.5, "add_offset": 3.5}},
		"mask":   {dtype: "|b1", size: 1, shape: []int{n, 5}, chunk: []int{1, 5}, dims: []string{"time", "latitude"}},
		"time":   {dtype: "<i8", size: 8, shape: []int{n}, chunk: []int{n + 1}, dims: time, attrs: map[string]any{"units": "hours since 2000-01-01"}, data: shardify.Bytes(hours)},
		"name":   {shape: []int{n}, chunk: []int{4}, dims: time, texts: names, gzip: true},
		"number": {dtype: "<i4", size: 4, shape: []int{}, chunk: []int{}, dims: []string{}},
		"lat":    {dtype: "<f4", size: 4, shape: []int{5}, chunk: []int{5}, dims: []string{"latitude"}},
	}
	if version == 3 {
		out["deep/sharded"] = &madeArray{dtype: "<f8", size: 8, shape: []int{n, 6}, chunk: []int{2, 3}, shard: []int{6, 6}, dims: []string{"time", "k"}, gzip: true}
	}
	for _, a := range out {
		if a.data == nil && a.texts == nil {
			a.data = randomBytes(r, product(a.shape)*a.size)
			if a.dtype == "|b1" {
				for i := range a.data {
					a.data[i] &= 1
				}
			}
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(version)))
			stores := []string{writeStore(t, version, weather(r, 17, version)), writeStore(t, version, weather(r, 10, version))}
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(t, stores...), Columns: columns, State: state, Jobs: 2})
			})
		})
	}
}

// TestRowsAreThoseOfTheArrays reads stores whose content is known, in spans of all sizes.
func TestRowsAreThoseOfTheArrays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, version := range []int{2, 3} {
		made := weather(r, 13, version)
		dir := writeStore(t, version, made)
		for _, target := range []int64{1, 500, 3000, 1 << 40} {
			src, err := openStores(t, format.Options{"cf": "off"}, nil, dir)
			if err != nil {
				t.Fatal(err)
			}
			got, err := readertest.Load(src, target)
			if err != nil {
				t.Fatal(err)
			}
			src.Close()
			if got.Samples != 13 || got.ByName["lat"] != nil {
				t.Errorf("%d samples, %q", got.Samples, got.Order)
			}
			for name, a := range made {
				c := got.ByName[name]
				switch {
				case name == "lat":
				case a.texts != nil:
					for i, s := range a.texts {
						if x := string(c.Data[c.Offsets[0][i]:c.Offsets[0][i+1]]); x != s {
							t.Errorf("format %d, spans of %d: %s[%d] is %q, want %q", version, target, name, i, x, s)
						}
					}
				case name == "number":
					if !bytes.Equal(c.Data, bytes.Repeat(a.data, 13)) {
						t.Errorf("number is %v", c.Data)
					}
				case !bytes.Equal(c.Data, a.data):
					t.Errorf("format %d, spans of %d: %s has other values", version, target, name)
				}
			}
		}
	}
}

// TestAlongAnotherAxis reads rows of the last axis.
func TestAlongAnotherAxis(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a := &madeArray{dtype: "<i4", size: 4, shape: []int{3, 4, 11}, chunk: []int{2, 3, 2}, data: randomBytes(r, 4*3*4*11)}
	dir := writeStore(t, 3, map[string]*madeArray{"x": a})
	src, err := openStores(t, format.Options{"axis": "-1"}, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	got, err := readertest.Load(src, 100)
	if err != nil {
		t.Fatal(err)
	}
	from, to := shardify.View[int32](a.data), shardify.View[int32](got.ByName["x"].Data)
	for k := range 11 {
		for i := range 12 {
			if to[k*12+i] != from[i*11+k] {
				t.Fatalf("row %d element %d is %d, want %d", k, i, to[k*12+i], from[i*11+k])
			}
		}
	}
}

// TestMissingChunks: what is missing is counted and named. A whole array, or the end of one, is
// not filled unasked.
func TestMissingChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, c := range []struct {
		skip   []string
		option string
		note   string // or a part of the error
		fails  bool
		left   bool
	}{
		{nil, "auto", "", false, false},
		{[]string{"1.0", "1.1", "2.0"}, "auto", "x: 3 of 8 chunks are missing and are its fill_value", false, false},
		{[]string{"1.0"}, "fail", "1 of 8 chunks are missing", true, false},
		{[]string{"3.0", "3.1"}, "auto", "2 of 8 chunks are missing, all at the end", true, false},
		{[]string{"3.0", "3.1"}, "fill", "x: 2 of 8 chunks are missing and are its fill_value", false, false},
		{[]string{"0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"}, "auto", "none of its 8 chunks is there", false, true},
	} {
		for _, version := range []int{2, 3} {
			skip := map[string]bool{}
			for _, s := range c.skip {
				skip[s], skip["c/"+strings.ReplaceAll(s, ".", "/")] = true, true
			}
			arrays := map[string]*madeArray{
				"x": {dtype: "<i4", size: 4, shape: []int{12, 4}, chunk: []int{3, 2}, data: randomBytes(r, 192), fill: 7, skip: skip},
				"y": {dtype: "<i4", size: 4, shape: []int{12}, chunk: []int{12}, data: randomBytes(r, 48)},
			}
			src, err := openStores(t, format.Options{"cf": "off", "missing-chunks": c.option}, nil, writeStore(t, version, arrays))
			if c.fails {
				if err == nil || !strings.Contains(err.Error(), c.note) {
					t.Errorf("%v %s: %v", c.skip, c.option, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(c, err)
			}
			told := notesOf(src)
			if !strings.Contains(told, c.note) || c.note == "" && strings.Contains(told, "missing") {
				t.Errorf("%v: %s", c.skip, told)
			}
			got, err := readertest.Load(src, 50)
			src.Close()
			if err != nil {
				t.Fatal(c, err)
			}
			if x := got.ByName["x"]; x == nil != c.left {
				t.Errorf("%v: x is there: %v", c.skip, x != nil)
			} else if x != nil && skip["1.0"] && shardify.View[int32](x.Data)[12] != 7 {
				t.Errorf("%v: not the fill value: %v", c.skip, x.Data)
			}
		}
	}
}

// TestStoresThatChange: what is not as the plan found it is an error, and no damage.
func TestStoresThatChange(t *testing.T) {
	for what, change := range map[string]func(dir string) error{
		"a chunk is gone": func(dir string) error { return os.Remove(filepath.Join(dir, "t2m", "c", "1", "0", "0")) },
		"the array is longer": func(dir string) error {
			name := filepath.Join(dir, "t2m", "zarr.json")
			p, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, bytes.Replace(p, []byte("[13,"), []byte("[14,"), 1), 0o666)
		},
		"other numbers": func(dir string) error {
			name := filepath.Join(dir, "t2m", "zarr.json")
			p, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return os.WriteFile(name, bytes.Replace(p, []byte("\"little\""), []byte("\"big\""), 1), 0o666)
		},
		"the root is rewritten": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "zarr.json"), []byte(`{"zarr_format": 3, "node_type": "group", "attributes": {"new": 1}}`), 0o666)
		},
	} {
		dir := writeStore(t, 3, weather(rand.New(rand.NewPCG(15, 16)), 13, 3))
		src, err := openStores(t, nil, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := readertest.Load(src, 1<<40); !errors.Is(err, shardify.ErrChanged) || errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
		src.Close()
	}
}

// TestShardsInAnyOrder: parts are decoded in the order of the names of their shards, in which 10
// comes before 2, and leave the rows of others alone.
func TestShardsInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, row := range []int{1, 5, 25, 600} {
		n := 4 * 48 * row
		data := make([]byte, n)
		for i := range data {
			if data[i] = byte(r.IntN(8)); i >= 40 && r.IntN(30) > 0 {
				data[i] = data[i-40]
			}
		}
		x := &madeArray{dtype: "<i4", size: 4, shape: []int{48, row}, chunk: []int{2, row}, shard: []int{4, row}, data: data, zstd: true}
		src, err := openStores(t, format.Options{"cf": "off"}, nil, writeStore(t, 3, map[string]*madeArray{"x": x}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := readertest.Load(src, 1<<40)
		src.Close()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.ByName["x"].Data, data) {
			t.Errorf("rows of %d: other values", row)
		}
	}
}
