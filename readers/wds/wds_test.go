package wds_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/store"
	"github.com/shardify/shardify/readers/readertest"
	reader "github.com/shardify/shardify/readers/wds"
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
	m.Members, _ = index.MemberNames(m.Schema)
	writertest.WriteManifest(t, dir, m)
	return dir, m
}

func table(dirs ...string) *shardify.Table {
	tab := &shardify.Table{Roots: dirs}
	for i := range dirs {
		tab.Append(i, index.ManifestName, shardify.SizeUnknown, 0)
	}
	return tab
}

func open(columns []string, state []byte, dirs ...string) (shardify.Source, error) {
	return reader.Open(context.Background(), shardify.OpenArgs{Table: table(dirs...), Columns: columns, State: state})
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
		m.Members, _ = index.MemberNames(m.Schema)
		writertest.WriteManifest(t, dir, m)
		src, err := open(nil, nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		mem := store.NewMem()
		sink, err := writer.Format.New(mem, shardify.ShardSpec{Name: m.Shards[0].Name, Schema: src.Schema(), Keyed: src.(shardify.Keyer).Keyed()})
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

// TestEveryFlipIsSeen: a flipped bit anywhere in tar and index is an error that
// names the shard, or lies in the data of a member and changes a value.
func TestEveryFlipIsSeen(t *testing.T) {
	dir, m := set(t, kinds(true), 2)
	want, err := openAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	step := 13 // meets every place of a block in time
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
	for _, name := range []string{m.Shards[0].Name, m.Shards[0].Files[0].Name} {
		good, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		seen, tried := 0, 0
		if len(good) < 1000 {
			step = 1
		}
		for at := 0; at < len(good); at += step {
			tried++
			if _, err := f.WriteAt([]byte{good[at] ^ 1<<(at%8)}, int64(at)); err != nil {
				t.Fatal(err)
			}
			got, err := openAll(dir)
			f.WriteAt(good[at:at+1], int64(at))
			switch {
			case err != nil:
				seen++
				if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), m.Shards[0].Name) {
					t.Fatalf("%s byte %d: %v", name, at, err)
				}
			case want.Equal(got) == nil:
				t.Errorf("%s byte %d: nobody saw it", name, at)
			}
		}
		t.Logf("%s: %d of %d flips are errors, the others change a value", name, seen, tried)
	}
	if got, err := openAll(dir); err != nil || want.Equal(got) != nil {
		t.Errorf("restored: %v", err)
	}
}

// TestDamagedSets: files that are cut, longer, missing or swapped, and manifests
// that say what cannot be.
func TestDamagedSets(t *testing.T) {
	rewrite := func(f func(m *index.Manifest)) func(*testing.T, string, *index.Manifest) {
		return func(t *testing.T, dir string, m *index.Manifest) { f(m); writertest.WriteManifest(t, dir, m) }
	}
	truncate := func(shard int, ext string, by int64) func(*testing.T, string, *index.Manifest) {
		return func(t *testing.T, dir string, m *index.Manifest) {
			name := filepath.Join(dir, m.Shards[shard].Name+ext)
			st, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(name, st.Size()+by); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string, m *index.Manifest)
		kind   error
		text   string
	}{
		"tar cut":      {truncate(1, "", -512), shardify.ErrCorrupt, "shard-000001.tar"},
		"tar longer":   {truncate(0, "", 512), shardify.ErrCorrupt, "shard-000000.tar"},
		"index cut":    {truncate(1, ".idx", -8), shardify.ErrCorrupt, "shard-000001.tar.idx"},
		"index longer": {truncate(0, ".idx", 8), shardify.ErrCorrupt, "shard-000000.tar.idx"},
		"no index": {func(t *testing.T, dir string, m *index.Manifest) {
			os.Remove(filepath.Join(dir, m.Shards[0].Name+".idx"))
		}, os.ErrNotExist, "shard-000000.tar.idx"},
		"tars swapped": {func(t *testing.T, dir string, m *index.Manifest) {
			a, b := filepath.Join(dir, m.Shards[0].Name), filepath.Join(dir, m.Shards[1].Name)
			os.Rename(a, a+"x")
			os.Rename(b, a)
			os.Rename(a+"x", b)
		}, shardify.ErrCorrupt, "shard-000000.tar"},
		"more samples":  {rewrite(func(m *index.Manifest) { m.Shards[0].Samples++; m.Samples++ }), shardify.ErrCorrupt, "shard-000000.tar"},
		"2^60 samples":  {rewrite(func(m *index.Manifest) { m.Shards[0].Samples += 1 << 60; m.Samples += 1 << 60 }), shardify.ErrCorrupt, "shard-000000.tar"},
		"other dtype":   {rewrite(func(m *index.Manifest) { m.Schema[0].DType = shardify.I32 }), shardify.ErrCorrupt, "x.npy"},
		"other shape":   {rewrite(func(m *index.Manifest) { m.Schema[0].Shape = []int{3, 2} }), shardify.ErrCorrupt, "x.npy"},
		"a huge shape":  {rewrite(func(m *index.Manifest) { m.Schema[0].Shape = []int{1 << 50} }), shardify.ErrCorrupt, "x.npy"},
		"other ragged":  {rewrite(func(m *index.Manifest) { m.Schema[5].Shape = []int{3} }), shardify.ErrCorrupt, "v.npy"},
		"counters":        {rewrite(func(m *index.Manifest) { m.Schema[3].Counter = "Jet" }), shardify.ErrCorrupt, "share the counter Jet"},
		"other members": {rewrite(func(m *index.Manifest) { m.Members["x"] = "y.npy" }), shardify.ErrCorrupt, "x.npy"},
		"a member less": {rewrite(func(m *index.Manifest) { delete(m.Members, "x") }), shardify.ErrCorrupt, "x: no member name"},
		"names of rows": {rewrite(func(m *index.Manifest) { m.Keyed = false }), shardify.ErrCorrupt, "not the name of a row"},
		"mmap":          {rewrite(func(m *index.Manifest) { m.Format = index.FormatMmap }), shardify.ErrUnsupported, "mmap"},
	} {
		dir, m := set(t, kinds(true), 12, 12)
		c.damage(t, dir, m)
		_, err := openAll(dir)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %q", name, err, c.text)
		}
	}
}

