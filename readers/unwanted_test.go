package readers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

// TestMissingValuesOfUnwantedColumns: lists cannot express them, and columns that are not wanted are no lists.
func TestMissingValuesOfUnwantedColumns(t *testing.T) {
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{nil, "b of row 1"},
		{[]string{"b"}, "b of row 1"},
		{[]string{"!b"}, "jpg a"},
		{[]string{"jpg"}, "jpg"},
	} {
		dir := t.TempDir()
		table := filepath.Join(dir, "boxes.csv")
		for name, text := range map[string]string{table: "f,b,a\n0.jpg,1,2\n0.jpg,,3\n", filepath.Join(dir, "0.jpg"): "a"} {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		f, _ := readers.Lookup("files")
		o, err := format.CheckOptions(f.Options, format.Options{"labels": table + " on=f rows=many"})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if src, err := readers.Open(t.Context(), f, readers.Request{Inputs: []string{dir}, Columns: c.columns, Options: o, Jobs: 1}); err != nil {
			got = err.Error()
		} else {
			for _, x := range src.Source.Schema() {
				got += " " + x.Name
			}
			src.Source.Close()
		}
		if !strings.Contains(got, c.want) || len(got) > len(c.want)+1 && !strings.Contains(c.want, " of ") {
			t.Errorf("columns %q: %s, want %s", c.columns, got, c.want)
		}
	}
}
