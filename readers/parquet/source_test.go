package parquet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/local"
)

// TestBadFilesAreRefused: each with a word that says what is wrong.
func TestBadFilesAreRefused(t *testing.T) {
	good, err := os.ReadFile(testdata("flat.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(at int, b ...byte) []byte {
		c := slices.Clone(good)
		copy(c[(at+len(c))%len(c):], b)
		return c
	}
	encrypted, err := os.ReadFile(testdata("encrypted-footer.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
		kind error
	}{
		{"empty", nil, "0 bytes", shardify.ErrCorrupt},
		{"magic alone", []byte("PAR1PAR1"), "not a Parquet file", shardify.ErrCorrupt},
		{"another format", []byte("{\"a\": 1}, {\"a\": 2}"), "begins with", shardify.ErrCorrupt},
		{"end cut off", good[:len(good)-100], "cut off", shardify.ErrCorrupt},
		{"footer longer than the file", edit(-8, 0xff, 0xff, 0xff, 0x7f), "footer of 2147483647 bytes", shardify.ErrCorrupt},
		{"footer of nothing", edit(-8, 0, 0, 0, 0), "footer", shardify.ErrCorrupt},
		{"footer half", edit(-8, 16, 1, 0, 0), "metadata", shardify.ErrCorrupt},
		{"encrypted", encrypted, "encrypted", shardify.ErrUnsupported},
	} {
		name := filepath.Join(t.TempDir(), "f.parquet")
		if err := os.WriteFile(name, c.data, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := openFiles(nil, nil, name)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestFieldsAskedForMustBeReadable: a field that is left out is an error if it was named.
func TestFieldsAskedForMustBeReadable(t *testing.T) {
	for _, c := range []struct{ file, column, want string }{
		{"nested.parquet", "deep", "3 levels"},
		{"flat.parquet", "null", "nothing but missing values"},
		{"encrypted-column.parquet", "int32", "encrypted"},
		{"flat.parquet", "nowhere", `no field "nowhere"`},
	} {
		if _, err := openFiles(nil, []string{c.column}, testdata(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.column, c.file, err, c.want)
		}
	}
	src, err := openFiles(nil, nil, testdata("encrypted-column.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if f := src.Schema(); len(f) != 1 || f[0].Name != "text" {
		t.Errorf("beside an encrypted column there is %+v", f)
	}
}

// TestMissingItemsOfListsAreRefused, with the sample and the way out.
func TestMissingItemsOfListsAreRefused(t *testing.T) {
	for _, column := range []string{"f", "i", "t"} {
		src, err := openFiles(nil, []string{column}, testdata("holes.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		err = read(t, src, 1<<20, func(*shardify.Batch) {})
		var e *shardify.Error
		if !errors.As(err, &e) || e.Field != column || e.Sample != 0 || !strings.Contains(err.Error(), "--null-items fill") {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// TestOneCounterSharesItsOffsets: the lists of a struct's members are one list.
func TestOneCounterSharesItsOffsets(t *testing.T) {
	src, err := openFiles(nil, []string{"jets.*", "map.*"}, testdata("nested.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	err = read(t, src, 1<<20, func(b *shardify.Batch) {
		first := map[string]*int64{}
		for i := range b.Columns {
			c := &b.Columns[i]
			if want := strings.Split(c.Name, ".")[0]; c.Counter != want {
				t.Errorf("%s has counter %q", c.Name, c.Counter)
			}
			if f := first[c.Counter]; f != nil && f != &c.Offsets[0][0] {
				t.Errorf("%s has offsets of its own", c.Name)
			}
			first[c.Counter] = &c.Offsets[0][0]
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingIsNullableThatStatisticsSayIsWhole: pyarrow makes every column optional.
func TestNothingIsNullableThatStatisticsSayIsWhole(t *testing.T) {
	src, err := openFiles(nil, nil, testdata("flat.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, f := range src.Schema() {
		if want := strings.HasSuffix(f.Name, "_null") || f.Name == "none"; f.Nullable != want {
			t.Errorf("%s is nullable: %v", f.Name, f.Nullable)
		}
	}
}

// TestBytesThatAreImagesSaySo, if all of them in all files are.
func TestBytesThatAreImagesSaySo(t *testing.T) {
	src, err := openFiles(nil, nil, testdata("images.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	want := map[string]string{"image.bytes": "jpg", "image.path": "txt", "label": "", "mixed": "bin", "png": "png"}
	for _, f := range src.Schema() {
		if m, ok := want[f.Name]; !ok || f.Media != m {
			t.Errorf("%s is %q, want %q", f.Name, f.Media, m)
		}
		if f.Name == "label" && strings.Join(f.Labels(), " ") != "cat dog" {
			t.Errorf("labels %q", f.Labels())
		}
	}
	// A file in which they are something else takes it back.
	other := filepath.Join(t.TempDir(), "other.parquet")
	b, err := os.ReadFile(testdata("images.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte(strings.ReplaceAll(string(b), "\xff\xd8\xff", "\xff\xd8\xfe")), 0o666); err != nil {
		t.Fatal(err)
	}
	two, err := openFiles(nil, nil, testdata("images.parquet"), other)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	for _, f := range two.Schema() {
		if f.Name == "image.bytes" && f.Media != "bin" {
			t.Errorf("with a file that has none: %s", f.Media)
		}
	}
}

// TestMediaOfLargePages: the first values of a page that is too large to be decoded in a
// plan decide, by every compression, and as the whole page would.
func TestMediaOfLargePages(t *testing.T) {
	defer func(n int64) { sniffWhole = n }(sniffWhole)
	files, _ := filepath.Glob(testdata("*.parquet"))
	if len(files) < 5 {
		t.Fatalf("%d files", len(files))
	}
	found := 0
	for _, name := range files {
		var media [2]map[string]string
		for i, limit := range []int64{1 << 40, 0} {
			sniffWhole = limit
			src, err := openFiles(nil, nil, name)
			if err != nil {
				break // a file of other tests
			}
			media[i] = src.(*source).media
			found += len(media[i])
			src.Close()
		}
		if fmt.Sprint(media[0]) != fmt.Sprint(media[1]) {
			t.Errorf("%s: %v by whole pages, %v by their first values", name, media[0], media[1])
		}
	}
	if found < 4 {
		t.Errorf("%d columns of images in all files", found)
	}
}

// TestFoldersAreColumns: their values, types and missing ones.
func TestFoldersAreColumns(t *testing.T) {
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: hiveTable(t), Columns: []string{"year", "kind"}})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var got []string
	err = read(t, src, 1<<30, func(b *shardify.Batch) {
		for i := range b.Columns {
			c := &b.Columns[i]
			switch {
			case c.Valid != nil && c.Valid[0] == 0:
				got = append(got, c.Name+"=-")
			case c.Levels == 0:
				got = append(got, fmt.Sprintf("%s=%d", c.Name, shardify.View[int64](c.Data)[b.Samples-1]))
			default:
				o := c.Offsets[0]
				got = append(got, fmt.Sprintf("%s=%s", c.Name, c.Data[o[b.Samples-1]:o[b.Samples]]))
			}
		}
	})
	want := []string{"year=2023", "kind=a b", "year=2024", "kind=-", "year=-7", "kind=9"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
}

// TestFilesThatDifferAreWidenedOrRefused: int8 and int32 of one name are int32, a
// number and a text are an error.
func TestFilesThatDifferAreWidenedOrRefused(t *testing.T) {
	if _, err := openFiles(nil, []string{"s"}, testdata("polars.parquet"), testdata("duckdb.parquet")); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("text and a struct: %v", err)
	}
	src, err := openFiles(format.Options{"missing": "fill"}, []string{"a"}, testdata("polars.parquet"), testdata("duckdb.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	n := 0
	if err := read(t, src, 1<<20, func(b *shardify.Batch) { n += b.Samples }); err != nil || n != 100 {
		t.Errorf("%d samples, %v", n, err)
	}
}

// TestSpansStartAnywhere: a reader that begins in the middle of a row group finds its
// place with and without an index of pages, and reads what one from the start does.
func TestSpansStartAnywhere(t *testing.T) {
	for _, name := range []string{"pages.parquet", "pages-index.parquet", "pages-v2.parquet"} {
		src, err := openFiles(nil, nil, testdata(name))
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		whole := readertest.ReadAll(t, src, 1<<30)
		pool := shardify.NewPool(64 << 20)
		for _, cut := range []int64{1, 17, 450, 899} {
			content := readertest.NewContent()
			// The second part first, by a reader of its own.
			var parts [2]*shardify.Batch
			for _, k := range []int{1, 0} {
				r, err := src.Reader(0)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				mem, _ := pool.Grant(context.Background(), 1)
				defer mem.Release()
				sp := shardify.Span{Lo: []int64{0, cut}[k], Hi: []int64{cut, 900}[k]}
				if parts[k], err = r.Read(context.Background(), sp, mem); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			for _, b := range parts {
				content.Add(b, 0, b.Samples)
			}
			if err := whole.Equal(content); err != nil {
				t.Errorf("%s cut at %d: %v", name, cut, err)
			}
		}
	}
}

func TestOutlineNamesWhatIsLeftOut(t *testing.T) {
	lines, err := Format.Outline(context.Background(), local.Files, testdata("nested.parquet"))
	if text := strings.Join(lines, "\n"); err != nil || !strings.Contains(text, "60 rows") || !strings.Contains(text, "deep  left out: 3 levels") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestNothingButMissingValuesIsNoReasonToDropAColumn: pandas writes a column of None
// alone without a type; the files that have values of it keep them.
func TestNothingButMissingValuesIsNoReasonToDropAColumn(t *testing.T) {
	src, err := openFiles(nil, []string{"null", "text"}, testdata("flat.parquet"), testdata("null-typed.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var missing int
	var values []int16
	err = read(t, src, 1<<20, func(b *shardify.Batch) {
		c := &b.Columns[shardify.FieldIndex(src.Schema(), "null")]
		for i, v := range shardify.View[int16](c.Data) {
			if c.Valid != nil && c.Valid[i] == 0 {
				missing++
			} else {
				values = append(values, v)
			}
		}
	})
	if err != nil || missing == 0 || !slices.Equal(values, []int16{0, 1, 2, 3, 4}) {
		t.Errorf("%d missing, then %v: %v", missing, values, err)
	}
}

// TestFilesThatAreNoPartOfATable: what Spark is writing, or has removed, must not count
// twice.
func TestFilesThatAreNoPartOfATable(t *testing.T) {
	data, err := os.ReadFile(testdata("null-typed.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	made := func(names ...string) (*format.Table, string) {
		dir := t.TempDir()
		table := &format.Table{Roots: []string{dir}}
		for _, name := range names {
			p := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, data, 0o666); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, ".parquet") {
				table.Append(0, name, int64(len(data)), 0)
			}
		}
		return table, dir
	}
	count := func(table *format.Table) (int64, string, error) {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
		if err != nil {
			return 0, "", err
		}
		defer src.Close()
		n := int64(0)
		err = read(t, src, 1<<20, func(b *shardify.Batch) { n += int64(b.Samples) })
		return n, fmt.Sprint(src.(format.Reporter).Leftovers()), err
	}
	table, _ := made("a.parquet", "_old.parquet", "_temporary/0/b.parquet", "d_/_e/f.parquet")
	if n, left, err := count(table); n != 5 || err != nil || !strings.Contains(left, "Spark") || !strings.Contains(left, " 3 ") {
		t.Errorf("%d samples, left out %s: %v", n, left, err)
	}
	table, _ = made("_k=1/c.parquet", "_k=2/c.parquet")
	if n, _, err := count(table); n != 10 || err != nil {
		t.Errorf("values in names of folders: %d samples, %v", n, err)
	}
	_, dir := made("_old.parquet")
	if n, _, err := count(tableOf(filepath.Join(dir, "_old.parquet"))); n != 5 || err != nil {
		t.Errorf("given itself: %d samples, %v", n, err)
	}
	for _, mark := range []string{"_delta_log/0.json", ".hoodie/x", "metadata/v1.metadata.json"} {
		table, dir := made("a.parquet", mark)
		if _, _, err := count(table); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "--files-from") {
			t.Errorf("%s: %v", mark, err)
		}
		if n, _, err := count(tableOf(filepath.Join(dir, "a.parquet"))); n != 5 || err != nil {
			t.Errorf("%s, files given themselves: %d, %v", mark, n, err)
		}
	}
	table, _ = made("a.parquet", "metadata/notes.json")
	if n, _, err := count(table); n != 5 || err != nil {
		t.Errorf("a folder named metadata: %d, %v", n, err)
	}
}

// TestPartitionsBelowAnyFormOfTheFolder: the columns in the names of folders are there
// however the input is written.
func TestPartitionsBelowAnyFormOfTheFolder(t *testing.T) {
	data, err := os.ReadFile(testdata("null-typed.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.MkdirAll("set/k=3", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.parquet", "_b.parquet"} {
		if err := os.WriteFile("set/k=3/"+name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ folder, below string }{
		{".", "set/k=3/"}, {"set", "k=3/"}, {"./set/", "k=3/"}, {"set/../set", "k=3/"}, {dir, "set/k=3/"}, {dir + "/set/", "k=3/"},
	} {
		table := &format.Table{Roots: []string{c.folder}}
		table.Append(0, c.below+"a.parquet", int64(len(data)), 0)
		table.Append(0, c.below+"_b.parquet", int64(len(data)), 0)
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: []string{"k"}})
		if err != nil {
			t.Errorf("%s: %v", c.folder, err)
			continue
		}
		defer src.Close()
		n := 0
		if err := read(t, src, 1<<20, func(b *shardify.Batch) { n += b.Samples }); err != nil || n != 5 {
			t.Errorf("%s: %d samples, %v", c.folder, n, err)
		}
	}
}
