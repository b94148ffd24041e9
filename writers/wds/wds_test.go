package wds_test

import (
	stdtar "archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	reader "github.com/shardify/shardify/readers/wds"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/wds"
	"github.com/shardify/shardify/writers/writertest"
)

// members completes a manifest as the merge does.
func members(m *index.Manifest) { m.Members, _ = tar.MemberNames(m.Schema) }

func TestContract(t *testing.T) {
	writertest.Run(t, wds.Format, writertest.OpenWith(reader.Format, members))
}

func field(name string, d shardify.DType, shape ...int) shardify.Field {
	return shardify.Field{Name: name, DType: d, Shape: shape}
}

func media(name, kind string) shardify.Field {
	return shardify.Field{Name: name, DType: shardify.U8, Levels: 1, Media: kind}
}

func labelled(f shardify.Field, labels string) shardify.Field {
	f.Attrs = map[string]string{"labels": labels}
	return f
}

// kinds has every kind of member and every dtype that a tar carries.
func kinds() writertest.Schema {
	s := writertest.Schema{Name: "kinds"}
	for d := shardify.Bool; d <= shardify.F64; d++ {
		if d != shardify.BF16 {
			s.Fields = append(s.Fields, field("s_"+d.String(), d), field("a_"+d.String(), d, 2, 3),
				shardify.Field{Name: "j_" + d.String(), DType: d, Shape: []int{2}, Levels: 1, Counter: "J"})
		}
	}
	words := media("words", "txt")
	words.Levels = 2
	ragged := shardify.Field{Name: "v", DType: shardify.F32, Shape: []int{2}, Levels: 1, Ragged: true}
	caption := media("caption", "txt")
	caption.Nullable = true
	s.Fields = append(s.Fields, field("none", shardify.F32, 0), shardify.Field{Name: "jnone", DType: shardify.F32, Shape: []int{0}, Levels: 1},
		words, field("v"+shardify.ShapeSuffix, shardify.I64, 2), ragged, caption, media("meta.json", "json"), media("h5", "h5"),
		media("image", "image"), labelled(field("image"+shardify.ExtSuffix, shardify.U8), "png\nbmp\njpg\nwebp"),
		media("left", "image"), labelled(field("left"+shardify.ExtSuffix, shardify.U8), "jpg\ntif"), field("cls", shardify.I16))
	return s
}

// TestEveryKindReadsBack: values survive the way through a tar.
func TestEveryKindReadsBack(t *testing.T) {
	for _, keyed := range []bool{false, true} {
		s := kinds()
		s.Keyed = keyed
		dir := t.TempDir()
		one, two := writertest.Batches(s, 11, 1, 11)[0], writertest.Batches(s, 7, 2, 7)[0]
		m := writertest.WriteSet(t, wds.Format, s, dir, one, two)
		src := writertest.OpenWith(reader.Format, members)(t, dir, m)
		writertest.Compare(t, writertest.Join([]*shardify.Batch{one, two}), writertest.ReadAll(t, src, 1<<20), keyed)
	}
}

// shard writes one shard into memory and returns its files.
func shard(t testing.TB, schema []shardify.Field, batches ...*shardify.Batch) (files map[string][]byte, rec shardify.Shard) {
	t.Helper()
	mem := memory.New()
	sink, err := wds.Format.New(mem, format.ShardSpec{Name: "shard-000000.tar", Schema: schema, Keyed: batches[0].Keys != nil})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := sink.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	rec, err = sink.Commit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return mem.Files(), rec
}

type member struct {
	name string
	data []byte
}

// untar reads a tar with the standard library.
func untar(t testing.TB, b []byte) (all []member) {
	t.Helper()
	r := stdtar.NewReader(bytes.NewReader(b))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Format != stdtar.FormatUSTAR || h.Mode != 0o444 || h.Uid != 0 || h.Uname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("header %+v", h)
		}
		all = append(all, member{h.Name, data})
	}
}

