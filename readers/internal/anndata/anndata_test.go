package anndata_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/readers/zarr"
	"github.com/shardify/shardify/tests/race"
)

// containers are files of one AnnData.
var containers = []string{"all.h5ad", "all_v2.zarr.zip", "all_v3.zarr.zip"}

func open(name string, a format.OpenArgs) (shardify.Source, error) {
	f := hdf5.Format
	if filepath.Ext(name) == ".zip" {
		f = zarr.Format
	}
	if a.Table == nil {
		a.Table = readertest.TableOf(filepath.Join("testdata", name))
	}
	return f.Open(context.Background(), a)
}

func TestConformance(t *testing.T) {
	for _, name := range append(containers, "two", "by name") {
		t.Run(name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				a := format.OpenArgs{Columns: columns, State: state, Jobs: 2}
				switch all := filepath.Join("testdata", "all.h5ad"); name {
				case "two":
					a.Table = readertest.TableOf(all, all)
				case "by name":
					a.Table = readertest.TableOf(all, filepath.Join("testdata", "twice.h5ad"))
					a.Options = format.Options{"genes": "union", "gene-duplicates": "add", "missing": "intersect"}
					if columns == nil {
						columns = []string{"X/*", "obs/_index"}
					}
					a.Columns = columns
				}
				return open(name, a)
			})
		})
	}
}

// TestContainersGiveTheSame: an AnnData has the same fields and values in HDF5 and in Zarr 2 and 3.
func TestContainersGiveTheSame(t *testing.T) {
	var schema []shardify.Field
	var want *readertest.Content
	for _, name := range containers {
		src, err := open(name, format.OpenArgs{})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if want == nil {
			schema, want = src.Schema(), readertest.ReadAll(t, src, 1<<40)
			if len(schema) != 9 {
				t.Errorf("%s: %d fields", name, len(schema))
			}
			continue
		}
		if !reflect.DeepEqual(src.Schema(), schema) {
			t.Errorf("%s: %+v, want %+v", name, src.Schema(), schema)
		}
		if err := want.Equal(readertest.ReadAll(t, src, 100)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamesWithAMask: names of cells and genes may be of a type that has missing values; a gene has a name.
func TestNamesWithAMask(t *testing.T) {
	src, err := open("names.h5ad", format.OpenArgs{Options: format.Options{"genes": "first"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	i := shardify.FieldIndex(src.Schema(), "obs/_index")
	if i < 0 || src.Schema()[i].Media != "txt" {
		t.Fatalf("fields %+v", src.Schema())
	}
	all, err := readertest.Load(src, 40)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(all.ByName["obs/_index"].Data); got != "c0c1c2c3c4c5c6c7c8c9c10" {
		t.Errorf("names %q", got)
	}
	if _, err := open("nameless.h5ad", format.OpenArgs{}); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "gene 2 has no name") {
		t.Errorf("a gene without a name: %v", err)
	}
}

// TestOddColumns: anndata stores a column a/b in a group a; names of categories that are left out are named.
func TestOddColumns(t *testing.T) {
	src, err := open("odd.h5ad", format.OpenArgs{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	all, err := readertest.Load(src, 40)
	if err != nil {
		t.Fatal(err)
	}
	c := all.ByName["obs/a/b"]
	if c == nil || !slices.Equal(shardify.View[int32](c.Data), []int32{0, 1, 2}) {
		t.Errorf("obs/a/b is %+v", c)
	}
	var left []string
	for _, l := range src.(format.Reporter).Leftovers() {
		left = append(left, l.Name)
	}
	if !slices.Equal(left, []string{"obs/kind/categories"}) {
		t.Errorf("left out: %v", left)
	}
}

// TestDuplicatesCountForTheOne: with gene-duplicates=add, both values of a gene that an input has twice
// are values of its one column; a dense matrix, which has room for one, is refused where it is read.
func TestDuplicatesCountForTheOne(t *testing.T) {
	read := func(o format.Options, columns ...string) (*readertest.Columns, error) {
		src, err := open("twice.h5ad", format.OpenArgs{Options: o, Columns: columns})
		if err != nil {
			return nil, err
		}
		defer src.Close()
		return readertest.Load(src, 300)
	}
	plain, err := read(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := format.Options{"genes": "first", "gene-duplicates": "add"}
	added, err := read(o, "X/*")
	if err != nil {
		t.Fatal(err)
	}
	to := []int32{0, 1, 0, 2, 3, 1, 0} // of g3, g1, g3, h, g0, g1, g3
	sums := func(l *readertest.Columns, to []int32) (out [11][4]float32) {
		data, indices := l.ByName["X/data"], l.ByName["X/indices"]
		ends, values, columns := data.Offsets[0], shardify.View[float32](data.Data), shardify.View[int32](indices.Data)
		for i := range out {
			for k := ends[i]; k < ends[i+1]; k++ {
				at := columns[k]
				if to != nil {
					at = to[at]
				} else if k > ends[i] && columns[k-1] > at {
					t.Errorf("row %d: column %d behind %d", i, at, columns[k-1])
				}
				out[i][at] += values[k]
			}
		}
		return out
	}
	if want, have := sums(plain, to), sums(added, nil); want != have || want == [11][4]float32{} {
		t.Errorf("%v, want %v", have, want)
	}
	if names := added.ByName["X/indices"].Attrs["columns"]; names != strings.Join([]string{"g3", "g1", "h", "g0"}, shardify.LabelSeparator) {
		t.Errorf("columns are %q", names)
	}
	if _, err := read(format.Options{"genes": "first"}); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), `gene "g3" twice`) {
		t.Errorf("without add: %v", err)
	}
	if _, err := read(o, "layers/dense"); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("dense: %v", err)
	}
	if _, err := read(o, "X/*"); err != nil {
		t.Error(err)
	}
}

// kind reports whether an error is about the data.
func kind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

// FuzzFiles reads any bytes as a file or an archive.
func FuzzFiles(f *testing.F) {
	race.Sequential(f)
	for _, name := range slices.Concat(containers, others, []string{"twice.h5ad"}) {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(t.TempDir(), "f.h5ad")
		if bytes.HasPrefix(b, []byte("PK")) {
			name = filepath.Join(t.TempDir(), "f.zarr.zip")
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, o := range []format.Options{nil, {"genes": "first", "gene-duplicates": "add"}} {
			_, err := readertest.Walk(func(context.Context) (shardify.Source, error) {
				return open(name, format.OpenArgs{Table: readertest.TableOf(name), Options: o, Jobs: 1})
			}, 1<<10, nil)
			if err != nil && !kind(err) {
				t.Errorf("error of no kind: %v", err)
			}
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	readertest.FuzzState(f, 2*len(containers), func(which int, state []byte) (shardify.Source, error) {
		o := format.Options{}
		if which >= len(containers) {
			o["genes"] = "first"
		}
		return open(containers[which%len(containers)], format.OpenArgs{State: state, Options: o})
	})
}
