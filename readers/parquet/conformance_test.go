package parquet

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		opts  format.Options
	}{
		{"flat", []string{"flat.parquet", "flat-v2-plain.parquet"}, nil},
		{"nested", []string{"nested.parquet", "nested-v2.parquet"}, nil},
		{"logical", []string{"logical.parquet", "logical-plain.parquet"}, nil},
		{"many pages in a row group", []string{"pages.parquet", "pages-v2.parquet"}, nil},
		{"with an index of pages", []string{"pages-index.parquet", "pages.parquet"}, nil},
		{"images", []string{"images.parquet", "images.parquet"}, nil},
		{"missing items", []string{"holes.parquet", "holes.parquet"}, format.Options{"null-items": "fill"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files []string
			for _, f := range c.files {
				files = append(files, testdata(f))
			}
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(files...), Columns: columns, State: state, Options: c.opts, Jobs: 2})
			})
		})
	}
	t.Run("folders that are columns", func(t *testing.T) {
		table := hiveTable(t)
		readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
			return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, State: state, Jobs: 2})
		})
	})
}

// hiveTable is a folder of files in folders that are columns.
func hiveTable(t testing.TB) *format.Table {
	dir := t.TempDir()
	b, err := os.ReadFile(testdata("polars.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	table := &format.Table{Roots: []string{dir}}
	for _, name := range []string{"year=2023/kind=a%20b/x.parquet", "year=2024/kind=__HIVE_DEFAULT_PARTITION__/x.parquet", "year=-7/kind=9/x.parquet"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
		table.Append(0, name, int64(len(b)), 0)
	}
	return table
}