// TestTarIsInTheProfile: what the standard library finds is every member of
// every sample, adjacent, in the order of names; the linter finds nothing; the
// index points at the first member of each sample and at the end.
func TestTarIsInTheProfile(t *testing.T) {
	s := kinds()
	const n = 9
	files, rec := shard(t, s.Fields, writertest.Batches(s, n, 3, 4)...)
	b := files["shard-000000.tar"]
	counts, err := tar.Lint(context.Background(), bytes.NewReader(b), int64(len(b)), func(p tar.Problem) bool {
		if p.Rule != tar.RuleOtherField { // images keep their own extensions
			t.Errorf("linter: %s", p)
		}
		return true
	})
	if err != nil || counts.Samples != n {
		t.Errorf("linter: %+v, error %v", counts, err)
	}
	all := untar(t, b)
	per := len(all) / n
	if counts.Members != int64(len(all)) || len(all) != n*per {
		t.Fatalf("%d members of %d samples", len(all), n)
	}
	offsets, err := tar.ParseIndex(files["shard-000000.tar.idx"], n, rec.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		part := all[i*per : (i+1)*per]
		key := fmt.Sprintf("000000-%09d", i)
		for k, m := range part {
			if !strings.HasPrefix(m.name, key+".") || k > 0 && m.name <= part[k-1].name {
				t.Errorf("sample %d, member %d is %s", i, k, m.name)
			}
		}
		if head := b[offsets[i]:][:len(part[0].name)]; string(head) != part[0].name {
			t.Errorf("the index points at %q, want %q", head, part[0].name)
		}
	}
}

// TestLengthsAroundTheBuffers: no length of a member, nor of those before it,
// disturbs the bytes: the tar equals one by the standard library.
func TestLengthsAroundTheBuffers(t *testing.T) {
	const kib = 1 << 10
	var lengths []int
	for _, at := range []int{0, 512, 4 * kib, 256 * kib, 512 * kib} {
		for _, d := range []int{-513, -512, -511, -1, 0, 1, 511, 512, 513} {
			lengths = append(lengths, max(at+d, 0))
		}
	}
	slices.Sort(lengths)
	lengths = slices.Compact(lengths)
	for range 2 {
		for _, pre := range []int{0, 1, 600} { // shifts all that follows
			data, offsets := []byte{}, []int64{0}
			for i, n := range append([]int{pre}, lengths...) {
				data = append(data, bytes.Repeat([]byte{byte(i + 1)}, n)...)
				offsets = append(offsets, int64(len(data)))
			}
			f := media("bin", "bin")
			batch := &shardify.Batch{Samples: len(offsets) - 1, Columns: []shardify.Column{{Field: f, Data: data, Offsets: [][]int64{offsets}}}}
			files, rec := shard(t, []shardify.Field{f}, batch)
			var want bytes.Buffer
			w := stdtar.NewWriter(&want)
			for i := range batch.Samples {
				h := &stdtar.Header{Name: fmt.Sprintf("000000-%09d.bin", i), Size: offsets[i+1] - offsets[i], Mode: 0o444, ModTime: time.Unix(0, 0), Format: stdtar.FormatUSTAR}
				if err := w.WriteHeader(h); err != nil {
					t.Fatal(err)
				}
				w.Write(data[offsets[i]:offsets[i+1]])
			}
			w.Close()
			if !bytes.Equal(files["shard-000000.tar"], want.Bytes()) || rec.Digest != index.PieceDigestOf(want.Bytes()) {
				t.Errorf("%d and more bytes first: not the tar of archive/tar", pre)
			}
		}
		slices.Reverse(lengths)
	}
}

// TestImagesStandByTheirOwnNames: the extension decides name and place of an
// image, sample by sample.
func TestImagesStandByTheirOwnNames(t *testing.T) {
	schema := []shardify.Field{media("image", "image"), labelled(field("image.ext", shardify.U8), "png\nbmp"), field("cls", shardify.I64)}
	b := &shardify.Batch{Samples: 2, Columns: []shardify.Column{
		{Field: schema[0], Data: []byte("onetwo"), Offsets: [][]int64{{0, 3, 6}}},
		{Field: schema[1], Data: []byte{0, 1}},
		{Field: schema[2], Data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 7), ^uint64(0))},
	}}
	files, _ := shard(t, schema, b)
	var got []string
	for _, m := range untar(t, files["shard-000000.tar"]) {
		got = append(got, m.name+"="+string(m.data))
	}
	want := []string{"000000-000000000.cls=7", "000000-000000000.png=one", "000000-000000001.bmp=two", "000000-000000001.cls=-1"}
	if !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
}

