package anndata_test

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
)

// others are files of the same cells in the layouts of others.
var others = []string{"tenx.h5", "small.loom", "tenx_gzip.h5"}

func TestOthersConform(t *testing.T) {
	for _, name := range others {
		readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
			p := filepath.Join("testdata", name)
			return open(name, format.OpenArgs{Columns: columns, State: state, Jobs: 2, Table: readertest.TableOf(p, p)})
		})
	}
}

// TestOthersHaveTheSameCells: barcodes of 10x Genomics and columns of Loom are cells with the same values.
func TestOthersHaveTheSameCells(t *testing.T) {
	load := func(name string, o format.Options) (*readertest.Columns, shardify.Source) {
		src, err := open(name, format.OpenArgs{Options: o})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		all, err := readertest.Load(src, 50)
		if err != nil {
			t.Fatal(err)
		}
		return all, src
	}
	ten, src := load("tenx.h5", nil)
	if got := strings.Join(ten.Order, " "); got != "matrix/barcodes matrix/data matrix/indices" || ten.Samples != 6 {
		t.Fatalf("%d samples of %s", ten.Samples, got)
	}
	if x := ten.ByName["matrix/indices"].Attrs; x["sparse_columns"] != "5" || x["columns"] != "ENSG0\nENSG1\nENSG2\nENSG3\nENSG4" {
		t.Errorf("attributes %q", x)
	}
	left := fmt.Sprint(src.(format.Reporter).Leftovers())
	for _, name := range []string{"matrix/features/name", "matrix/features/feature_type"} {
		if !strings.Contains(left, name) {
			t.Errorf("%s is not left out by name: %s", name, left)
		}
	}
	all, _ := load("small.loom", nil)
	if got := strings.Join(all.Order, " "); got != "matrix layers/spliced col_attrs/CellID col_attrs/xy" || all.Samples != 6 {
		t.Fatalf("%d samples of %s", all.Samples, got)
	}
	if x := all.ByName["matrix"]; x.Attrs["columns"] != "gene0\ngene1\ngene2\ngene3\ngene4" || fmt.Sprint(x.Shape) != "[5]" {
		t.Errorf("%v %q", x.Shape, x.Attrs)
	}
	want := make([]float32, 30)
	data, indices := ten.ByName["matrix/data"], ten.ByName["matrix/indices"]
	for i := range 6 {
		for k := data.Offsets[0][i]; k < data.Offsets[0][i+1]; k++ {
			want[5*i+int(shardify.View[int64](indices.Data)[k])] = float32(shardify.View[int32](data.Data)[k])
		}
	}
	if got := shardify.View[float32](all.ByName["matrix"].Data); !slices.Equal(got, want) || slices.Max(want) == 0 {
		t.Errorf("the matrix of Loom is %v, want %v", got, want)
	}
	for i, v := range shardify.View[int32](all.ByName["layers/spliced"].Data) {
		if v != int32(2*want[i]) {
			t.Errorf("layer: value %d is %d, want %v", i, v, 2*want[i])
		}
	}
	list := readertest.Put(t, "genes.txt", "gene3\ngene0\n")
	few, _ := load("small.loom", format.Options{"genes": list})
	for i := range 6 {
		if got := shardify.View[float32](few.ByName["matrix"].Data)[2*i:][:2]; got[0] != want[5*i+3] || got[1] != want[5*i] {
			t.Errorf("genes by name: %v in row %d", got, i)
		}
	}
}

