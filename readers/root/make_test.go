package root

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
)

// corpusDir is the folder of files with expected values beside them.
func corpusDir(t testing.TB) string {
	dir := os.Getenv("SHARDIFY_CORPUS_ROOT")
	if dir == "" {
		dir = "../../../shared/corpus/root"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no corpus: %v (SHARDIFY_CORPUS_ROOT names its folder)", err)
	}
	return dir
}

// tableOf lists files, each a root of its own.
func tableOf(files ...string) *shardify.Table {
	table := &shardify.Table{}
	for _, f := range files {
		table.Roots = append(table.Roots, f)
		table.Append(len(table.Roots)-1, "", shardify.SizeUnknown, 0)
	}
	return table
}

func openFiles(o shardify.Options, columns []string, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), shardify.OpenArgs{Table: tableOf(files...), Columns: columns, Options: o, Jobs: 2})
}

// loaded is a whole source in memory.
type loaded struct {
	samples int64
	cols    map[string]*shardify.Column
	order   []string
	left    []shardify.Leftover
}

// load reads files as one source, in spans of about target bytes.
func load(o shardify.Options, columns []string, target int64, files ...string) (*loaded, error) {
	src, err := openFiles(o, columns, files...)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return loadSource(src, target)
}

func loadSource(src shardify.Source, target int64) (*loaded, error) {
	ctx := context.Background()
	out := &loaded{cols: map[string]*shardify.Column{}, left: src.(shardify.Reporter).Leftovers()}
	for _, f := range src.Schema() {
		out.order = append(out.order, f.Name)
		col := &shardify.Column{Field: f}
		for range f.Levels {
			col.Offsets = append(col.Offsets, []int64{0})
		}
		out.cols[f.Name] = col
	}
	r, err := src.Reader(0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	pool := shardify.NewPool(1 << 40)
	for sp, err := range src.Spans(ctx, target) {
		if err != nil {
			return nil, err
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return nil, err
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			err = b.Match(src.Schema())
		}
		if err != nil {
			mem.Release()
			return nil, err
		}
		out.add(b)
		mem.Release()
	}
	return out, nil
}

func (l *loaded) add(b *shardify.Batch) {
	l.samples += int64(b.Samples)
	for i := range b.Columns {
		c := &b.Columns[i]
		to := l.cols[c.Name]
		to.Data = append(to.Data, c.Data...)
		to.Valid = append(to.Valid, c.Valid...)
		for level, offs := range c.Offsets {
			base := to.Offsets[level][len(to.Offsets[level])-1]
			for _, o := range offs[1:] {
				to.Offsets[level] = append(to.Offsets[level], base+o)
			}
		}
	}
}

func testdata(name string) string { return filepath.Join("testdata", name) }
