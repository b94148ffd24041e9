package zarr

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// counted counts what is read of each file.
type counted struct {
	storage.FS
	mu    sync.Mutex
	opens map[string]int
	bytes map[string]int64
}

func (c *counted) Path(name string) (string, bool) { return name, true }

func (c *counted) Open(ctx context.Context, name string) (storage.File, error) {
	f, err := c.FS.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.opens[name]++
	c.mu.Unlock()
	return &countedFile{f, c, name}, nil
}

type countedFile struct {
	storage.File
	c    *counted
	name string
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.c.mu.Lock()
	f.c.bytes[f.name] += int64(len(p))
	f.c.mu.Unlock()
	return f.File.ReadAt(p, off)
}

// TestEachChunkIsReadOnce: whatever the spans, with chunks that are larger than a span, smaller,
// over inner dimensions, and in shards.
func TestEachChunkIsReadOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	array := func(chunk, shard []int) *madeArray {
		return &madeArray{dtype: "<f4", size: 4, shape: []int{64, 24, 20}, chunk: chunk, shard: shard, dims: []string{"t", "y", "x"}, data: randomBytes(r, 64*24*20*4)}
	}
	arrays := map[string]*madeArray{
		"steps":   array([]int{1, 24, 20}, nil),
		"inner":   array([]int{4, 12, 7}, nil),
		"slow":    array([]int{32, 6, 20}, nil),
		"sharded": array([]int{2, 24, 20}, []int{16, 24, 20}),
		"t":       {dtype: "<i8", size: 8, shape: []int{64}, chunk: []int{64}, dims: []string{"t"}, data: randomBytes(r, 512)},
	}
	dir := writeStore(t, 3, arrays)
	for _, columns := range [][]string{nil, {"steps"}, {"inner", "t"}, {"slow"}, {"sharded", "steps"}} {
		for _, target := range []int64{1, 50_000, 1 << 40} {
			fs := &counted{FS: local.Files, opens: map[string]int{}, bytes: map[string]int64{}}
			table := tableOf(t, dir)
			table.FS = fs
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, Options: format.Options{"cf": "off"}, Jobs: 1})
			if err != nil {
				t.Fatal(err)
			}
			got, err := readertest.Load(src, target)
			src.Close()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range got.Order {
				if string(got.ByName[name].Data) != string(arrays[name].data) {
					t.Errorf("%s has other values", name)
				}
			}
			var read, stored int64
			for name, n := range fs.opens {
				if key, ok := strings.CutPrefix(name, dir+"/"); ok && strings.Contains(key, "/c/") {
					read, stored = read+fs.bytes[name], stored+sizeOf(t, name)
					if n != 1 {
						t.Errorf("%v in spans of %d: %s is opened %d times", columns, target, key, n)
					}
				}
			}
			if stored == 0 || float64(read) > 1.02*float64(stored) {
				t.Errorf("%v in spans of %d: %d bytes read of %d", columns, target, read, stored)
			}
		}
	}
}