// TestDamageOfOthersIsNamed: each contradiction is an error that names the object and the numbers.
func TestDamageOfOthersIsNamed(t *testing.T) {
	good, err := os.ReadFile("testdata/tenx.h5")
	if err != nil {
		t.Fatal(err)
	}
	find := func(list ...int64) int {
		i := bytes.Index(good, shardify.Bytes(list))
		if i < 0 {
			t.Fatalf("%v is not in the file", list)
		}
		return i
	}
	ends, indices := find(0, 1, 3, 7, 10, 13, 17), find(0, 2, 4, 1, 2)
	shape := bytes.Index(good, shardify.Bytes([]int32{5, 6}))
	for _, c := range []struct {
		what string
		at   int
		to   []byte
		want string
	}{
		{"indptr falls", ends + 24, []byte{2}, "indptr falls at row 2, from 3 to 2"},
		{"indptr begins late", ends, []byte{1}, "indptr begins at 1, not 0"},
		{"indptr ends early", ends + 48, []byte{16}, "indptr ends at 16, there are 17 values"},
		{"an index beyond the genes", indices + 8, []byte{5}, "column number 5 of 5 columns in row 1"},
		{"a negative index", indices + 8, bytes.Repeat([]byte{0xff}, 8), "column number -1 of 5 columns in row 1"},
		{"shape of other barcodes", shape + 4, []byte{7}, "7 rows need 8 numbers in indptr, it has 7"},
		{"shape of other genes", shape, []byte{9}, "9 columns in matrix, 5 genes in matrix/features/id"},
		{"a negative shape", shape, bytes.Repeat([]byte{0xff}, 4), "without a shape of two numbers"},
	} {
		b := bytes.Clone(good)
		copy(b[c.at:], c.to)
		p := readertest.Put(t, "bad.h5", string(b))
		src, err := open(p, format.OpenArgs{Table: readertest.TableOf(p)})
		if err == nil {
			_, err = readertest.Load(src, 1<<20)
			src.Close()
		}
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "bad.h5") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// TestGenesWithoutNamesAreNamed: a file of 10x Genomics whose genes have no names is not read in silence.
func TestGenesWithoutNamesAreNamed(t *testing.T) {
	good, err := os.ReadFile("testdata/tenx.h5")
	if err != nil {
		t.Fatal(err)
	}
	id := []byte("\x00id\x00\x00")
	if bytes.Count(good, id) != 1 {
		t.Fatalf("the name id is %d times in the file", bytes.Count(good, id))
	}
	p := readertest.Put(t, "bad.h5", string(bytes.Replace(good, id, []byte("\x00iq\x00\x00"), 1)))
	src, err := open(p, format.OpenArgs{Table: readertest.TableOf(p)})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	left := src.(format.Reporter).Leftovers()
	if i := slices.IndexFunc(left, func(l format.Leftover) bool { return l.Name == "matrix/features/id" }); i < 0 || !left[i].Unreadable {
		t.Errorf("left out: %v", left)
	}
}

// TestChunksThatAreNotCountedAreMissed: a tree of chunks whose root has none any more is damage, not a matrix of zeros.
func TestChunksThatAreNotCountedAreMissed(t *testing.T) {
	for _, name := range []string{"small.loom", "tenx_gzip.h5"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for at, trees := 0, 0; ; trees++ {
			i := bytes.Index(b[at:], []byte("TREE\x01\x00"))
			if i < 0 {
				if trees == 0 {
					t.Errorf("%s has no tree of chunks", name)
				}
				break
			}
			at += i + 6
			bad := bytes.Clone(b)
			copy(bad[at:], []byte{0, 0})
			p := readertest.Put(t, name, string(bad))
			src, err := open(p, format.OpenArgs{Table: readertest.TableOf(p)})
			if err == nil {
				_, err = readertest.Load(src, 1<<20)
				src.Close()
			}
			if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "no entries, and a chunk where the first would be") {
				t.Errorf("%s, tree at %d: %v", name, at-6, err)
			}
		}
	}
}

// TestMutatedOthers reads files of others with damage anywhere.
func TestMutatedOthers(t *testing.T) {
	var seeds [][]byte
	for _, name := range others {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	m := readertest.Mutants{Format: "cells", Quick: 400, Seeds: len(seeds), Kind: kind, Make: func(rng *rand.Rand) readertest.Mutant {
		which := rng.IntN(len(seeds))
		b := bytes.Clone(seeds[which])
		for range 1 + rng.IntN(3) {
			if at := rng.IntN(len(b) - 8); rng.IntN(2) == 0 {
				b[at] ^= 1 << rng.IntN(8)
			} else {
				copy(b[at:], shardify.Bytes([]uint64{readertest.Interesting[rng.IntN(len(readertest.Interesting))]})[:1<<rng.IntN(4)])
			}
		}
		return readertest.Mutant{Seed: others[which], Data: b, Read: func(name string) (readertest.Walked, error) {
			return readertest.Walk(func(context.Context) (shardify.Source, error) {
				return open(name, format.OpenArgs{Table: readertest.TableOf(name), Jobs: 1})
			}, 1<<10, nil)
		}}
	}}
	m.Run(t)
}
