package mmap_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/mmap"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/writers/writertest"
)

// TestAViewIsReadAgainAfterDamage: what was wrong once is checked again.
func TestAViewIsReadAgainAfterDamage(t *testing.T) {
	s := writertest.Schema{Name: "x", Fields: []shardify.Field{{Name: "x", DType: shardify.F32}}}
	dir, m := dataSet(t, s, 40, 1)
	m.Windows = map[string]index.View{"w": {In: []int64{0}, Out: []int64{1}, Anchors: []index.Anchors{{Lo: 0, Hi: 39, Step: 1}}}}
	writertest.WriteManifest(t, dir, m)
	src, err := mmap.Open(t.Context(), format.OpenArgs{Table: table(dir), Options: format.Options{"view": "w"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	name := filepath.Join(dir, m.Shards[0].Name)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	bad[len(bad)-1] ^= 1
	for _, b := range [][]byte{bad, good} {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := src.Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		mem := shardify.NewPool(1 << 20).Overdraft()
		_, err = r.Read(t.Context(), shardify.Span{Lo: 0, Hi: m.Shards[0].Samples - 1}, mem)
		if damaged := &b[0] == &bad[0]; errors.Is(err, shardify.ErrCorrupt) != damaged || err != nil && !damaged {
			t.Errorf("damaged %v: %v", damaged, err)
		}
		mem.Release()
		r.Close()
	}
}

// TestViewsWithGapsReadTheirRowsAlone: rows between those of a window are not read, and no memory
// is taken for them.
func TestViewsWithGapsReadTheirRowsAlone(t *testing.T) {
	s := writertest.Schema{Name: "x", Fields: []shardify.Field{{Name: "x", DType: shardify.F32, Shape: []int{1024}}}}
	dir, m := dataSet(t, s, 700, 2)
	m.Windows = map[string]index.View{"w": {In: []int64{-1500, 0, -1}, Out: []int64{2}, Anchors: []index.Anchors{{Lo: 1500, Hi: 2000, Step: 1}, {Lo: 2000, Hi: 2098, Step: 3}}}}
	writertest.WriteManifest(t, dir, m)
	plain, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	all, err := readertest.Load(plain, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	src, err := mmap.Open(t.Context(), format.OpenArgs{Table: table(dir), Options: format.Options{"view": "w"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for k, lo := range []int64{0, 7, 490, 500} {
		r, err := src.Reader(0)
		if err != nil {
			t.Fatal(err)
		}
		pool := shardify.NewPool(1 << 30)
		mem, err := pool.Grant(t.Context(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := r.Read(t.Context(), shardify.Span{Lo: lo, Hi: lo + 15}, mem)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; k > 0 && n > 4<<20 {
			t.Errorf("%d bytes for 60 rows of 4 KiB", n)
		}
		for i := range 15 {
			anchor := 1500 + int(lo) + i
			if n := int(lo) + i; n >= 500 {
				anchor = 2000 + 3*(n-500)
			}
			for c, offsets := range [][]int{{-1500, 0, -1}, {2}} {
				for j, o := range offsets {
					at := (i*len(offsets) + j) * 4096
					if !bytes.Equal(b.Columns[c].Data[at:at+4096], all.ByName["x"].Data[(anchor+o)*4096:][:4096]) {
						t.Fatalf("window %d: row %d of %s has other values", int(lo)+i, o, b.Columns[c].Name)
					}
				}
			}
		}
		mem.Release()
		r.Close()
	}
}