// TestClassesAreStrict: decimal integers within the type, written in one way.
func TestClassesAreStrict(t *testing.T) {
	for text, ok := range map[string]bool{
		"0": true, "-128": true, "127": true, "128": false, "-129": false, "+1": false, "01": false, "-0": false, "": false, " 1": false, "1\n": false, "1_0": false, "x": false,
		"000000000000000000001": false,
	} {
		dir := t.TempDir()
		b := make([]byte, 1024, 2048)
		index.PutTarHeader(b, []byte("000000-000000000.cls"), int64(len(text)))
		copy(b[512:], text)
		if text == "" {
			b = b[:512]
		}
		writeSet(t, dir, []shardify.Field{{Name: "cls", DType: shardify.I8}}, append(b, make([]byte, index.TarEnd)...), []int64{0, int64(len(b))})
		if _, err := openAll(dir); (err == nil) != ok || err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// writeSet makes a data set of one shard from its bytes.
func writeSet(t testing.TB, dir string, schema []shardify.Field, tarred []byte, offsets []int64) {
	t.Helper()
	var idx []byte
	for _, o := range offsets {
		idx = index.AppendTarIndex(idx, o)
	}
	sh := shardify.Shard{Name: "s.tar", Samples: int64(len(offsets) - 1), Bytes: int64(len(tarred)), Digest: index.DigestOf(tarred)}
	m := &index.Manifest{Format: index.FormatWDS, Schema: schema, Shards: []shardify.Shard{sh}, Samples: sh.Samples, Bytes: sh.Bytes}
	m.Members, _ = index.MemberNames(schema)
	writertest.WriteManifest(t, dir, m)
	for name, b := range map[string][]byte{"s.tar": tarred, "s.tar.idx": idx} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzRead: whatever stands in a tar, reading it ends, with an error of a kind
// or with columns that fit each other. fix gives headers a right checksum, so
// that most inputs come past it.
func FuzzRead(f *testing.F) {
	s := kinds(false)
	dir, m := set(f, s, 3)
	tarred, err := os.ReadFile(filepath.Join(dir, m.Shards[0].Name))
	if err != nil {
		f.Fatal(err)
	}
	one := len(tarred) - index.TarEnd
	f.Add(tarred[:one], int64(one/3)&^511, int64(one/3*2)&^511, true)
	f.Add(tarred[:one], int64(0), int64(1024), false)
	f.Fuzz(func(t *testing.T, b []byte, second, third int64, fix bool) {
		b = append(b[:len(b)&^511:len(b)&^511], make([]byte, index.TarEnd)...)
		for at := 0; fix && at+index.TarBlock <= len(b); at += index.TarBlock {
			if h := b[at : at+index.TarBlock]; string(h[257:262]) == "ustar" {
				copy(h[148:], "        ")
				copy(h[148:], fmt.Sprintf("%06o\x00", index.TarSum(h)))
			}
		}
		dir := t.TempDir()
		writeSet(t, dir, s.Fields, b, []int64{0, second, third, int64(len(b) - index.TarEnd)})
		if _, err := openAll(dir); err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("error of no kind: %v", err)
		}
	})
}
