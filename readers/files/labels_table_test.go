package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

const labelCSV = "file,score,caption\nb/2.jpg,0.5,two\na/1.jpg,,one\nb/3.jpg,2,three\n"

func labelled(t testing.TB, csv string, more ...string) (table *format.Table, name string) {
	t.Helper()
	table = listing(t, folder(t, append([]string{"a/1.jpg", "a/1.json", "b/2.jpg", "b/2.json", "b/3.jpg", "b/3.json"}, more...)...))
	name = filepath.Join(t.TempDir(), "labels.csv")
	if err := os.WriteFile(name, []byte(csv), 0o666); err != nil {
		t.Fatal(err)
	}
	return table, name
}

// TestLabelsOfATableGoToTheirSamples: whatever the order of the rows, and as text
// whatever else changes.
func TestLabelsOfATableGoToTheirSamples(t *testing.T) {
	table, name := labelled(t, labelCSV)
	o := opts("labels", name, "key", "file")
	src := openTable(t, table, o, "score", "caption")
	want := []string{"a/1 score=- caption=one", "b/2 score=3fe0000000000000 caption=two", "b/3 score=4000000000000000 caption=three"}
	got := dump(t, src)
	if len(got) != len(want) || !strings.Contains(got[0], "score=- caption=one") || !strings.Contains(got[2], "b/3") || !strings.HasSuffix(got[2], "caption=three") {
		t.Errorf("got %q, want about %q", got, want)
	}
	equal(t, describe(openTable(t, table, o)), []string{"cls:i64(a,b)", "jpg:u8:jpg", "json:u8:json", "score:f64?", "caption:u8:txt"}) // the folders stay classes
	table, name = labelled(t, strings.Replace(labelCSV, "score", "cls", 1))
	src = openTable(t, table, opts("labels", name, "key", "file"))
	equal(t, describe(src), []string{"jpg:u8:jpg", "json:u8:json", "cls:f64?", "caption:u8:txt"})
	if l := src.(format.Reporter).Leftovers(); len(l) != 1 || l[0].Name != labelField || !strings.Contains(l[0].Reason, "takes the place of the folders") {
		t.Errorf("nothing says that the folders are no classes: %v", l)
	}
}

// TestLabelsAreInThePlan: with a state the table is not read again.
func TestLabelsAreInThePlan(t *testing.T) {
	table, name := labelled(t, labelCSV)
	o := opts("labels", name, "key", "file")
	src := openTable(t, table, o)
	state, err := src.(format.Stater).State()
	if err != nil {
		t.Fatal(err)
	}
	want := dump(t, src)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	again, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: o, State: state, Page: pageOf(src)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := dump(t, again); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	other, name := labelled(t, strings.Replace(labelCSV, "two", "2", 1))
	a, err := pageOf(src)(0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pageOf(openTable(t, other, opts("labels", name, "key", "file")))(0)
	if err != nil || string(a) == string(b) {
		t.Errorf("other labels, and the same page (%v)", err)
	}
	if src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: o, State: state}); !errors.Is(err, shardify.ErrCorrupt) {
		t.Error("a state without its pages:", src, err)
	}
}

// pageOf reads the pages of a source; nil if it has none.
func pageOf(src shardify.Source) func(int) ([]byte, error) {
	if src.(format.Pager).Pages() == 0 {
		return nil
	}
	return src.(format.Pager).Page
}

// openPaged opens a table as it was, or with a state and the pages of that.
func openPaged(table *format.Table, columns []string, state []byte, o format.Options) (shardify.Source, error) {
	a := format.OpenArgs{Table: table, Columns: columns, State: state, Options: o}
	if state != nil {
		src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: o})
		if err != nil {
			return nil, err
		}
		a.Page = pageOf(src)
	}
	return Format.Open(context.Background(), a)
}

// TestLabelsAndSamplesThatLackEachOther: --missing decides.
func TestLabelsAndSamplesThatLackEachOther(t *testing.T) {
	table, name := labelled(t, labelCSV+"c/9.jpg,1,nobody\n", "b/4.jpg", "b/4.json")
	open := func(missing string) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, Options: opts("labels", name, "key", "file", "missing", missing)})
	}
	_, err := open("fail")
	if err == nil || !strings.Contains(err.Error(), `samples without labels: 1 ("b/4")`) || !strings.Contains(err.Error(), "labels without a sample: 1 (c/9.jpg)") {
		t.Errorf("fail: %v", err)
	}
	for missing, samples := range map[string]int{"drop": 3, "fill": 4} {
		src, err := open(missing)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		lines := dump(t, src)
		if len(lines) != samples || missing == "fill" && !strings.HasSuffix(lines[3], "score=- caption=-") {
			t.Errorf("%s: %q", missing, lines)
		}
		if left := src.(format.Reporter).Leftovers(); len(left) != map[string]int{"drop": 2, "fill": 1}[missing] {
			t.Errorf("%s: left out %+v", missing, left)
		}
	}
}

