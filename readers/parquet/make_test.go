package parquet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

// tableOf lists files that stand for themselves.
func tableOf(files ...string) *format.Table {
	t := &format.Table{}
	for _, f := range files {
		t.Roots = append(t.Roots, f)
		size := int64(format.SizeUnknown)
		if st, err := os.Stat(f); err == nil {
			size = st.Size()
		}
		t.Append(len(t.Roots)-1, "", size, 0)
	}
	return t
}

func testdata(name string) string { return filepath.Join("testdata", name) }

func openFiles(opts format.Options, columns []string, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: tableOf(files...), Columns: columns, Options: opts, Jobs: 2})
}

// read reads a source whole, as one batch a span of the whole file.
func read(t testing.TB, src shardify.Source, target int64, do func(b *shardify.Batch)) error {
	t.Helper()
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pool := shardify.NewPool(1 << 30)
	for _, sp := range readertest.Spans(t, src, target) {
		mem, err := pool.Grant(context.Background(), sp.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Read(context.Background(), sp, mem)
		if err == nil {
			if err := b.Match(src.Schema()); err != nil {
				t.Fatal(err)
			}
			do(b)
		}
		mem.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}
