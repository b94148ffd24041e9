package wds_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/readers/readertest"
	reader "github.com/shardify/shardify/readers/wds"
	"github.com/shardify/shardify/storage/memory"
	writer "github.com/shardify/shardify/writers/wds"
	"github.com/shardify/shardify/writers/writertest"
)

func media(name, kind string, levels int) shardify.Field {
	return shardify.Field{Name: name, DType: shardify.U8, Levels: levels, Media: kind}
}

// kinds has every kind of member.
func kinds(keyed bool) writertest.Schema {
	caption := media("caption", "txt", 1)
	caption.Nullable = true
	return writertest.Schema{Keyed: keyed, Fields: []shardify.Field{
		{Name: "x", DType: shardify.F32, Shape: []int{2, 3}},
		{Name: "Jet_pt", DType: shardify.F32, Levels: 1, Counter: "Jet"},
		{Name: "Jet_id", DType: shardify.I8, Levels: 1, Counter: "Jet"},
		{Name: "none", DType: shardify.I16, Shape: []int{0}, Levels: 1},
		{Name: "v", DType: shardify.F64, Levels: 1, Ragged: true},
		{Name: "v" + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{2}},
		{Name: "cls", DType: shardify.I16},
		caption, media("words", "txt", 2), media("image", "image", 1),
		{Name: "image" + shardify.ExtSuffix, DType: shardify.U8, Attrs: map[string]string{"labels": "png\nbmp\njpg"}},
	}}
}

// set writes a data set of shards with these sample counts, and returns its
// manifest.
func set(t testing.TB, s writertest.Schema, counts ...int) (dir string, m *index.Manifest) {
	t.Helper()
	dir = t.TempDir()
	var batches []*shardify.Batch
	at := int64(0)
	for i, n := range counts {
		b := writertest.Batches(s, n, uint64(i+1), n)[0]
		b.First.Sample = at
		at += int64(n)
		batches = append(batches, b)
	}
	m = writertest.WriteSet(t, writer.Format, s, dir, batches...)
	m.Members, _ = tar.MemberNames(m.Schema)
	writertest.WriteManifest(t, dir, m)
	return dir, m
}

func table(dirs ...string) *format.Table {
	tab := &format.Table{Roots: dirs}
	for i := range dirs {
		tab.Append(i, index.ManifestName, format.SizeUnknown, 0)
	}
	return tab
}

func open(columns []string, state []byte, dirs ...string) (shardify.Source, error) {
	return reader.Open(context.Background(), format.OpenArgs{Table: table(dirs...), Columns: columns, State: state})
}

func TestConformance(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		name := "Rows"
		if keyed {
			name = "Keyed"
		}
		t.Run(name, func(t *testing.T) {
			s := kinds(keyed)
			a, _ := set(t, s, 31, 1, 17)
			b, _ := set(t, s, 23)
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return open(columns, state, a, b)
			})
		})
	}
}

// TestShardingAgainKeepsTheBytes: names of rows, gaps between them and copies
// included.
func TestShardingAgainKeepsTheBytes(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		s := kinds(keyed)
		dir := t.TempDir()
		b := writertest.Batches(s, 19, 1, 19)[0]
		if !keyed {
			for i := range b.Samples { // three inputs, every other sample, then a copy
				b.IDs = append(b.IDs, shardify.ID{Input: uint32(i / 7), Sample: int64(i % 7 * 2), Copy: uint16(i & 1)})
			}
		}
		m := writertest.WriteSet(t, writer.Format, s, dir, b)
		m.Members, _ = tar.MemberNames(m.Schema)
		writertest.WriteManifest(t, dir, m)
		src, err := open(nil, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		mem := memory.New()
		sink, err := writer.Format.New(mem, format.ShardSpec{Name: m.Shards[0].Name, Schema: src.Schema(), Keyed: src.(format.Keyer).Keyed()})
		if err != nil {
			t.Fatal(err)
		}
		readertest.Each(t, src, readertest.Spans(t, src, 3000), func(b *shardify.Batch) {
			if err := sink.Write(b); err != nil {
				t.Fatal(err)
			}
		})
		if _, err := sink.Commit(context.Background()); err != nil {
			t.Fatal(err)
		}
		for name, got := range mem.Files() {
			want, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("keyed %v: %s differs, error %v", keyed, name, err)
			}
		}
	}
}

