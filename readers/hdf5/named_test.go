package hdf5

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// placed has files of testdata below a folder: "cat/a.h5=cosmo_0.hdf5".
func placed(t testing.TB, files ...string) *format.Table {
	t.Helper()
	table := &format.Table{Roots: []string{t.TempDir()}}
	for _, f := range files {
		name, from, _ := strings.Cut(f, "=")
		data, err := os.ReadFile(filepath.Join("testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(table.Roots[0], name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o666); err != nil {
			t.Fatal(err)
		}
		table.Append(0, name, int64(len(data)), 0)
	}
	return table
}

func TestFilesThatAreSamplesKeepTheirNamesAndClasses(t *testing.T) {
	const bad = "error: "
	pets := placed(t, "cat/a.h5=cosmo_0.hdf5", "cat/b.hdf5=cosmo_1.hdf5", "dog/a.h5=cosmo_2.hdf5")
	clash := placed(t, "cat/a.h5=cosmo_0.hdf5", "cat/a.hdf5=cosmo_1.hdf5", "dog/a.h5=cosmo_2.hdf5")
	rows := placed(t, "cat/a.h5=rows_a.h5", "dog/a.h5=rows_a.h5")
	for _, c := range []struct {
		name    string
		table   *format.Table
		columns []string
		options format.Options
		want    string
	}{
		{"class folders", pets, []string{"unitPar", "cls"}, nil, "cat/a cls=0, cat/b cls=0, dog/a cls=1 of unitPar,cls(cat dog)"},
		{"by wish", pets, []string{"unitPar", "cls"}, format.Options{"sample": "file"}, "cat/a cls=0, cat/b cls=0, dog/a cls=1 of unitPar,cls(cat dog)"},
		{"without the column", pets, []string{"unitPar"}, nil, "cat/a, cat/b, dog/a of unitPar"},
		{"the column alone", pets, []string{"cls"}, nil, "cat/a cls=0, cat/b cls=0, dog/a cls=1 of cls(cat dog)"},
		{"as before", pets, []string{"unitPar"}, format.Options{"labels": "none", "keys": "ordinal"}, "-, -, - of unitPar"},
		{"no such column", pets, []string{"unitPar", "cls"}, format.Options{"labels": "none"}, bad + `no field "cls"`},
		{"no folders", placed(t, "a.h5=cosmo_0.hdf5", "b.h5=cosmo_1.hdf5"), []string{"unitPar"}, nil, "-, - of unitPar"},
		{"one name twice", clash, nil, nil, bad + "cat/a.h5 and cat/a.hdf5 have one name as samples, cat/a: --keys ordinal"},
		{"rows", rows, nil, format.Options{"labels": "folder"}, bad + "--labels folder is for files that are a sample each"},
		{"a column of rows", rows, []string{"cls"}, nil, bad + `no field "cls"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: c.table, Columns: c.columns, Options: c.options})
			if err != nil {
				if got := bad + err.Error(); !strings.HasPrefix(c.want, bad) || !strings.Contains(got, strings.TrimPrefix(c.want, bad)) {
					t.Errorf("got %s, want %s", got, c.want)
				}
				return
			}
			defer src.Close()
			if got := readertest.Named(t, src); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestNamedFilesConform(t *testing.T) {
	table := placed(t, "cat/a.h5=cosmo_0.hdf5", "cat/b.hdf5=cosmo_1.hdf5", "dog/deep/a.h5=cosmo_2.hdf5")
	readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, State: state})
	})
}
