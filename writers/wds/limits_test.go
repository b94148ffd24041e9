package wds_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/wds"
)

// keyed is a batch of tiny samples with these names.
func keyed(keys ...string) *shardify.Batch {
	f := field("cls", shardify.U8)
	b := &shardify.Batch{Samples: len(keys), Columns: []shardify.Column{{Field: f, Data: make([]byte, len(keys))}}}
	offsets, text := []int64{0}, ""
	for _, k := range keys {
		text += k
		offsets = append(offsets, int64(len(text)))
	}
	k := media("__key__", "txt")
	b.Keys = &shardify.Column{Field: k, Data: []byte(text), Offsets: [][]int64{offsets}}
	return b
}

// TestBadSamplesAreNamed: a sample that a tar cannot hold gives an error that names the
// sample, and nothing is published.
func TestBadSamplesAreNamed(t *testing.T) {
	long := strings.Repeat("k", 97)
	copied := keyed("a")
	copied.IDs = []shardify.ID{{Copy: 1}}
	text := media("words", "txt")
	text.Levels = 2
	words := &shardify.Batch{Samples: 2, Columns: []shardify.Column{{Field: text, Data: []byte("ok\xff"), Offsets: [][]int64{{0, 1, 2}, {0, 2, 3}}}}}
	ragged := shardify.Field{Name: "v", DType: shardify.U8, Levels: 1, Ragged: true}
	dims := field("v.shape", shardify.I64, 2)
	shapes := func(a, b uint64) *shardify.Batch {
		return &shardify.Batch{Samples: 1, Columns: []shardify.Column{
			{Field: ragged, Data: make([]byte, 6), Offsets: [][]int64{{0, 6}}},
			{Field: dims, Data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a), b)},
		}}
	}
	img := []shardify.Field{media("image", "image"), labelled(field("image.ext", shardify.U8), "png\njpg")}
	image := &shardify.Batch{Samples: 1, Columns: []shardify.Column{{Field: img[0], Offsets: [][]int64{{0, 0}}}, {Field: img[1], Data: []byte{2}}}}
	rows := keyed("x", "x")
	rows.Keys, rows.IDs = nil, []shardify.ID{{Sample: 5}, {Sample: 5}}
	a, b := shardify.Field{Name: "a", DType: shardify.U8, Levels: 1, Counter: "n"}, shardify.Field{Name: "b", DType: shardify.U8, Levels: 1, Counter: "n"}
	counter := &shardify.Batch{Samples: 1, Columns: []shardify.Column{
		{Field: a, Data: []byte{1}, Offsets: [][]int64{{0, 1}}}, {Field: b, Data: []byte{1, 2}, Offsets: [][]int64{{0, 2}}},
	}}
	for name, c := range map[string]struct {
		batch *shardify.Batch
		kind  error
		text  string
	}{
		"dot in a key":      {keyed("a", "b.c"), shardify.ErrSchema, `sample 1: key "b.c"`},
		"key too long":      {keyed(long), shardify.ErrSchema, long},
		"same key":          {keyed("a", "b", "b"), shardify.ErrSchema, `sample 2: two samples in a row are named "b"`},
		"same row":          {rows, shardify.ErrSchema, `named "000000-000000005"`},
		"copy with a name":  {copied, shardify.ErrUnsupported, `sample "a"`},
		"text is no UTF-8":  {words, shardify.ErrCorrupt, "words sample 1"},
		"shape of other":    {shapes(2, 4), shardify.ErrSchema, "shape [2 4] for 6 values"},
		"negative shape":    {shapes(^uint64(1), ^uint64(2)), shardify.ErrSchema, "shape [-2 -3]"},
		"shape overflows":   {shapes(1<<32, 1<<32), shardify.ErrSchema, "for 6 values"},
		"no such extension": {image, shardify.ErrSchema, "extension code 2"},
		"unequal lengths":   {counter, shardify.ErrSchema, "share the counter n"},
	} {
		mem := memory.New()
		var schema []shardify.Field
		for i := range c.batch.Columns {
			schema = append(schema, c.batch.Columns[i].Field)
		}
		sink, err := wds.Format.New(mem, format.ShardSpec{Name: "s.tar", Schema: schema, Keyed: c.batch.Keys != nil})
		if err != nil {
			t.Fatal(err)
		}
		err = sink.Write(c.batch)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %q", name, err, c.text)
		}
		if _, err := sink.Commit(context.Background()); err == nil || len(mem.Files()) > 0 {
			t.Errorf("%s: published after an error", name)
		}
		if err := sink.Abort(); err != nil {
			t.Error(err)
		}
	}
}