// TestSpansAreCutByBytes: no span of several samples exceeds the target by more
// than its last sample, and sizes are near the decoded ones.
func TestSpansAreCutByBytes(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.F32, Shape: []int{100}}, {Name: "y", DType: shardify.I64}}}
	dir, _ := set(t, s, 50, 50)
	for columns, each := range map[string]int64{"": 408, "x": 400, "y": 8} {
		var globs []string
		if columns != "" {
			globs = []string{columns}
		}
		src, err := open(globs, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		spans := readertest.Spans(t, src, 10*(each+24)) // 24 for the name of a row
		if len(spans) != 10 || spans[0].Samples() != 10 || spans[0].Bytes != 10*(each+24) {
			t.Errorf("columns %q: %d spans, the first %+v", columns, len(spans), spans[0])
		}
	}
}

// TestCheckKeysReadsTheNamesOfLongerMembers: names fit the members that they
// have; longer ones are checked key by key.
func TestCheckKeysReadsTheNamesOfLongerMembers(t *testing.T) {
	dir, _ := set(t, kinds(true), 30, 5)
	src, err := open(nil, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	k := src.(format.Keyer)
	never := func(key []byte) error { return errors.New("asked for " + string(key)) }
	if err := k.CheckKeys(len("caption.txt"), never); err != nil || !k.Keyed() {
		t.Errorf("keyed %v, members of their own length: %v", k.Keyed(), err)
	}
	if err := k.CheckKeys(len("caption.txt")+1, never); err == nil || !strings.Contains(err.Error(), "35 samples") || !strings.Contains(err.Error(), "d0/n000000") {
		t.Errorf("longer members: %v", err)
	}
	const fits = tar.MaxName - 1 - len("d0/n000000")
	if err := k.CheckKeys(fits, tar.CheckKey); err != nil {
		t.Errorf("members that just fit: %v", err)
	}
	if err := k.CheckKeys(fits+1, tar.CheckKey); !errors.Is(err, shardify.ErrSchema) {
		t.Errorf("members too long by one: %v", err)
	}
}

// TestReadAllocatesNothingPerSample: the samples of a span share all buffers.
func TestReadAllocatesNothingPerSample(t *testing.T) {
	s := kinds(true)
	s.Fields = s.Fields[:8] // no lists of texts
	const n = 300
	dir, _ := set(t, s, n)
	src, err := open(nil, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	span := readertest.Spans(t, src, 1<<30)[0]
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pool := shardify.NewPool(1 << 30)
	allocs := testing.AllocsPerRun(5, func() {
		mem, err := pool.Grant(context.Background(), span.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(context.Background(), span, mem); err != nil {
			t.Fatal(err)
		}
		mem.Release()
	})
	if allocs > n/4 {
		t.Errorf("%.0f allocations for %d samples", allocs, n)
	}
}

// readAll reads a whole source and returns the first error.
func readAll(src shardify.Source) (*readertest.Content, error) {
	ctx := context.Background()
	pool := shardify.NewPool(1 << 30)
	c := readertest.NewContent()
	r, err := src.Reader(0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for sp, err := range src.Spans(ctx, 2000) {
		if err != nil {
			return nil, err
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return nil, err
		}
		b, err := r.Read(ctx, sp, mem)
		if err != nil {
			return nil, err
		}
		if err := b.Check(); err != nil {
			return nil, err
		}
		c.Add(b, 0, b.Samples)
		mem.Release()
	}
	return c, nil
}

func openAll(dir string) (*readertest.Content, error) {
	src, err := open(nil, nil, dir)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	return readAll(src)
}
