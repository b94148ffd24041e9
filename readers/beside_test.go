package readers_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

// folderOf writes files, NAME=TEXT each, and opens them as files with options.
func folderOf(t *testing.T, o format.Options, files ...string) (*readers.Opened, error) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		name, text, _ := strings.Cut(f, "=")
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, _ := readers.Lookup("files")
	o, err := format.CheckOptions(f.Options, o)
	if err != nil {
		t.Fatal(err)
	}
	return readers.Open(t.Context(), f, readers.Request{Inputs: []string{dir}, Options: o, Jobs: 1})
}

// TestTablesBesideFiles: each table names the files of its folder; what lacks something is an error
// that names the cure, and the cure works.
func TestTablesBesideFiles(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   []string
		missing string
		want    string // samples and fields, or the error
	}{
		{"metadata", []string{"0.jpg=a", "1.jpg=b", "metadata.csv=file_name,text\n1.jpg,one\n0.jpg,zero\n"}, "fail", "2 jpg text"},
		{"below it", []string{"images/0.jpg=a", "metadata.jsonl={\"file_name\":\"images/0.jpg\",\"n\":1}\n"}, "fail", "1 jpg n"},
		{"same names in splits", []string{"train/0.jpg=a", "test/0.jpg=b", "train/metadata.csv=file_name,n\n0.jpg,1\n", "test/metadata.csv=file_name,n\n0.jpg,2.5\n"}, "fail", "2 jpg n"},
		{"a column less", []string{"train/0.jpg=a", "test/0.jpg=b", "train/metadata.csv=file_name,n,m\n0.jpg,1,2\n", "test/metadata.csv=file_name,n\n0.jpg,2\n"}, "fail", "has no column m"},
		{"a column less, filled", []string{"train/0.jpg=a", "test/0.jpg=b", "train/metadata.csv=file_name,n,m\n0.jpg,1,2\n", "test/metadata.csv=file_name,n\n0.jpg,2\n"}, "fill", "2 jpg n m?"},
		{"other types", []string{"train/0.jpg=a", "test/0.jpg=b", "train/metadata.csv=file_name,n\n0.jpg,x\n", "test/metadata.csv=file_name,n\n0.jpg,2\n"}, "fail", "of another type"},
		{"Kaggle", []string{"train/0.jpg=a", "test/9.jpg=b", "train.csv=id,label\n0,cat\n"}, "fail", "samples without labels: 1"},
		{"Kaggle, filled", []string{"train/0.jpg=a", "test/0.jpg=b", "train.csv=id,label\n0,cat\n", "test.csv=id\n0\n"}, "fill", "2 jpg label?"},
		{"folder of images", []string{"train_images/0.jpg=a", "train_images/1.jpg=a", "train.csv=image_id,label\n0,3\n1,4\n"}, "fail", "2 jpg label"},
		{"larger than the images", []string{"0.jpg=a", "1.jpg=b", "metadata.csv=file_name,text\n1.jpg,one\n0.jpg,zero" + strings.Repeat("x", 1000) + "\n"}, "fail", "2 jpg text"},
		{"two formats", []string{"0.jpg=a", "metadata.csv=file_name,n\n0.jpg,1\n", "metadata.jsonl={\"file_name\":\"0.jpg\",\"n\":1}\n"}, "fail", "there is a column n"},
		{"rows of a name", []string{"train/0.jpg=a", "train.csv=id,x\n0,1\n0,2\n"}, "fail", "in=train on=id rows=many"},
		{"rows of a name in splits", []string{"train/0.jpg=a", "test/0.jpg=a", "train/metadata.csv=file_name,x\n0.jpg,1\n0.jpg,2\n", "test/metadata.csv=file_name,x\n0.jpg,1\n"}, "fail", "in=train on=file_name rows=many"},
		{"no name", []string{"0.jpg=a", "metadata.csv=n,m\n0,1\n"}, "fail", "--labels tables --key COLUMN"},
		{"two files", []string{"0.jpg=a", "m/0.png=c", "1.jpg=b", "m/1.png=d", "metadata.csv=image_file_name,mask_file_name,n\n0.jpg,m/1.png,1\n1.jpg,m/0.png,2\n"}, "fail", "2 image mask n"},
		{"two files and no labels", []string{"0.jpg=a", "0.png=c", "metadata.csv=file_name,depth_file_name\n0.jpg,0.png\n"}, "fail", "1 depth image"},
		{"two files in splits", []string{"train/0.jpg=a", "train/0.png=c", "test/0.jpg=b", "test/0.png=d", "train/metadata.csv=file_name,depth_file_name\n0.jpg,0.png\n", "test/metadata.csv=file_name,depth_file_name\n0.jpg,0.png\n"}, "fail", "2 depth image"},
		{"a file of two columns", []string{"0.jpg=a", "1.jpg=a", "metadata.csv=a_file_name,b_file_name\n0.jpg,1.jpg\n1.jpg,2.jpg\n"}, "drop", `row 0 of METADATA: b_file_name "1.jpg" is a_file_name in row 1 of METADATA`},
		{"no second file", []string{"0.jpg=a", "1.jpg=a", "0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n1.jpg,1.png\n"}, "fail", `1 file is not there (row 1 of METADATA: b_file_name "1.png"); --missing drop`},
		{"no second file, dropped", []string{"0.jpg=a", "1.jpg=a", "0.png=c", "metadata.csv=a_file_name,b_file_name,n\n0.jpg,0.png,5\n1.jpg,1.png,6\n"}, "drop", "1 a b n"},
		{"no second file, filled", []string{"0.jpg=a", "1.jpg=a", "0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n1.jpg,1.png\n"}, "fill", "2 a b?"},
		{"no first file, dropped", []string{"1.jpg=a", "1.png=c", "metadata.csv=a_file_name,b_file_name,n\n0.jpg,0.png,5\n1.jpg,1.png,6\n"}, "drop", "1 a b n"},
		{"an empty cell", []string{"0.jpg=a", "1.jpg=a", "0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n1.jpg,\n"}, "fail", `no b in 1 row, that of (FOLDER/1.jpg); --missing drop`},
		{"an empty cell, filled", []string{"0.jpg=a", "1.jpg=a", "0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n1.jpg,\n"}, "fill", "2 a b?"},
		{"another case", []string{"0.jpg=a", "M/0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,m/0.PNG\n"}, "drop", `row 0 of METADATA: b_file_name "m/0.PNG", and there is "M/0.png"`},
		{"another Unicode form", []string{"0.jpg=a", "m/\u00e9.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,m/e\u0301.png\n"}, "fill", "Unicode form alone"},
		{"outside", []string{"0.jpg=a", "metadata.csv=a_file_name,b_file_name\n0.jpg,../0.png\n"}, "drop", `row 0: b_file_name "../0.png" is outside of the folder`},
		{"an absolute path", []string{"0.jpg=a", "metadata.csv=a_file_name,b_file_name\n0.jpg,/0.png\n"}, "drop", `"/0.png" is outside of the folder`},
		{"outside of the folder of a split", []string{"train/0.jpg=a", "0.png=c", "train/metadata.csv=a_file_name,b_file_name\n0.jpg,../0.png\n"}, "drop", `is outside of the folder of the table, "train"`},
		{"a file of two rows", []string{"0.jpg=a", "1.jpg=a", "0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n1.jpg,./0.png\n"}, "drop", `1 file that is named twice (row 1 of METADATA: b_file_name "0.png" is b_file_name in row 0`},
		{"a sample of two rows", []string{"0.jpg=a", "1.png=a", "0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n0.jpg,1.png\n"}, "drop", `"0.jpg"`},
		{"two samples of one name", []string{"0.jpg=a", "0.png=c", "m/0.jpg=a", "m/0.png=c", "metadata.csv=a_file_name,b_file_name\n0.jpg,m/0.jpg\n0.png,m/0.png\n"}, "drop", "--keys ordinal numbers them"},
		{"a file of no row", []string{"0.jpg=a", "0.png=c", "1.jpg=a", "README.md=x", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n"}, "fail", "names 1 file (1.jpg); --missing drop leaves them out"},
		{"a file of no row, dropped", []string{"0.jpg=a", "0.png=c", "1.jpg=a", "README.md=x", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n"}, "drop", "1 a b"},
		{"a second file in one split alone", []string{"train/0.jpg=a", "train/0.png=c", "test/0.jpg=b", "train/metadata.csv=file_name,depth_file_name,n\n0.jpg,0.png,1\n", "test/metadata.csv=file_name,n\n0.jpg,1\n"}, "fail", "no row of"},
		{"texts and images", []string{"0.jpg=a", "0.png=c", "1.jpg=a", "1.txt=a", "metadata.csv=a_file_name,b_file_name\n0.jpg,0.png\n1.jpg,1.txt\n"}, "fail", "of the types png, txt"},
		{"a field and a column", []string{"0.jpg=a", "0.png=c", "metadata.csv=file_name,m_file_name,m\n0.jpg,0.png,1\n"}, "fail", "the field m has the files of m_file_name, and there is a column m"},
		{"none", []string{"0.jpg=a", "list.csv=n,m\n0,1\n"}, "fail", "neither metadata.csv"},
		{"names alone", []string{"0.jpg=a", "metadata.csv=file_name\n0.jpg\n"}, "fail", "has names and no labels"},
		{"a space", []string{"my train/0.jpg=a", "my train/metadata.csv=file_name,n\n0.jpg,1\n"}, "fail", "rename them"},
	} {
		o, err := folderOf(t, format.Options{"labels": "tables", "missing": c.missing}, c.files...)
		got := ""
		if err != nil {
			got = regexp.MustCompile(`[^ "()]*/metadata.csv`).ReplaceAllString(err.Error(), "METADATA")
			got = regexp.MustCompile(`/[^ "()]*/(\d\.jpg)`).ReplaceAllString(got, "FOLDER/$1")
			var cured *format.Cured
			if errors.As(err, &cured) {
				got += fmt.Sprint(cured.Ways)
			}
			var doubt *format.Ambiguous
			if errors.As(err, &doubt) {
				got += fmt.Sprint(doubt.Ways)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s: %s", c.name, got)
			}
			continue
		}
		samples := 0
		for sp, err := range o.Source.Spans(t.Context(), 1<<20) {
			if err != nil {
				t.Fatal(err)
			}
			samples += int(sp.Hi - sp.Lo)
		}
		got = fmt.Sprint(samples)
		for _, f := range o.Source.Schema() {
			got += " " + f.Name + strings.Repeat("?", map[bool]int{true: 1}[f.Nullable])
		}
		o.Source.Close()
		if got = strings.Replace(got, " cls", "", 1); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTablesBesideFilesAreNamedWithoutTheOption: in the plan where they are left out, or in the error.
func TestTablesBesideFilesAreNamedWithoutTheOption(t *testing.T) {
	o, err := folderOf(t, nil, "0.jpg=aaaaaaaaaaaaaaaaaaaa", "1.jpg=baaaaaaaaaaaaaaaaaaaaaaaaaaa", "2.jpg=baaaaaaaaaaaaaaaaaaaaaaaaaaa", "metadata.csv=file_name,n\n0.jpg,1\n")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Source.Close()
	said := fmt.Sprint(o.LeftOut, o.Source.(format.Reporter).Leftovers())
	if !strings.Contains(said, "--labels tables") {
		t.Error(said)
	}
	_, err = folderOf(t, nil, "0.jpg=a", "1.jpg=b", "2.jpg=c", "metadata.csv=file_name,n\n0.jpg,"+strings.Repeat("1", 100)+"\n")
	if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "--labels tables joins") {
		t.Error(err)
	}
}
