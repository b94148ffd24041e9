package zarr

import (
	"bytes"
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
	"github.com/shardify/shardify/tests/race"
)

// loaded reads all of some stores.
func loaded(t *testing.T, o format.Options, columns []string, target int64, stores ...string) *readertest.Columns {
	t.Helper()
	src, err := openStores(t, o, columns, stores...)
	if err != nil {
		t.Fatal(err)
	}
	a := format.OpenArgs{Table: tableOf(t, stores...), Columns: columns, Options: o}
	a.State, err = src.(format.Stater).State()
	src.Close()
	if err == nil { // as tasks open it
		src, err = Format.Open(context.Background(), a)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all, err := readertest.Load(src, target)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestChunksAsSamples: the samples are the rows of each chunk, and together those that samples of
// one row are.
func TestChunksAsSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		steps   []int // of each store
		sel     string
		lengths []int64 // rows of each sample
		numbers []int64
	}{
		{[]int{12}, "", []int64{4, 4, 4}, []int64{0, 1, 2}},
		{[]int{12, 8}, "", []int64{4, 4, 4, 4, 4}, []int64{0, 1, 2, 0, 1}},
		{[]int{13}, "", []int64{4, 4, 4, 1}, []int64{0, 1, 2, 3}},
		{[]int{8, 10}, "", []int64{4, 4, 4, 4, 2}, []int64{0, 1, 0, 1, 2}},
		{[]int{3}, "", []int64{3}, []int64{0}},
		{[]int{13}, "time=[6:12]", []int64{2, 4}, []int64{1, 2}},
		{[]int{13}, "time=[4:12]", []int64{4, 4}, []int64{1, 2}},
		{[]int{13}, "time=[5:7]", []int64{2}, []int64{1}},
	} {
		for _, version := range []int{2, 3} {
			var stores []string
			for _, n := range c.steps {
				stores = append(stores, writeStore(t, version, weather(r, n, version)))
			}
			of := func(sample string) format.Options {
				x := format.Options{"sample": sample}
				if c.sel != "" {
					x["sel"] = c.sel
				}
				return x
			}
			want := loaded(t, of("axis"), nil, 1<<40, stores...)
			even := !slices.ContainsFunc(c.lengths, func(n int64) bool { return n != c.lengths[0] })
			ends := []int64{0}
			for _, n := range c.lengths {
				ends = append(ends, ends[len(ends)-1]+n)
			}
			for _, target := range []int64{1, 3000, 1 << 40} {
				at := fmt.Sprintf("%v %s, format %d, spans of %d", c.steps, c.sel, version, target)
				got := loaded(t, of("chunk"), nil, target, stores...)
				if got.Samples != int64(len(c.lengths)) || !slices.Equal(got.Order, append(slices.Clone(want.Order), "chunk")) {
					t.Fatalf("%s: %d samples of %q", at, got.Samples, got.Order)
				}
				if x := shardify.View[int64](got.ByName["chunk"].Data); !slices.Equal(x, c.numbers) {
					t.Errorf("%s: chunks %v, want %v", at, x, c.numbers)
				}
				for _, name := range want.Order {
					w, g := want.ByName[name], got.ByName[name]
					if !bytes.Equal(w.Data, g.Data) || len(w.Data) == 0 {
						t.Errorf("%s: %s has other values", at, name)
					}
					switch {
					case w.Levels > 0:
						if g.Levels != 2 || !slices.Equal(g.Offsets[0], ends) || !slices.Equal(g.Offsets[1], w.Offsets[0]) {
							t.Errorf("%s: %s has lists %v", at, name, g.Offsets)
						}
					case even:
						if g.Levels != 0 || !slices.Equal(g.Shape, append([]int{int(c.lengths[0])}, w.Shape...)) {
							t.Errorf("%s: %s has the shape %v", at, name, g.Shape)
						}
					default:
						if g.Levels != 1 || !slices.Equal(g.Shape, w.Shape) || !slices.Equal(g.Offsets[0], ends) {
							t.Errorf("%s: %s has the shape %v, lists %v", at, name, g.Shape, g.Offsets)
						}
					}
				}
				if dims := got.ByName["t2m"].Dims(); even && !slices.Equal(dims, []string{"time", "latitude", "longitude"}) {
					t.Errorf("%s: dimensions %q", at, dims)
				}
			}
		}
	}
}

func TestConformanceOfChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	stores := []string{writeStore(t, 3, weather(r, 17, 3)), writeStore(t, 3, weather(r, 8, 3))}
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		a := format.OpenArgs{Table: tableOf(t, stores...), Columns: columns, State: state, Jobs: 2, Options: format.Options{"sample": "chunk"}}
		return Format.Open(context.Background(), a)
	})
}

// TestColumnsOfChunks: the number of the chunk is a field that may be left out.
func TestColumnsOfChunks(t *testing.T) {
	dir := writeStore(t, 3, weather(rand.New(rand.NewPCG(1, 2)), 8, 3))
	o := format.Options{"sample": "chunk"}
	for columns, want := range map[string]string{"t2m": "t2m", "chunk": "chunk", "t2m,chunk": "t2m chunk", "!chunk,!name": "deep/sharded mask number packed t2m time"} {
		if got := loaded(t, o, strings.Split(columns, ","), 1<<40, dir); strings.Join(got.Order, " ") != want {
			t.Errorf("--columns %s: %q", columns, got.Order)
		}
	}
	if _, err := openStores(t, o, []string{"t2m", "none"}, dir); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("--columns t2m,none: %v", err)
	}
	// Columns choose no other chunks, which are those of packed; --object does.
	if got := loaded(t, o, []string{"mask"}, 1<<40, dir); got.Samples != 2 || !slices.Equal(got.ByName["mask"].Shape, []int{4, 5}) {
		t.Errorf("%d samples of %v", got.Samples, got.ByName["mask"].Shape)
	}
	if got := loaded(t, format.Options{"sample": "chunk", "object": "mask"}, nil, 1<<40, dir); got.Samples != 8 || !slices.Equal(got.ByName["mask"].Shape, []int{1, 5}) {
		t.Errorf("%d samples of %v", got.Samples, got.ByName["mask"].Shape)
	}
}

func TestChunksThatAreNoSamples(t *testing.T) {
	made := weather(rand.New(rand.NewPCG(1, 2)), 8, 2)
	for sel, want := range map[string]string{"time=::2": "do not follow each other", "time=[5:6]": "ok"} {
		src, err := openStores(t, format.Options{"sample": "chunk", "sel": sel}, nil, writeStore(t, 2, made))
		if err == nil {
			src.Close()
		}
		if want == "ok" && err != nil || want != "ok" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("--sel %s: %v", sel, err)
		}
	}
	made["chunk"] = &madeArray{dtype: "<i4", size: 4, shape: []int{8}, chunk: []int{4}, dims: []string{"time"}, data: make([]byte, 32)}
	dir := writeStore(t, 2, made)
	if _, err := openStores(t, format.Options{"sample": "chunk"}, nil, dir); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "chunk") {
		t.Errorf("a field chunk: %v", err)
	}
}

// TestDamagedChunkIsItsSample: an error says which sample the chunk would have been.
func TestDamagedChunkIsItsSample(t *testing.T) {
	race.Sequential(t)
	dir := writeStore(t, 2, weather(rand.New(rand.NewPCG(1, 2)), 13, 2))
	if err := os.WriteFile(filepath.Join(dir, "packed", "2.0.0"), []byte("xx"), 0o666); err != nil {
		t.Fatal(err)
	}
	for sel, sample := range map[string]int64{"": 2, "time=[5:13]": 1} {
		o := format.Options{"sample": "chunk"}
		if sel != "" {
			o["sel"] = sel
		}
		src, err := openStores(t, o, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = readertest.Load(src, 1<<40)
		src.Close()
		var e *shardify.Error
		if !errors.Is(err, shardify.ErrCorrupt) || !errors.As(err, &e) || e.Sample != sample {
			t.Errorf("--sel %s: %v", sel, err)
		}
	}
}