// TestMemberOf8GiBIsRefused: its size does not fit a header. The memory is
// never touched.
func TestMemberOf8GiBIsRefused(t *testing.T) {
	big, err := syscall.Mmap(-1, 0, tar.MaxMember+1, syscall.PROT_READ, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Skipf("no 8 GiB of addresses: %v", err)
	}
	defer syscall.Munmap(big)
	f := media("bin", "bin")
	sink, err := wds.Format.New(nowhere{}, format.ShardSpec{Name: "s.tar", Schema: []shardify.Field{f}})
	if err != nil {
		t.Fatal(err)
	}
	err = sink.Write(&shardify.Batch{Samples: 1, Columns: []shardify.Column{{Field: f, Data: big, Offsets: [][]int64{{0, int64(len(big))}}}}})
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "mmap") {
		t.Errorf("error %v", err)
	}
}

// keepIndex is a store that keeps files up to 1 MB and drops the rest.
type keepIndex struct {
	nowhere
	files map[string]*bytes.Buffer
}

type keptFile struct {
	nothing
	*bytes.Buffer
}

func (f keptFile) Write(b []byte) (int, error) {
	if f.Len() < 1e6 {
		return f.Buffer.Write(b)
	}
	return len(b), nil
}

func (k keepIndex) Create(name string) (storage.Pending, error) {
	k.files[name] = new(bytes.Buffer)
	return keptFile{Buffer: k.files[name]}, nil
}

// TestShardPast4GiB: offsets beyond 32 bits in record and index.
func TestShardPast4GiB(t *testing.T) {
	if os.Getenv("SHARDIFY_LONG") == "" {
		t.Skip("SHARDIFY_LONG is not set: this hashes 5 GB")
	}
	k := keepIndex{files: map[string]*bytes.Buffer{}}
	batch := files(5, 1<<20)
	batch.Keys = nil
	schema := []shardify.Field{batch.Columns[0].Field}
	sink, err := wds.Format.New(k, format.ShardSpec{Name: "s.tar", Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	const n = 5000
	for ; batch.First.Sample < n; batch.First.Sample += 5 {
		if err := sink.Write(batch); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := sink.Commit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	const each = 1<<20 + tar.Block
	offsets, err := tar.ParseIndex(k.files["s.tar.idx"].Bytes(), n, rec.Bytes)
	if err != nil || rec.Bytes != n*each+tar.End || offsets[n-1] != (n-1)*each {
		t.Errorf("%d bytes, error %v", rec.Bytes, err)
	}
}

// TestKeyRule: a key of the longest length that the rule allows can be written,
// one byte more cannot.
func TestKeyRule(t *testing.T) {
	schema := []shardify.Field{field("cls", shardify.U8)}
	member, check := wds.Format.KeyRule(schema, nil)
	for _, d := range []int{0, 1} {
		b := keyed(strings.Repeat("k", tar.MaxName-1-member+d))
		if err := check(b.Key(0)); err != nil {
			t.Errorf("check: %v", err)
		}
		sink, err := wds.Format.New(nowhere{}, format.ShardSpec{Name: "s.tar", Schema: schema, Keyed: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Write(b); (err != nil) != (d == 1) {
			t.Errorf("%d bytes too many: %v", d, err)
		}
	}
	names, err := wds.Format.Members(kinds().Fields, nil)
	if err != nil || names["image"] != "*" || names["v"] != "v.npy" || names["v.shape"] != "" {
		t.Errorf("members %v, error %v", names, err)
	}
}
