package readers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/readers/zarr"
	"github.com/shardify/shardify/tests/corpus"
)

// openCells opens files of AnnData, all of one container.
func openCells(o format.Options, columns []string, paths ...string) (shardify.Source, error) {
	table, f := &format.Table{}, hdf5.Format
	for i, p := range paths {
		name := ""
		if strings.Contains(filepath.Base(p), ".zarr") {
			f = zarr.Format
			for _, r := range []string{"zarr.json", ".zgroup"} {
				if _, err := os.Stat(filepath.Join(p, r)); err == nil {
					name = r
					break
				}
			}
		}
		table.Roots = append(table.Roots, p)
		table.Append(i, name, format.SizeUnknown, 0)
	}
	return f.Open(context.Background(), format.OpenArgs{Table: table, Options: o, Columns: columns, Jobs: 2})
}

// loadCells reads them, in spans of some bytes.
func loadCells(span int64, o format.Options, columns []string, paths ...string) (*readertest.Columns, shardify.Source, error) {
	src, err := openCells(o, columns, paths...)
	if err != nil {
		return nil, nil, err
	}
	all, err := readertest.Load(src, span)
	src.Close()
	return all, src, err
}

// arrayOf is an array of a JSON file of the corpus.
type arrayOf struct {
	DType   string
	Shape   []int
	SHA     string `json:"sha256"`
	Lengths string
	Names   []any
	Ordered bool
	Missing []int
}

type cellsOf struct {
	Samples int64
	Fields  map[string]arrayOf
	Offsets map[string]arrayOf
	Genes   arrayOf          `json:"var_names"`
	Raw     arrayOf          `json:"raw_var_names"`
	Width   map[string]int64 `json:"sparse_columns"`
	Square  []string         `json:"rows_of_cells"`
	Lines   []string         `json:"stored_by_columns"`
	Files   []string
	Input   string
	Error   string
	Parts   []any
}

