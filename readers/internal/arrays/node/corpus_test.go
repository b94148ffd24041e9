package node

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// parse reads the metadata of a folder; nil if it is no array.
func parse(dir string) (*Node, error) {
	read := func(name string) []byte {
		p, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil
		}
		return p
	}
	if p := read("zarr.json"); p != nil {
		return Parse3(p)
	}
	if p := read(".zarray"); p != nil {
		return Parse2(p, nil, read(".zattrs"))
	}
	return nil, nil
}

// whole reads all chunks of an array, as elements in C order.
func whole(dir string, a *Array) ([]byte, [][]byte, error) {
	n, _ := product(a.Shape)
	var fixed []byte
	var values [][]byte
	if a.Type.Varies() {
		values = make([][]byte, n)
	} else {
		fixed = make([]byte, n*int64(a.Type.Size))
	}
	grid := a.Grid()
	chunks, _ := product(grid)
	var s Scratch
	index := make([]int64, len(grid))
	for range chunks {
		part, list := make([]byte, a.elements*int64(a.Type.Size)), make([][]byte, a.elements)
		stored, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(a.Key(index))))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			for at := 0; at < len(part); at += a.Type.Size {
				copy(part[at:], a.Fill)
			}
			for i := range list {
				list[i] = a.Fill
			}
			err = nil
		case err != nil:
		case a.Type.Varies():
			s = Scratch{}
			err = a.values(list, stored, &s)
		default:
			err = a.decode(part, stored, &s)
		}
		if err != nil {
			return nil, nil, err
		}
		at := make([]int64, len(grid))
		for from := int64(0); from < a.elements; from++ {
			to, inside := int64(0), true
			for k := range at {
				x := index[k]*a.Chunk[k] + at[k]
				inside = inside && x < a.Shape[k]
				to = to*a.Shape[k] + x
			}
			if inside && values != nil {
				values[to] = list[from]
			} else if inside {
				copy(fixed[to*int64(a.Type.Size):], part[from*int64(a.Type.Size):][:a.Type.Size])
			}
			for k := len(at) - 1; k >= 0; k-- {
				if at[k]++; at[k] < a.Chunk[k] {
					break
				}
				at[k] = 0
			}
		}
		for k := len(index) - 1; k >= 0; k-- {
			if index[k]++; index[k] < grid[k] {
				break
			}
			index[k] = 0
		}
	}
	return fixed, values, nil
}

type expectedRaw struct {
	Shape  []int64
	DType  any
	SHA    string `json:"sha256_le"`
	SHALen string `json:"sha256_len8_bytes"`
}

func (e *expectedRaw) differs(fixed []byte, values [][]byte) bool {
	h := sha256.New()
	if e.SHALen != "" {
		for _, v := range values {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(v))))
			h.Write(v)
		}
		return hex.EncodeToString(h.Sum(nil)) != e.SHALen
	}
	h.Write(fixed)
	return hex.EncodeToString(h.Sum(nil)) != e.SHA
}

// TestCorpusOfStores compares all arrays of all stores with what zarr-python read.
func TestCorpusOfStores(t *testing.T) {
	race.Sequential(t)
	root := corpus.Dir(t, "zarr")
	n := 0
	for _, folder := range []string{"v2", "v3", "cf"} {
		list, _ := filepath.Glob(filepath.Join(root, folder, "*.zarr.json"))
		for _, name := range list {
			p, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Arrays map[string]struct {
					Raw expectedRaw
					Err string `json:"zarr_python_2_18"`
				}
			}
			if err := json.Unmarshal(p, &want); err != nil {
				t.Fatal(name, err)
			}
			for path, w := range want.Arrays {
				dir := filepath.Join(strings.TrimSuffix(name, ".json"), path)
				at := filepath.Base(name) + ":" + path
				node, err := parse(dir)
				if err != nil || node == nil || node.Array == nil {
					if !strings.Contains(path, "MUST_REFUSE") {
						t.Errorf("%s: %v", at, err)
					}
					continue
				}
				fixed, values, err := whole(dir, node.Array)
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				if w.Raw.SHA == "" && w.Raw.SHALen == "" {
					t.Logf("%s: no expected values", at)
				} else if w.Raw.differs(fixed, values) {
					t.Errorf("%s: other values, type %s, %d bytes, %q", at, node.Array.Type.Name, len(fixed), values)
				}
				n++
			}
		}
	}
	t.Logf("%d arrays", n)
}