// TestMissingValues: an opaque one is an empty member, a list of texts is null.
func TestMissingValues(t *testing.T) {
	words, caption := media("words", "txt"), media("caption", "txt")
	words.Levels, words.Nullable, caption.Nullable = 2, true, true
	b := &shardify.Batch{Samples: 3, Columns: []shardify.Column{
		{Field: words, Data: []byte("ab"), Offsets: [][]int64{{0, 2, 2, 2}, {0, 1, 2}}, Valid: []byte{1, 1, 0}},
		{Field: caption, Data: []byte("c"), Offsets: [][]int64{{0, 0, 1, 1}}, Valid: []byte{0, 1, 1}},
	}}
	s := writertest.Schema{Fields: []shardify.Field{words, caption}}
	files, _ := shard(t, s.Fields, b)
	var got []string
	for _, m := range untar(t, files["shard-000000.tar"]) {
		got = append(got, string(m.data))
	}
	if want := []string{"", `["a","b"]`, "c", "[]", "", "null"}; !slices.Equal(got, want) {
		t.Errorf("members %q, want %q", got, want)
	}
	dir := t.TempDir()
	src := writertest.OpenWith(reader.Format, members)(t, dir, writertest.WriteSet(t, wds.Format, s, dir, b))
	b.Columns[1].Valid[2] = 0 // a text of no bytes is a missing one
	writertest.Compare(t, b, writertest.ReadAll(t, src, 1<<20), false)
}

// TestSampleBytes: exact for fixed fields, near for others; shards are cut by it.
func TestSampleBytes(t *testing.T) {
	for _, b := range []*shardify.Batch{events(200), files(100, 7000), jagged(300, 20)} {
		var schema []shardify.Field
		for i := range b.Columns {
			schema = append(schema, b.Columns[i].Field)
		}
		_, rec := shard(t, schema, b)
		var payload int64
		for i := range b.Columns {
			payload += int64(len(b.Columns[i].Data))
		}
		fixed, factor := wds.Format.SampleBytes(schema, b.Keys != nil)
		want, have := float64(rec.Bytes-tar.End), float64(fixed)*float64(b.Samples)+factor*float64(payload)
		if r := have / want; r < 0.9 || r > 1.1 || schema[0].Levels == 0 && have != want {
			t.Errorf("%s: %.0f bytes estimated, %.0f written", schema[0].Name, have, want)
		}
	}
}

// TestWriteAllocatesNothingPerSample: the samples of a batch share all buffers.
func TestWriteAllocatesNothingPerSample(t *testing.T) {
	for _, b := range []*shardify.Batch{events(500), files(500, 700), jagged(500, 3)} {
		var schema []shardify.Field
		for i := range b.Columns {
			schema = append(schema, b.Columns[i].Field)
		}
		sink, err := wds.Format.New(nowhere{}, format.ShardSpec{Name: "s.tar", Samples: 1 << 16, Schema: schema, Keyed: b.Keys != nil})
		if err != nil {
			t.Fatal(err)
		}
		n := testing.AllocsPerRun(5, func() {
			if err := sink.Write(b); err != nil {
				t.Fatal(err)
			}
		})
		if n > 5 {
			t.Errorf("%s: %.0f allocations for %d samples", schema[0].Name, n, b.Samples)
		}
	}
}

// TestGNUTarReadsIt without a word on stderr.
func TestGNUTarReadsIt(t *testing.T) {
	gnu, err := exec.LookPath("tar")
	if err != nil {
		t.Skip("no tar here")
	}
	s := kinds()
	files, _ := shard(t, s.Fields, writertest.Batches(s, 5, 1, 5)...)
	name := t.TempDir() + "/s.tar"
	if err := os.WriteFile(name, files["shard-000000.tar"], 0o666); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(gnu, "tf", name)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if n := bytes.Count(out, []byte("\n")); err != nil || stderr.Len() > 0 || n != len(untar(t, files["shard-000000.tar"])) {
		t.Errorf("%d members, error %v, %s", n, err, stderr.String())
	}
}