// TestLabelOptionsThatMakeNoSense are refused with what would.
func TestLabelOptionsThatMakeNoSense(t *testing.T) {
	table, name := labelled(t, "file,jpg\na/1.jpg,1\n")
	for want, o := range map[string]format.Options{
		"there is a column jpg":    opts("labels", name, "key", "file"),
		"--key COLUMN":             opts("labels", name),
		"give --labels FILE too":   opts("key", "file"),
		"want auto, none, folder":  opts("labels", "yes"),
		"no such file":             opts("labels", "nowhere.csv", "key", "file"),
		"no column \"f\"; there i": opts("labels", name, "key", "f"),
	} {
		if _, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: o}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", o, err, want)
		}
	}
}

func TestConformanceWithALabelTable(t *testing.T) {
	table, name := labelled(t, labelCSV)
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return openPaged(table, columns, state, opts("labels", name, "key", "file"))
	})
}

// TestOtherTablesBesideLabelsAreNoSamples: --missing is about rows where a table has the labels.
func TestOtherTablesBesideLabelsAreNoSamples(t *testing.T) {
	image := strings.Repeat("a", 50) // tables are the smaller part
	dir := folder(t, "train/1.jpg="+image, "train/2.jpg="+image, "train/3.jpg="+image, "test/4.jpg="+image, "labels.csv=id,breed\n1,pug\n2,corgi\n3,pug\n", "submission.csv=id,pug\n4,0.5\n")
	src := openTable(t, listing(t, dir), opts("labels", filepath.Join(dir, "labels.csv"), "key", "id", "missing", "fill"))
	equal(t, describe(src), []string{"jpg:u8:jpg", "breed:u8:txt?"})
	equal(t, dump(t, src), []string{"test/4 jpg=" + image + " breed=-", "train/1 jpg=" + image + " breed=pug", "train/2 jpg=" + image + " breed=corgi", "train/3 jpg=" + image + " breed=pug"})
}

// TestManyRowsOfASample become lists, in folders and in pairs; --missing keeps samples without rows,
// with empty lists, or does not.
func TestManyRowsOfASample(t *testing.T) {
	table, name := labelled(t, "file,x,y\n3.jpg,1,2\n1.jpg,3,4\n3.jpg,5,6\n9.jpg,0,0\n")
	more := filepath.Join(t.TempDir(), "captions.csv")
	if err := os.WriteFile(more, []byte("id,text\n1,one\n2,two\n2,zwei\n3,three\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	value := "boxes=" + name + " on=file rows=many,texts=" + more + " on=id rows=many"
	src := openTable(t, table, opts("labels", value, "missing", "fill"))
	equal(t, describe(src), []string{"cls:i64(a,b)", "jpg:u8:jpg", "json:u8:json", "x:i64", "y:i64", "text:u8:txt"})
	if n := strings.Join(src.(format.Noter).Notes(), "\n"); !strings.Contains(n, `1 sample ("b/2") without a row in `+name) {
		t.Errorf("notes %q", n)
	}
	if l := src.(format.Reporter).Leftovers(); len(l) != 1 || l[0].Name != "9.jpg" || l[0].Count != 1 {
		t.Errorf("left out %v", l)
	}
	if got := len(dump(t, openTable(t, table, opts("labels", value, "missing", "drop")))); got != 2 {
		t.Errorf("%d samples with all labels", got)
	}
	pairs := listing(t, folder(t, "im/1.jpg", "ma/1.png", "im/3.jpg", "ma/3.png"))
	src = openTable(t, pairs, opts("pair", "image=im,mask=ma", "labels", "boxes="+name+" on=file rows=many", "missing", "drop"))
	equal(t, describe(src), []string{"image:u8:jpg", "mask:u8:png", "x:i64", "y:i64"})
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return openPaged(table, columns, state, opts("labels", value, "missing", "fill"))
	})
}

// TestATableForEachSplit: files of one name in several folders are one table, and name what is below their folders.
func TestATableForEachSplit(t *testing.T) {
	image := strings.Repeat("a", 200)
	dir := folder(t, "train/1.jpg="+image, "train/x/2.jpg="+image, "test/1.jpg="+image,
		"train/metadata.csv=file_name,stars\n1.jpg,5\nx/2.jpg,\n", "test/metadata.csv=file_name,stars\n1.jpg,7\n")
	both := filepath.Join(dir, "train/metadata.csv") + "," + filepath.Join(dir, "test/metadata.csv")
	for _, value := range []string{both, strings.ReplaceAll(both, ".csv", ".csv on=file_name")} {
		o := opts("labels", value)
		if value == both {
			o["key"] = "file_name"
		}
		src := openTable(t, listing(t, dir), o)
		equal(t, describe(src), []string{"jpg:u8:jpg", "stars:i64?"})
		equal(t, dump(t, src), []string{"test/1 jpg=" + image + " stars=7", "train/1 jpg=" + image + " stars=5", "train/x/2 jpg=" + image + " stars=-"})
	}
	_, err := Format.Open(t.Context(), format.OpenArgs{Table: listing(t, dir), Options: opts("labels", strings.Replace(both, ".csv,", ".csv rows=many,", 1), "key", "file_name")})
	if err == nil { // they are two tables with the same column
		t.Error("tables that are joined otherwise are one")
	}
}
