package nifti

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// TestLabels: rows of a table go to the volumes that they name, by path, stem or file name.
func TestLabels(t *testing.T) {
	b, err := os.ReadFile("testdata/scaled_i16.nii")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var files []string
	for _, name := range []string{"sub-1_T1w.nii", "sub-2_T1w.nii", "sub-3_T1w.nii"} {
		files = append(files, filepath.Join(dir, name))
		if err := os.WriteFile(files[len(files)-1], b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, form := range []string{"sub-%d_T1w.nii", "sub-%d_T1w", "./sub-%d_T1w.nii"} {
		text := "file\tage\tgroup\n"
		for _, i := range []int{3, 1} {
			text += fmt.Sprintf(form+"\t%d\tg%[1]d\n", i, 20+i)
		}
		table := filepath.Join(dir, "labels.tsv")
		if err := os.WriteFile(table, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		open := func(missing string, columns ...string) (*readertest.Columns, error) {
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, Jobs: 2,
				Options: format.Options{"labels": table, "key": "file", "missing": missing}})
			if err != nil {
				return nil, err
			}
			defer src.Close()
			return readertest.Load(src, 100)
		}
		c, err := open("drop")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Samples, shardify.View[int64](c.ByName["age"].Data), string(c.ByName["group"].Data)); got != "2 [21 23]g1g3" || c.ByName["image"] == nil {
			t.Error(got)
		}
		if _, err := open("fail"); err == nil || !strings.Contains(err.Error(), "sub-2_T1w") {
			t.Errorf("a volume without a row: %v", err)
		}
		if c, err = open("fill", "age"); err != nil || len(c.ByName) != 1 || fmt.Sprint(c.ByName["age"].Valid) != "[1 0 1]" {
			t.Errorf("a column alone: %v", err)
		}
	}
	if _, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Options: format.Options{"key": "file"}}); err == nil || !strings.Contains(err.Error(), "give --labels FILE too") {
		t.Errorf("--key alone: %v", err)
	}
}
