package root

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/writers/mmap"
)

// shardOf writes a source as one shard, with its fields in the order of their names:
// the order that they have in the files is all in which twins differ.
func shardOf(t *testing.T, file string, target int64) []byte {
	t.Helper()
	ctx := context.Background()
	src, err := openFiles(format.Options{"object": "Events"}, nil, file)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	byName := func(a, b shardify.Field) int { return cmp.Compare(a.Name, b.Name) }
	schema := src.Schema()
	slices.SortFunc(schema, byName)
	var samples int64
	for sp := range src.Spans(ctx, 1<<40) {
		samples += sp.Samples()
	}
	o, err := format.CheckOptions(mmap.Format.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.New()
	sink, err := mmap.Format.New(mem, format.ShardSpec{Name: "s" + mmap.Format.Ext, Schema: schema, Samples: samples, Exact: true, Options: o})
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pool := shardify.NewPool(1 << 30)
	for sp := range src.Spans(ctx, target) {
		a, _ := pool.Grant(ctx, sp.Bytes)
		b, err := r.Read(ctx, sp, a)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(b.Columns, func(x, y shardify.Column) int { return byName(x.Field, y.Field) })
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
		a.Release()
	}
	if _, err := sink.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	blob, err := mem.Open("s" + mmap.Format.Ext)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]byte, blob.Size())
	if _, err := blob.ReadAt(out, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return out
}

// TestTwinsGiveIdenticalShards: the same events as TTree and as RNTuple, cut in other
// ways, are the same bytes in the end.
func TestTwinsGiveIdenticalShards(t *testing.T) {
	for _, name := range []string{"nano_dy", "nano_dimuon", "nano_tree"} {
		a := shardOf(t, filepath.Join(corpus.Dir(t, "root"), "ttree", name+".root"), 1<<40)
		b := shardOf(t, filepath.Join(corpus.Dir(t, "root"), "rntuple", name+"_rntuple.root"), 1<<16)
		if string(a) != string(b) {
			t.Errorf("%s: shards of %d and %d bytes differ", name, len(a), len(b))
		}
		t.Logf("%s: both shards have %d bytes", name, len(a))
	}
}
