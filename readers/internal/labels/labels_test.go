package labels

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/local"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}

// readOne reads the tables of a value of --labels, and gives the first.
func readOne(text, key string, jobs int) (*Table, error) {
	list, err := Read(context.Background(), local.Files, text, key, nil, jobs)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// TestTypesFollowFromAllValues: one value decides the type of its column, and what
// looks like a number but is a name stays text.
func TestTypesFollowFromAllValues(t *testing.T) {
	for _, c := range []struct {
		cells []string
		want  string
	}{
		{[]string{"1", "-2", "9223372036854775807"}, "i64"},
		{[]string{"1", "", "3"}, "i64 or nothing"},
		{[]string{"1", "2.5"}, "f64"},
		{[]string{"1e3", "nan", "-inf", ""}, "f64 or nothing"},
		{[]string{"1", "x"}, "txt"},
		{[]string{"007"}, "txt"},
		{[]string{"+1"}, "i64"},
		{[]string{"9223372036854775808"}, "u64"},
		{[]string{"18446744073709551616"}, "txt"},
		{[]string{"true", "False"}, "bool"},
		{[]string{"0x10"}, "txt"},
		{[]string{"1_000"}, "txt"},
		{[]string{"1e"}, "txt"},
		{[]string{"-0"}, "f64"},
		{[]string{"0"}, "i64"},
	} {
		text := "k,x\n"
		for i, s := range c.cells {
			text += fmt.Sprintf("%d,%s\n", i, s)
		}
		tab, err := readOne(write(t, "l.csv", text), "k", 1)
		if err != nil {
			t.Fatal(err)
		}
		f := tab.Fields()[0]
		got := f.DType.String()
		if f.Media != "" {
			got = f.Media
		}
		if f.Nullable {
			got += " or nothing"
		}
		if got != c.want {
			t.Errorf("%q is %s, want %s", c.cells, got, c.want)
		}
	}
}

// TestAllFormatsGiveTheSameLabels reads one table in each text form.
func TestAllFormatsGiveTheSameLabels(t *testing.T) {
	files := map[string]string{
		"a.csv":   "\ufeffclass,file,name,score\n3,a.jpg,\"x, y\",0.5\n,b.jpg,,2\n",
		"a.tsv":   "class\tfile\tname\tscore\n3\ta.jpg\tx, y\t0.5\n\tb.jpg\t\t2\n",
		"a.jsonl": `{"file":"a.jpg","class":3,"score":0.5,"name":"x, y"}` + "\n" + `{"file":"b.jpg","name":"","class":null,"score":2}`,
	}
	var first []shardify.Column
	for name, text := range files {
		tab, err := readOne(write(t, name, text), "file", 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		j, err := JoinAll([]*Table{tab}, 2, stems("b", "a"), "fill", nil)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = valuesOf(t, j)
		} else if !reflect.DeepEqual(first, valuesOf(t, j)) {
			t.Errorf("%s gives %+v, the one before %+v", name, valuesOf(t, j), first)
		}
	}
}

// stems names samples by their stems; each has one .jpg file.
func stems(names ...string) Names {
	return func(k int, by By, do func([]byte)) {
		name := names[k]
		if by == ByPath || by == ByBase {
			name += ".jpg"
		}
		if by == ByBase || by == ByBaseStem {
			name = path.Base(name)
		}
		do([]byte(name))
	}
}

// TestNamesInAnyForm joins by path or file name, with or without extension.
func TestNamesInAnyForm(t *testing.T) {
	samples := stems("cats/1", "cats/2", "dogs/3")
	for _, c := range []struct {
		keys [3]string
		want By
	}{
		{[3]string{"cats/1.jpg", "cats/2.jpg", "dogs/3.jpg"}, ByPath},
		{[3]string{"./cats/1.jpg", "cats//2.jpg", `dogs\3.jpg`}, ByPath},
		{[3]string{"dogs/3", "cats/1", "cats/2"}, ByStem},
		{[3]string{"1.jpg", "2.jpg", "3.jpg"}, ByBase},
		{[3]string{"1", "2", "3"}, ByBaseStem},
	} {
		tab, err := readOne(write(t, "l.csv", "k,v\n"+c.keys[0]+",a\n"+c.keys[1]+",b\n"+c.keys[2]+",c\n"), "k", 1)
		if err != nil {
			t.Fatal(err)
		}
		j, err := tab.join(3, samples)
		if err != nil || j.by != c.want || j.bare.Count+j.unused.Count > 0 {
			t.Errorf("%v: joined by %v, %v without labels, %v unused, %v", c.keys, j.by, j.bare, j.unused, err)
		}
	}
}

// TestWhatDoesNotFitIsListed names both sides.
func TestWhatDoesNotFitIsListed(t *testing.T) {
	tab, err := readOne(write(t, "l.csv", "k,v\na,1\nx,2\ny,3\n"), "k", 1)
	if err != nil {
		t.Fatal(err)
	}
	j, err := JoinAll([]*Table{tab}, 2, stems("a", "b"), "fill", nil)
	if err != nil {
		t.Fatal(err)
	}
	if l := j.Left; len(l) != 1 || l[0].Name != "x" || l[0].Count != 2 || j.Kept != nil {
		t.Errorf("left out %v, kept %v", l, j.Kept)
	}
	if c := valuesOf(t, j)[0]; !c.Field.Nullable || c.Valid[0] != 1 || c.Valid[1] != 0 {
		t.Errorf("%+v", c)
	}
	if j, err = JoinAll([]*Table{tab}, 2, stems("a", "b"), "drop", nil); err != nil {
		t.Fatal(err)
	}
	if c := valuesOf(t, j)[0]; c.Field.Nullable || len(c.Data) != 8 || !slices.Equal(j.Kept, []bool{true, false}) || len(j.Left) != 2 {
		t.Errorf("dropped: %+v, %v, %v", c, j.Kept, j.Left)
	}
}

// TestBadTablesAreRefused: each with a word that says what is wrong.
func TestBadTablesAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, key, want string }{
		{"a.csv", "", "k", "empty"},
		{"a.csv", "k,v\n", "k", "no row"},
		{"a.csv", "k\nx\n", "k", "no column of labels"},
		{"a.csv", "k;v\nx;1\n", "k", "separated by ';'"},
		{"a.csv", "k\tv\nx\t1\n", "k", "separated by '\\t'"},
		{"a.tsv", "k,v\nx,1\n", "k", "separated by ','"},
		{"a.csv", "\xff\xfek\x00,\x00v\x00\n\x00", "k", "UTF-16"},
		{"a.csv", "k,v\nx,1\n", "file", "no column \"file\"; there is k, v"},
		{"a.csv", "k,v\nx,1\n", "", "--key"},
		{"a.csv", "k,v\nx\n", "k", "line 2"},
		{"a.csv", "k,v\n\"x,1\n", "k", "line"},
		{"a.csv", "k,v,v\nx,1,2\n", "k", "two columns"},
		{"a.csv", "k,v\nx,\xff\n", "k", "UTF-8"},
		{"a.csv", "k,v\nx,\n", "k", "nothing but missing values"},
		{"a.jsonl", "{\"k\":\"x\",\"v\":1}\n{\"k\"", "k", "line 2"},
		{"a.jsonl", "[1]", "k", "line 1"},
		{"a.jsonl", "null", "k", "line 1"},
		{"a.jsonl", "{\"k\":null,\"v\":1}", "k", "the names in k"},
		{"a.jsonl", "{\"k\":\"x\",\"v\":1}\n{\"v\":1}", "k", "no name"},
		{"a.jsonl", "{\"k\":1.5,\"v\":1}", "k", "whole numbers"},
		{"a.jsonl", "{\"k\":[\"x\"],\"v\":1}", "k", "neither a number nor text"},
		{"a.parquet", "PAR1", "k", "Parquet"},
	} {
		_, err := readOne(write(t, c.name, c.text), c.key, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.40q: %v, want %q", c.name, c.text, err, c.want)
		}
	}
	if _, err := readOne(write(t, "l.csv", "k,v\na,1\n./a,2\n"), "k", 1); err == nil || !strings.Contains(err.Error(), "is in rows 0 and 1") {
		t.Errorf("two rows of a name: %v", err)
	}
	for words := range strings.SplitSeq("rows=many rows=first", " ") {
		_, err := readOne(write(t, "l.csv", "k,v\na,1\n./a,2\n"), "k", 1)
		var cured *format.Cured
		if !errors.As(err, &cured) || len(cured.Ways) != 2 {
			t.Fatalf("no ways: %v", err)
		}
		i := slices.IndexFunc(cured.Ways, func(w format.Way) bool { return strings.HasSuffix(w.Options["labels"], words) })
		if i < 0 {
			t.Fatalf("no way with %s: %v", words, cured.Ways)
		}
		if _, err := readOne(cured.Ways[i].Options["labels"], "k", 1); err != nil {
			t.Errorf("%s: %v", words, err)
		}
	}
	tab, err := readOne(write(t, "l.csv", "k,v\na,1\n"), "k", 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := JoinAll([]*Table{tab}, 2, stems("x/a", "y/a"), "fill", nil); err == nil || !strings.Contains(err.Error(), "folders") {
		t.Errorf("a row of two samples: %v", err)
	}
}