// TestCorpusOfBadStores: each is refused where it is damaged, and the array beside it is read.
func TestCorpusOfBadStores(t *testing.T) {
	root := corpus.Dir(t, "zarr")
	list, _ := filepath.Glob(filepath.Join(root, "bad", "*.json"))
	for _, name := range list {
		p, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Refuse struct{ Level, Where, Why string }
			Good   *struct {
				Path string
				expectedRaw
			}
		}
		if err := json.Unmarshal(p, &want); err != nil {
			t.Fatal(name, err)
		}
		store := strings.TrimSuffix(name, ".json") + ".zarr"
		if _, err := os.Stat(store); err != nil || want.Refuse.Level == "store" || want.Refuse.Where == "" {
			continue
		}
		array, _, _ := strings.Cut(want.Refuse.Where, "/c/")
		array, _, _ = strings.Cut(array, "/")
		at := filepath.Base(name)
		node, err := parse(filepath.Join(store, array))
		switch want.Refuse.Level {
		case "array":
			if err == nil && !strings.Contains(at, "unwritten") && !strings.Contains(at, "path") {
				t.Errorf("%s: not refused: %s", at, want.Refuse.Why)
			}
		case "chunk":
			if err != nil {
				t.Errorf("%s: refused as an array: %v", at, err)
				continue
			}
			_, _, err = whole(filepath.Join(store, array), node.Array)
			fallthrough
		default:
			if err == nil && want.Refuse.Level == "chunk" {
				t.Errorf("%s: read: %s", at, want.Refuse.Why)
			}
		}
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !strings.Contains(at, "folder") {
			t.Errorf("%s: %v is of no kind", at, err)
		}
		if want.Good != nil {
			node, err := parse(filepath.Join(store, want.Good.Path))
			if err == nil && node == nil {
				continue // in consolidated metadata alone
			}
			if err != nil {
				t.Errorf("%s: good: %v", at, err)
				continue
			}
			fixed, values, err := whole(filepath.Join(store, want.Good.Path), node.Array)
			if err != nil || want.Good.differs(fixed, values) {
				t.Errorf("%s: good: other values, or %v", at, err)
			}
		}
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":"default","fill_value":0,"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[1],"codecs":[{"name":"bytes","configuration":{"endian":"big"}},"zstd"],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]}}]}`), bytes.Repeat([]byte{1}, 40))
	f.Add([]byte(`{"zarr_format":2,"shape":[6],"chunks":[3],"dtype":"<i4","compressor":{"id":"blosc"},"filters":[{"id":"delta","dtype":"<i4"}],"fill_value":7,"order":"F"}`), []byte("x"))
	f.Fuzz(func(t *testing.T, meta, chunk []byte) {
		for _, n := range []func() (*Node, error){func() (*Node, error) { return Parse3(meta) }, func() (*Node, error) { return Parse2(meta, nil, nil) }} {
			node, err := n()
			if err != nil || node.Array == nil || node.Array.elements > 1<<16 || node.Array.elements*int64(node.Array.Type.Size) > 1<<20 {
				continue
			}
			a := node.Array
			var s Scratch
			if a.Type.Varies() {
				a.values(make([][]byte, a.elements), chunk, &s)
			} else {
				a.decode(make([]byte, a.elements*int64(a.Type.Size)), chunk, &s)
			}
		}
	})
}
