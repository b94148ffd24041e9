package writertest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/local"
)

// ReadBack opens the data set in dir. All files are there but the manifest,
// which is m: ReadBack completes it where the format wants more, and writes it
// (WriteManifest).
type ReadBack func(t *testing.T, dir string, m *index.Manifest) shardify.Source

// OpenWith reads back with a reader of data set folders; complete may be nil.
func OpenWith(f format.Input, complete func(*index.Manifest)) ReadBack {
	return func(t *testing.T, dir string, m *index.Manifest) shardify.Source {
		t.Helper()
		if complete != nil {
			complete(m)
		}
		WriteManifest(t, dir, m)
		table := &format.Table{Roots: []string{dir}}
		table.Append(0, index.ManifestName, format.SizeUnknown, 0)
		options, err := format.CheckOptions(f.Options, nil)
		if err != nil {
			t.Fatal(err)
		}
		src, err := f.Open(context.Background(), format.OpenArgs{Table: table, Options: options})
		if err != nil {
			t.Fatal(err)
		}
		return src
	}
}

// WriteManifest makes dir a data set.
func WriteManifest(t testing.TB, dir string, m *index.Manifest) {
	t.Helper()
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, index.ManifestName), b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// WriteSet publishes a data set of shards of n samples each, without manifest,
// in dir. Batches are the samples of all shards, and are not changed.
func WriteSet(t testing.TB, f format.Output, s Schema, dir string, batches ...*shardify.Batch) *index.Manifest {
	t.Helper()
	options, err := format.CheckOptions(f.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	st := local.NewDir(dir, local.SyncNone)
	m := &index.Manifest{Format: f.Name, Keyed: s.Keyed, Schema: s.Fields}
	for i, b := range batches {
		spec := format.ShardSpec{
			Name: "shard-00000" + string(rune('0'+i)) + f.Ext, Schema: s.Fields,
			Samples: int64(b.Samples), Exact: true, Keyed: s.Keyed, Options: options,
		}
		sink, err := f.New(st, spec)
		if err == nil {
			err = sink.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
		sh, err := sink.Commit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		m.Shards = append(m.Shards, sh)
		m.Samples += sh.Samples
		m.Bytes += sh.Bytes
	}
	return m
}

// reads: two shards read back, in spans of several sizes, are the samples that
// were written.
func (c *contract) reads(t *testing.T) {
	if c.readBack == nil {
		t.Skip("no reader was given")
	}
	dir := t.TempDir()
	one, two := Batches(c.schema, samples, 1, samples)[0], Batches(c.schema, 2*samples, 2, 2*samples)[0]
	m := WriteSet(t, c.format, c.schema, dir, one, two)
	src := c.readBack(t, dir, m)
	defer src.Close()
	want := Join([]*shardify.Batch{one, two})
	for _, target := range []int64{1, 700, 1 << 30} {
		Compare(t, want, ReadAll(t, src, target), c.schema.Keyed)
	}
}

// ReadAll reads a whole source in spans of about target bytes.
func ReadAll(t testing.TB, src shardify.Source, target int64) *shardify.Batch {
	t.Helper()
	var batches []*shardify.Batch
	ctx := context.Background()
	pool := shardify.NewPool(1 << 30)
	for span, err := range src.Spans(ctx, target) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := src.Reader(span.Run)
		if err != nil {
			t.Fatal(err)
		}
		mem, err := pool.Grant(ctx, span.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Read(ctx, span, mem)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		if int64(b.Samples) != span.Samples() || b.ID(0) != (shardify.ID{Input: span.Input, Sample: span.Lo}) {
			t.Fatalf("span %+v gave %d samples from %+v", span, b.Samples, b.ID(0))
		}
		batches = append(batches, Slice(b, 0, b.Samples))
		mem.Release()
		r.Close()
	}
	return Join(batches)
}

// Compare checks that two batches have the same values, field by field by name.
func Compare(t testing.TB, want, have *shardify.Batch, keyed bool) {
	t.Helper()
	if want.Samples != have.Samples || len(want.Columns) != len(have.Columns) {
		t.Fatalf("read %d samples of %d fields, want %d of %d", have.Samples, len(have.Columns), want.Samples, len(want.Columns))
	}
	for i := range want.Columns {
		w := &want.Columns[i]
		j := slices.IndexFunc(have.Columns, func(c shardify.Column) bool { return c.Name == w.Name })
		if j < 0 {
			t.Errorf("field %s is missing", w.Name)
			continue
		}
		compareColumn(t, w, &have.Columns[j], want.Samples)
	}
	if keyed {
		if have.Keys == nil {
			t.Fatal("no keys")
		}
		compareColumn(t, want.Keys, have.Keys, want.Samples)
	}
}

func compareColumn(t testing.TB, w, h *shardify.Column, n int) {
	t.Helper()
	if w.DType != h.DType || w.Levels != h.Levels || !slices.Equal(w.Shape, h.Shape) || w.Media != h.Media || w.Nullable != h.Nullable {
		t.Errorf("field %s: read %+v, want %+v", w.Name, h.Field, w.Field)
		return
	}
	if !bytes.Equal(marks(w.Valid, n), marks(h.Valid, n)) {
		t.Errorf("field %s: valid marks %v, want %v", w.Name, h.Valid, w.Valid)
	}
	for l := range w.Offsets {
		if !slices.Equal(w.Offsets[l], h.Offsets[l]) {
			t.Errorf("field %s: offsets of level %d %v, want %v", w.Name, l, h.Offsets[l], w.Offsets[l])
			return
		}
	}
	if !bytes.Equal(w.Data, h.Data) {
		t.Errorf("field %s: other values", w.Name)
	}
}