// TestParquetLabels takes numbers and text of a Parquet file.
func TestParquetLabels(t *testing.T) {
	tab, err := readOne("../../parquet/testdata/polars.parquet", "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range tab.Fields() {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "s l arr st.u st.v cat" || tab.rows.Rows != 50 {
		t.Errorf("%d rows of %s; left out %v", tab.rows.Rows, got, tab.Left)
	}
}

// TestStateIsTheLabels: what a plan keeps gives the same columns.
func TestStateIsTheLabels(t *testing.T) {
	tab, err := readOne(write(t, "l.csv", "k,i,f,s\na,1,0.5,x\nb,,,\nc,-9,2,zz\n"), "k", 1)
	if err != nil {
		t.Fatal(err)
	}
	j, err := JoinAll([]*Table{tab}, 3, stems("c", "a", "b"), "fill", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, fields := appendState([]byte{}, valuesOf(t, j), 3), []shardify.Field{}
	for _, c := range valuesOf(t, j) {
		fields = append(fields, c.Field)
	}
	got, rest, err := readState(append(bytes.Clone(b), 7), fields, 3)
	if err != nil || len(rest) != 1 || !reflect.DeepEqual(got, valuesOf(t, j)) {
		t.Errorf("%+v, %d bytes left, %v; want %+v", got, len(rest), err, valuesOf(t, j))
	}
	for n := range len(b) {
		if _, _, err := readState(b[:n], fields, 3); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
}

// TestManyRowsOfAName become lists in the order of the table, whose state gives the same columns.
func TestManyRowsOfAName(t *testing.T) {
	name := write(t, "l.csv", "k,i,f,s,b\nc,1,0.5,x,true\na,2,1,yy,false\nc,-9,2,,true\nb,4,3,z,false\nc,5,4,w,false\n")
	tab, err := readOne("n="+name+" on=k rows=many", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	j, err := JoinAll([]*Table{tab}, 4, stems("d", "c", "a", "b"), "fill", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	fields := []shardify.Field{}
	for _, c := range valuesOf(t, j) {
		fields = append(fields, c.Field)
		got = append(got, fmt.Sprintf("%s %d %s %v", c.Name, c.Levels, c.Counter, c.Offsets))
	}
	want := []string{"i 1 n [[0 0 3 4 5]]", "f 1 n [[0 0 3 4 5]]", "s 2 n [[0 0 3 4 5] [0 1 1 2 4 5]]", "b 1 n [[0 0 3 4 5]]"}
	if !slices.Equal(got, want) || fmt.Sprint(shardify.View[int64](valuesOf(t, j)[0].Data)) != "[1 -9 5 2 4]" || string(valuesOf(t, j)[2].Data) != "xwyyz" {
		t.Errorf("%q, %v, %q", got, shardify.View[int64](valuesOf(t, j)[0].Data), valuesOf(t, j)[2].Data)
	}
	b := appendState([]byte{}, valuesOf(t, j), 4)
	again, rest, err := readState(append(bytes.Clone(b), 7), fields, 4)
	if err != nil || len(rest) != 1 || !reflect.DeepEqual(again, valuesOf(t, j)) {
		t.Errorf("%+v, %d bytes left, %v; want %+v", again, len(rest), err, valuesOf(t, j))
	}
	for n := range len(b) {
		if _, _, err := readState(b[:n], fields, 4); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	for lo := range int64(4) {
		for hi := lo; hi <= 4; hi++ {
			for i := range valuesOf(t, j) {
				some, err := (&Cursor{Values: j.Values}).Batch(lo, hi, []int{i}, shardify.NewPool(1).Overdraft())
				if err != nil {
					t.Fatal(err)
				}
				c := some[0]
				if from, to := valuesOf(t, j)[i].Range(int(lo), int(hi)); !bytes.Equal(c.Data, valuesOf(t, j)[i].Data[from:to]) || len(c.Offsets[0]) != int(hi-lo)+1 || c.Offsets[0][0] != 0 {
					t.Errorf("samples %d to %d of %s: %+v", lo, hi, c.Name, c)
				}
			}
		}
	}
	tab, err = readOne(name+" on=k rows=first", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if j, err = JoinAll([]*Table{tab}, 3, stems("c", "a", "b"), "fill", nil); err != nil || fmt.Sprint(shardify.View[int64](valuesOf(t, j)[0].Data)) != "[1 2 4]" || len(tab.Left) != 1 || tab.Left[0].Count != 2 {
		t.Errorf("the first rows: %+v, %v, %v", valuesOf(t, j), tab.Left, err)
	}
}

// TestMissingValuesInLists are refused with what fills them.
func TestMissingValuesInLists(t *testing.T) {
	name := write(t, "l.csv", "k,i,f\na,1,0.5\na,,\nb,3,2\n")
	_, err := readOne(name+" on=k rows=many", "", 1)
	var cured *format.Cured
	if !errors.As(err, &cured) || !strings.Contains(err.Error(), `i of row 1, of "a", is missing`) {
		t.Fatal(err)
	}
	tab, err := readOne(cured.Ways[0].Options["labels"], "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(shardify.View[int64](tab.rows.Cols[0].Data), shardify.View[float64](tab.rows.Cols[1].Data)); got != "[1 0 3] [0.5 NaN 2]" {
		t.Error(got)
	}
}

// TestListsOfJSON are labels as they are, and with rows=many lists of a level more.
func TestListsOfJSON(t *testing.T) {
	name := write(t, "l.jsonl", `{"k":"b","boxes":[[1,2,3,4],[5,6,7,8]],"n":[1,2],"words":["x","yy"]}`+"\n"+`{"k":"a","boxes":[],"n":[],"words":[]}`+"\n")
	for words, want := range map[string]string{"": "boxes 2 , n 1 , words 2 ", " rows=many": "n 2 rows"} {
		tab, err := readOne(name+" on=k"+words, "", 1)
		if err != nil {
			t.Fatal(err)
		}
		j, err := JoinAll([]*Table{tab}, 2, stems("a", "b"), "fill", nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var fields []shardify.Field
		for _, c := range valuesOf(t, j) {
			got, fields = append(got, fmt.Sprintf("%s %d %s", c.Name, c.Levels, c.Counter)), append(fields, c.Field)
		}
		if strings.Join(got, ", ") != want || len(got)+len(tab.Left) != 3 {
			t.Errorf("%q: %q, left out %v", words, got, tab.Left)
		}
		again, rest, err := readState(appendState(nil, valuesOf(t, j), 2), fields, 2)
		if err != nil || len(rest) != 0 || !reflect.DeepEqual(again, valuesOf(t, j)) {
			t.Errorf("%+v, %v; want %+v", again, err, valuesOf(t, j))
		}
	}
}

// TestTablesAreSeparatedByCommas, which their options have, too.
func TestTablesAreSeparatedByCommas(t *testing.T) {
	for text, want := range map[string]string{
		"a.csv":                              "a.csv",
		"a,b.csv":                            "a,b.csv",
		"a.csv sep=, on=k,n=b.csv rows=many": "a.csv sep=, on=k|n=b.csv rows=many",
		"a.csv types=x:text,y:i64,b c.jsonl": "a.csv types=x:text,y:i64|b c.jsonl",
		"x=1.csv on=k rows=many,d/y.parquet": "x=1.csv on=k rows=many|d/y.parquet",
	} {
		if got := strings.Join(split(text), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"n=a.csv on=k", "a.csv rows=two", "__n=a.csv rows=many"} {
		if _, err := readOne(text, "", 1); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// TestPackedTables: a name says how a table is packed.
func TestPackedTables(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("k,v,o\na,1,true\nb,2,\n"))
	z.Close()
	tab, err := readOne(write(t, "l.CSV.gz", b.String()), "k", 2)
	if err != nil {
		t.Fatal(err)
	}
	j, err := JoinAll([]*Table{tab}, 2, stems("b", "a"), "fill", nil)
	if err != nil || len(valuesOf(t, j)) != 2 || !bytes.Equal(valuesOf(t, j)[1].Valid, []byte{0, 1}) || valuesOf(t, j)[1].DType != shardify.Bool || shardify.View[int64](valuesOf(t, j)[0].Data)[0] != 2 {
		t.Errorf("%+v, %v", j, err)
	}
}

// TestNamesStayAsWritten: what looks like a number is a name all the same.
func TestNamesStayAsWritten(t *testing.T) {
	tab, err := readOne(write(t, "l.csv", "k,v\n1.50,1\n2,2\ntrue,3\n"), "k", 1)
	if err != nil {
		t.Fatal(err)
	}
	j, err := JoinAll([]*Table{tab}, 3, stems("1.50", "2", "true"), "fill", nil)
	if err != nil || len(j.Left) > 0 {
		t.Errorf("%+v, %v", j, err)
	}
}

// FuzzRead reads any bytes as each kind of table.
func FuzzRead(f *testing.F) {
	f.Add("k,v\na,1\n", uint8(0))
	f.Add("k\tv\na\t1\n", uint8(1))
	f.Add("{\"k\":\"a\",\"v\":1.5}\n", uint8(2))
	f.Fuzz(func(t *testing.T, text string, kind uint8) {
		name := "f" + []string{".csv", ".tsv", ".jsonl"}[int(kind)%3]
		tab, err := readOne(write(t, name, text), "k", 1)
		if err != nil {
			return
		}
		j, err := JoinAll([]*Table{tab}, 2, stems("a", "b"), "fill", nil)
		if err != nil {
			return
		}
		b := shardify.Batch{Samples: 2, Columns: valuesOf(t, j)}
		if err := b.Match(j.Values.Fields); err != nil {
			t.Error(err)
		}
	})
}