func shaOf(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// textOf is the values of a column as the corpus hashes them.
func bytesOf(c *shardify.Column) []byte {
	if c.Media == "" {
		return c.Data
	}
	var all []string
	for i := range len(c.Offsets[0]) - 1 {
		all = append(all, string(c.Data[c.Offsets[0][i]:c.Offsets[0][i+1]]))
	}
	return []byte(strings.Join(all, "\n"))
}

// same compares what was read with a JSON file.
func (e *cellsOf) same(t *testing.T, name string, all *readertest.Columns) {
	t.Helper()
	if all.Samples != e.Samples {
		t.Errorf("%s: %d samples, want %d", name, all.Samples, e.Samples)
		return
	}
	for f, want := range e.Fields {
		c := all.ByName[f]
		if c == nil {
			t.Errorf("%s: no field %s among %v", name, f, all.Order)
			continue
		}
		types := map[string]string{"float32": "f32", "float64": "f64", "bool": "bool", "text": "u8"}
		dtype := types[want.DType]
		if dtype == "" {
			dtype = strings.NewReplacer("uint8", "u8", "uint16", "u16", "uint32", "u32", "uint64", "u64", "int8", "i8", "int16", "i16", "int32", "i32", "int64", "i64").Replace(want.DType)
		}
		if c.DType.String() != dtype {
			t.Errorf("%s: %s is %s, want %s", name, f, c.DType, dtype)
		}
		if got := shaOf(bytesOf(c)); got != want.SHA && want.Names == nil {
			t.Errorf("%s: other values in %s %v", name, f, c.Shape)
		} else if got != want.SHA && len(e.Files) == 0 {
			t.Errorf("%s: other codes in %s", name, f)
		}
		if want.Lengths != "" && shaOf(shardify.Bytes(c.Offsets[0])) != e.Offsets[want.Lengths].SHA {
			t.Errorf("%s: other offsets of %s", name, f)
		}
		var names []string
		for _, x := range want.Names {
			switch x := x.(type) {
			case bool:
				names = append(names, map[bool]string{true: "True", false: "False"}[x])
			case float64:
				names = append(names, strconv.FormatFloat(x, 'g', -1, 64))
			default:
				names = append(names, fmt.Sprint(x))
			}
		}
		if got := c.Labels(); len(names) > 0 && !slices.Equal(got, names) || c.Attrs["ordered"] == "true" != want.Ordered {
			t.Errorf("%s: names of %s are %q, want %q, ordered %v", name, f, got, names, want.Ordered)
		}
		var missing []int
		for i, v := range c.Valid {
			if v == 0 {
				missing = append(missing, i)
			}
		}
		if !slices.Equal(missing, want.Missing) && (len(missing) > 0 || len(want.Missing) > 0) {
			t.Errorf("%s: missing in %s: %v, want %v", name, f, missing, want.Missing)
		}
	}
	for f, n := range e.Width {
		if c := all.ByName[f+"/indices"]; c != nil && c.Attrs["sparse_columns"] != strconv.FormatInt(n, 10) {
			t.Errorf("%s: %s has %s columns, want %d", name, f, c.Attrs["sparse_columns"], n)
		}
	}
	genes := func(field string, want arrayOf) {
		c := all.ByName[field+"/indices"]
		if c == nil {
			c = all.ByName[field]
		}
		if c != nil && want.SHA != "" && shaOf([]byte(c.Attrs["columns"])) != want.SHA {
			t.Errorf("%s: names of the columns of %s: %.60q", name, field, c.Attrs["columns"])
		}
	}
	genes("X", e.Genes)
	genes("raw/X", e.Raw)
	for _, f := range all.Order {
		for _, p := range append([]string{"var/", "varm/", "varp/", "uns/", "obsp/"}, e.Square...) {
			if strings.HasPrefix(f, p) {
				t.Errorf("%s: %s is a field of cells", name, f)
			}
		}
	}
}

// TestCorpusOfCells reads all files of AnnData with expected values, and refuses those that are to be
// refused.
func TestCorpusOfCells(t *testing.T) {
	root := corpus.Dir(t, "anndata")
	n := 0
	for _, folder := range []string{".", "archives", "bad", "multi"} {
		list, _ := filepath.Glob(filepath.Join(root, folder, "*.json"))
		for _, p := range list {
			base := filepath.Base(strings.TrimSuffix(p, ".json"))
			b, err := os.ReadFile(p)
			var e cellsOf
			if err == nil {
				err = json.Unmarshal(b, &e)
			}
			if err != nil {
				t.Fatal(p, err)
			}
			n++
			t.Run(filepath.Join(folder, base), func(t *testing.T) { e.check(t, root, folder, base) })
		}
	}
	t.Logf("%d files", n)
}

func (e *cellsOf) check(t *testing.T, root, folder, base string) {
	paths, o := []string{filepath.Join(root, folder, base)}, format.Options{}
	if e.Files != nil {
		paths = nil
		for _, f := range e.Files {
			paths = append(paths, filepath.Join(root, folder, f))
		}
		o["genes"] = map[string]string{"join_inner": "intersection", "join_outer": "union"}[base]
		if o["missing"] = "intersect"; base == "join_outer" {
			o["missing"] = "fill"
		}
	}
	if in, part, ok := strings.Cut(e.Input, ":"); ok {
		paths[0], o["object"] = filepath.Join(root, folder, in), part
	}
	if len(e.Parts) > 0 {
		return
	}
	columns := []string{"!obs/ct", "!obs/n"} // the files of several have other categories
	if len(e.Files) == 0 || base == "order" {
		columns = nil
	}
	if columns != nil {
		delete(e.Fields, "obs/ct")
		delete(e.Fields, "obs/n")
		delete(e.Fields, "obs/only01")
	}
	all, src, err := loadCells(1<<30, o, columns, paths...)
	if len(e.Lines) > 0 {
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "adata.X.tocsr()") {
			t.Errorf("stored by columns: %v", err)
		}
		o["csc"] = "transpose"
		if all, src, err = loadCells(1<<30, o, columns, paths...); err == nil {
			if n := src.(format.Collector).CollectBytes(); n == 0 {
				t.Error("the plan says nothing of scratch files")
			}
		}
	}
	if e.Error != "" && base == "column_unlisted.h5ad" {
		if err != nil || all.ByName["obs/extra"] != nil || !slices.ContainsFunc(src.(format.Reporter).Leftovers(), func(l format.Leftover) bool { return l.Name == "obs/extra" }) {
			t.Errorf("a column that is not listed: %v", err)
		}
		return
	}
	if e.Error != "" {
		if err == nil {
			t.Fatalf("read, want the error: %s", e.Error)
		}
		t.Logf("%v (%s)", err, e.Error)
		if base == "order" {
			o["genes"] = "first"
			if all, _, err = loadCells(1<<30, o, columns, paths...); err != nil {
				t.Fatal(err)
			}
			e.same(t, base, all)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	e.same(t, base, all)
	small, _, err := loadCells(300, o, columns, paths...)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range all.ByName {
		if d := small.ByName[name]; !slices.Equal(c.Data, d.Data) {
			t.Errorf("%s: other values in small spans", name)
		}
	}
}

// TestCellsAreTheSameInAllContainers: a set made of HDF5, Zarr 2 and Zarr 3 has the same fields and values.
func TestCellsAreTheSameInAllContainers(t *testing.T) {
	var first *readertest.Columns
	for _, name := range []string{"a.h5ad", "a_v2.zarr.zip", "a_v3.zarr.zip"} {
		all, src, err := loadCells(200, nil, nil, "testdata/cells/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = all
			if got, want := strings.Join(all.Order, " "), "X/data X/indices layers/dense obsm/pca obs/_index obs/kind obs/n obs/maybe"; got != want {
				t.Errorf("fields %s, want %s", got, want)
			}
			if c := all.ByName["obs/kind"]; c.Attrs["labels"] != "B\nT" || fmt.Sprint(shardify.View[int8](c.Data)) != "[-1 0 1 -1 0 1 -1 0]" {
				t.Errorf("categories %q %v", c.Attrs["labels"], c.Data)
			}
			if c := all.ByName["obs/maybe"]; fmt.Sprint(shardify.View[int32](c.Data)) != "[0 0 2 3 4 0 6 7]" || !c.Nullable {
				t.Errorf("nullable %v", shardify.View[int32](c.Data))
			}
			if c := all.ByName["X/indices"]; c.Attrs["columns"] != "ENSG01.1\nENSG02.1\nENSG03.4\nENSG04.2\nENSG05.1\nENSG06.1" || c.Attrs["sparse_columns"] != "6" {
				t.Errorf("attributes %q", c.Attrs)
			}
			left := fmt.Sprint(src.(format.Reporter).Leftovers())
			for _, name := range []string{"obsp/near", "uns/scale", "var/k"} {
				if !strings.Contains(left, name) {
					t.Errorf("%s is not among the leftovers: %s", name, left)
				}
			}
			continue
		}
		if !slices.Equal(all.Order, first.Order) || all.Samples != first.Samples {
			t.Fatalf("%s: fields %v of %d samples", name, all.Order, all.Samples)
		}
		for _, f := range all.Order {
			a, b := all.ByName[f], first.ByName[f]
			if !slices.Equal(a.Data, b.Data) || fmt.Sprint(a.Field, a.Offsets) != fmt.Sprint(b.Field, b.Offsets) {
				t.Errorf("%s: %s is another field: %v", name, f, a.Field)
			}
		}
	}
}

// rowsAsText are the rows of X, by the names of their genes.
func rowsAsText(all *readertest.Columns) []map[string]float32 {
	d, x := all.ByName["X/data"], all.ByName["X/indices"]
	names := strings.Split(x.Attrs["columns"], shardify.LabelSeparator)
	var out []map[string]float32
	for i := range all.Samples {
		row := map[string]float32{}
		last := int32(-1)
		for k := d.Offsets[0][i]; k < d.Offsets[0][i+1]; k++ {
			at := shardify.View[int32](x.Data)[k]
			if row[names[at]] += shardify.View[float32](d.Data)[k]; at < last {
				row["falls"] = 1
			}
			last = at
		}
		out = append(out, row)
	}
	return out
}

// TestGenesAreMatchedByName: files with other genes are refused without --genes; with it each value stays
// that of its gene, and genes that a file lacks are zero.
func TestGenesAreMatchedByName(t *testing.T) {
	a, b := "testdata/cells/a.h5ad", "testdata/cells/b.h5ad"
	if _, _, err := loadCells(200, nil, nil, a, b); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), `5 genes, but 6 in testdata/cells/a.h5ad, which has no "ENSG09.1"; --genes`) {
		t.Errorf("other genes: %v", err)
	}
	list := filepath.Join(t.TempDir(), "genes.txt")
	if err := os.WriteFile(list, []byte("ENSG09\nENSG03\nnone\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var whole [][]map[string]float32
	for _, p := range []string{a, b} {
		all, _, err := loadCells(200, nil, nil, p)
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, rowsAsText(all))
	}
	for _, c := range []struct{ genes, versions, want string }{
		{"intersection", "keep", "ENSG03.4 ENSG04.2 ENSG05.1 ENSG06.1"},
		{"first", "keep", "ENSG01.1 ENSG02.1 ENSG03.4 ENSG04.2 ENSG05.1 ENSG06.1"},
		{"union", "keep", "ENSG01.1 ENSG02.1 ENSG03.4 ENSG04.2 ENSG05.1 ENSG06.1 ENSG09.1"},
		{list, "drop", "ENSG09 ENSG03 none"},
	} {
		all, _, err := loadCells(200, format.Options{"genes": c.genes, "gene-versions": c.versions}, nil, a, b)
		if err != nil {
			t.Errorf("--genes %s: %v", c.genes, err)
			continue
		}
		names := strings.Fields(c.want)
		if got := all.ByName["X/indices"].Attrs; got["columns"] != strings.Join(names, "\n") || got["sparse_columns"] != strconv.Itoa(len(names)) {
			t.Errorf("--genes %s: %q", c.genes, got)
		}
		for i, row := range rowsAsText(all) {
			from := append(slices.Clone(whole[0]), whole[1]...)[i]
			want := map[string]float32{}
			for name, v := range from {
				if c.versions == "drop" {
					name = strings.Split(name, ".")[0]
				}
				if slices.Contains(names, name) {
					want[name] = v
				}
			}
			if fmt.Sprint(row) != fmt.Sprint(want) {
				t.Errorf("--genes %s: row %d is %v, want %v", c.genes, i, row, want)
			}
			dense := shardify.View[float32](all.ByName["layers/dense"].Data)[i*len(names):][:len(names)]
			for k, name := range names {
				if dense[k] != 2*want[name] {
					t.Errorf("--genes %s: dense row %d has %v of %s, want %v", c.genes, i, dense[k], name, 2*want[name])
				}
			}
		}
	}
	if _, err := openCells(format.Options{"genes": "nothing.txt"}, nil, a); err == nil || !strings.Contains(err.Error(), "intersection, union, first or a file") {
		t.Errorf("no list: %v", err)
	}
}

// TestCellsAreASource checks spans, arenas, damage and state.
func TestCellsAreASource(t *testing.T) {
	for _, c := range []struct {
		o     format.Options
		paths []string
	}{{nil, []string{"a.h5ad"}}, {nil, []string{"a_v3.zarr.zip"}}, {format.Options{"genes": "union"}, []string{"a.h5ad", "b.h5ad"}}} {
		t.Run(strings.Join(c.paths, " "), func(t *testing.T) {
			src, err := openCells(c.o, nil, join("testdata/cells/", c.paths)...)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			state, err := src.(format.Stater).State()
			if err != nil {
				t.Fatal(err)
			}
			whole, err := readertest.Load(src, 300)
			if err != nil {
				t.Fatal(err)
			}
			table, f := &format.Table{}, hdf5.Format
			for i, p := range join("testdata/cells/", c.paths) {
				table.Roots = append(table.Roots, p)
				table.Append(i, "", format.SizeUnknown, 0)
				if strings.Contains(p, "zarr") {
					f = zarr.Format
				}
			}
			again, err := f.Open(context.Background(), format.OpenArgs{Table: table, Options: c.o, State: state})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			same, err := readertest.Load(again, 300)
			if err != nil {
				t.Fatal(err)
			}
			for name, x := range whole.ByName {
				if y := same.ByName[name]; y == nil || !slices.Equal(x.Data, y.Data) {
					t.Errorf("from the state: other values of %s", name)
				}
			}
			for i := 0; i < len(state); i += 37 { // no panic
				bad := slices.Clone(state)
				bad[i] ^= 0x41
				if s, err := f.Open(context.Background(), format.OpenArgs{Table: table, Options: c.o, State: bad}); err == nil {
					readertest.Load(s, 300)
					s.Close()
				}
			}
		})
	}
}

func join(dir string, names []string) (out []string) {
	for _, name := range names {
		out = append(out, dir+name)
	}
	return out
}

// labelsByRow are the names of a column's categories; "" is a missing one.
func labelsByRow(c *shardify.Column) (out []string) {
	names := c.Labels()
	for i := range len(c.Data) / c.DType.Size() {
		name := ""
		if c.Valid == nil || c.Valid[i] != 0 {
			name = names[c.Data[i*c.DType.Size()]]
		}
		out = append(out, name)
	}
	return out
}

// TestCategoriesOfSeveralFilesAreOne: with categories=union each cell keeps the name of its category; without it
// other categories are an error that names the option.
func TestCategoriesOfSeveralFilesAreOne(t *testing.T) {
	root := filepath.Join(corpus.Dir(t, "anndata"), "multi")
	paths := join(root+"/", []string{"p0.h5ad", "p1.h5ad", "p2.h5ad"})
	columns := []string{"obs/ct"}
	var want, order []string
	for _, p := range paths {
		all, _, err := loadCells(1<<20, nil, columns, p)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, labelsByRow(all.ByName["obs/ct"])...)
		for _, name := range all.ByName["obs/ct"].Labels() {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
	}
	o := format.Options{"genes": "union", "categories": "union"}
	all, src, err := loadCells(100, o, columns, paths...)
	if err != nil {
		t.Fatal(err)
	}
	c := all.ByName["obs/ct"]
	if got := labelsByRow(c); !slices.Equal(got, want) || !slices.Equal(c.Labels(), order) || len(order) < 3 {
		t.Errorf("%q of %q, want %q of %q", got, c.Labels(), want, order)
	}
	state, err := src.(format.Stater).State()
	if err != nil || !strings.Contains(string(state), `"categories":{"obs/ct":[`) {
		t.Errorf("the plan has no table: %v", err)
	}
	o["categories"] = "same"
	if _, _, err := loadCells(100, o, columns, paths...); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "--categories union") {
		t.Errorf("without it: %v", err)
	}
}
