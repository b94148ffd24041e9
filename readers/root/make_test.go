package root

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// tableOf lists files, each a root of its own.
func tableOf(files ...string) *format.Table {
	table := &format.Table{}
	for _, f := range files {
		table.Roots = append(table.Roots, f)
		table.Append(len(table.Roots)-1, "", format.SizeUnknown, 0)
	}
	return table
}

func openFiles(o format.Options, columns []string, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(files...), Columns: columns, Options: o, Jobs: 2})
}

// loaded is a whole source in memory.
type loaded struct {
	samples int64
	cols    map[string]*shardify.Column
	order   []string
	left    []format.Leftover
}

// load reads files as one source, in spans of about target bytes.
func load(o format.Options, columns []string, target int64, files ...string) (*loaded, error) {
	src, err := openFiles(o, columns, files...)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return loadSource(src, target)
}

func loadSource(src shardify.Source, target int64) (*loaded, error) {
	all, err := readertest.Load(src, target)
	if err != nil {
		return nil, err
	}
	return &loaded{samples: all.Samples, cols: all.ByName, order: all.Order, left: src.(format.Reporter).Leftovers()}, nil
}

func testdata(name string) string { return filepath.Join("testdata", name) }

// copyTo copies a file.
func copyTo(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