func sizeOf(t *testing.T, name string) int64 {
	t.Helper()
	info, err := local.Files.Stat(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size
}

// TestMemoryIsBounded reads chunks that are larger than the memory there is, with few bytes for
// what a reader keeps.
func TestMemoryIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	arrays := map[string]*madeArray{
		"year": {dtype: "<f4", size: 4, shape: []int{256, 40, 50}, chunk: []int{256, 10, 50}, data: randomBytes(r, 256*40*50*4), gzip: true},
		"step": {dtype: "<f4", size: 4, shape: []int{256, 5}, chunk: []int{1, 5}, data: randomBytes(r, 256*5*4)},
	}
	dir := writeStore(t, 3, arrays)
	src, err := openStores(t, format.Options{"cf": "off"}, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	pool := shardify.NewPool(1 << 20) // the array has 2 MiB, a chunk a quarter of it
	reader, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	var year []byte
	for sp, err := range src.Spans(t.Context(), 100_000) {
		if err != nil {
			t.Fatal(err)
		}
		mem, err := pool.Grant(t.Context(), sp.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		b, err := reader.Read(t.Context(), sp, mem)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Columns {
			if b.Columns[i].Name == "year" {
				year = append(year, b.Columns[i].Data...)
			}
		}
		mem.Release()
	}
	reader.Close()
	if string(year) != string(arrays["year"].data) {
		t.Error("other values")
	}
	t.Logf("peak %d KiB", pool.Peak()>>10)
}

// TestNamesOfCellsAreReadOnce: where there is room for what several readers need of one large chunk, one
// of them decodes it, and the others have it, too. Without room, the values are the same.
func TestNamesOfCellsAreReadOnce(t *testing.T) {
	const n = 600_000
	var names, ends []byte
	for i := range n + 1 {
		if ends = binary.LittleEndian.AppendUint64(ends, uint64(i)); i < n {
			names = fmt.Appendf(names, "%06d", i)
		}
	}
	one := func(dtype string, size, n int, data []byte) *madeArray {
		return &madeArray{dtype: dtype, size: size, shape: []int{n}, chunk: []int{n}, data: data}
	}
	dir := writeStore(t, 2, map[string]*madeArray{
		"obs/_index": one("|S6", 6, n, names), "var/_index": one("|S1", 1, 1, []byte("g")),
		"X/data": one("|u1", 1, n, randomBytes(rand.New(rand.NewPCG(1, 2)), n)), "X/indices": one("<i4", 4, n, make([]byte, 4*n)), "X/indptr": one("<i8", 8, n+1, ends),
	})
	// Chunks that are not there are zeros.
	writeJSON(t, filepath.Join(dir, "obsm/z/.zarray"), map[string]any{"zarr_format": 2, "shape": []int{n, 128}, "chunks": []int{1000, 128}, "dtype": "<f4", "order": "C", "fill_value": 0, "filters": nil, "compressor": nil})
	frame := map[string]any{"encoding-type": "dataframe", "encoding-version": "0.2.0", "_index": "_index", "column-order": []string{}}
	for group, attrs := range map[string]map[string]any{"": {"encoding-type": "anndata", "encoding-version": "0.1.0"}, "obs": frame, "var": frame, "obsm": {},
		"X": {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": []int{n, 1}}} {
		writeJSON(t, filepath.Join(dir, group, ".zattrs"), attrs)
		writeJSON(t, filepath.Join(dir, group, ".zgroup"), map[string]any{"zarr_format": 2})
	}
	for _, memory := range []int64{1 << 20, 1 << 30} {
		fs := &counted{FS: local.Files, opens: map[string]int{}, bytes: map[string]int64{}}
		table := tableOf(t, dir)
		table.FS = fs
		src, err := Format.Open(t.Context(), format.OpenArgs{Table: table, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		clear(fs.opens)
		pool := shardify.NewPool(memory)
		readers := []shardify.Reader{}
		for range 3 {
			r, err := src.Reader(0)
			if err != nil {
				t.Fatal(err)
			}
			readers = append(readers, r)
		}
		var got []byte
		spans := readertest.Spans(t, src, 32<<20)
		for i, sp := range spans {
			mem, err := pool.Grant(t.Context(), sp.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			b, err := readers[i%len(readers)].Read(t.Context(), sp, mem)
			if err != nil {
				t.Fatal(err)
			}
			for k := range b.Columns {
				if b.Columns[k].Name == "obs/_index" {
					got = append(got, b.Columns[k].Data...)
				}
			}
			mem.Release()
		}
		for _, r := range readers {
			r.Close()
		}
		src.Close()
		if !bytes.Equal(got, names) {
			t.Error("other names")
		}
		// The ends of indptr are looked at when the input is opened.
		for chunk, once := range map[string]int{"obs/_index/0": 1, "X/indptr/0": 2} {
			if k := fs.opens[dir+"/"+chunk]; k != once == (memory > 1<<20) || len(spans) < 4 {
				t.Errorf("%d bytes of memory: %s is opened %d times for %d spans", memory, chunk, k, len(spans))
			}
		}
	}
}
