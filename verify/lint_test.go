package verify

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	megatronindex "github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/verify/problem"
	"github.com/shardify/shardify/writers/writertest"
)

// tarOf makes a tar as Go's library does.
func tarOf(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		h.Size, h.Mode = 3, 0o444
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func safetensors(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestLintNamesWhatLoadersMisread(t *testing.T) {
	plain := tar.Header{Format: tar.FormatUSTAR}
	name := func(n string) tar.Header { h := plain; h.Name = n; return h }
	good := tarOf(t, name("a.txt"), name("b.txt"))
	for _, c := range []struct {
		file, want string
		content    []byte
	}{
		{"good.tar", "", good},
		{"padded.tar", "", append(slices.Clone(good), make([]byte, 10240-len(good))...)},
		{"pax.tar", "PAX", tarOf(t, tar.Header{Name: "a.txt", Format: tar.FormatPAX, ModTime: time.Unix(1, 5)})},
		{"long.tar", "long name", tarOf(t, tar.Header{Name: strings.Repeat("n", 120) + ".txt", Format: tar.FormatGNU})},
		{"scattered.tar", "several places", tarOf(t, name("0.a"), name("1.a"), name("0.b"), name("1.b"))},
		{"twice.tar", "twice", tarOf(t, name("0.a"), name("0.a"))},
		{"nodot.tar", "without extension", tarOf(t, name("0.a"), name("README"))},
		{"hidden.tar", "hidden", tarOf(t, name("d/._0.a"), name("d/0.a"))},
		{"upper.tar", "upper case", tarOf(t, name("0.JPG"))},
		{"cut.tar", "", good[:700]},
		{"noend.tar", "no end", good[:2048]},
		{"badsum.tar", "checksum", append([]byte{'x'}, good[1:]...)},
		{"good.safetensors", "", safetensors(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  `, 8)},
		{"rest.safetensors", "data", safetensors(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 9)},
		{"odd.safetensors", "multiple of 4", safetensors(`{"u":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"x":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}}`, 7)},
		{"hole.safetensors", "before ends", safetensors(`{"x":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3)},
		{"empty.tar", "no end", nil},
		{"noname", "neither", []byte("hello")},
	} {
		t.Run(c.file, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(p, c.content, 0o666); err != nil {
				t.Fatal(err)
			}
			r, err := Lint(context.Background(), []string{p}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			ok := strings.HasPrefix(c.file, "good") || strings.HasPrefix(c.file, "padded")
			if r.OK() != ok || !slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return strings.Contains(p.String(), c.want) }) && !ok {
				t.Errorf("want %q:%s", c.want, list(r))
			}
			if r.State != StateForeign || r.Counts.Shards != 1 {
				t.Errorf("%s %+v", r.State, r.Counts)
			}
		})
	}
}

// TestLintOfPairsOfMegatron: tokens and documents are held against the index.
func TestLintOfPairsOfMegatron(t *testing.T) {
	lengths := []int32{3, 0, 2}
	idx, bin := megatronindex.Append(nil, shardify.U16, lengths), make([]byte, 10)
	damaged := func(at int, v byte) []byte { b := slices.Clone(idx); b[at] = v; return b }
	for _, c := range []struct {
		name, want string
		idx, bin   []byte
	}{
		{"good", "", idx, bin},
		{"more tokens", "the data have 12", idx, append(slices.Clone(bin), 0, 0)},
		{"one more for each document", "BlendCorpus", idx, append(slices.Clone(bin), make([]byte, 6)...)},
		{"place", "begins at byte 4", damaged(34+12+8, 4), bin},
		{"document", "document 1 of 3 begins", damaged(34+36+8, 9), bin},
		{"cut", "take", idx[:len(idx)-1], bin},
		{"no tokens", "the tokens beside it", idx, nil},
	} {
		dir := t.TempDir()
		for name, b := range map[string][]byte{"a.idx": c.idx, "a.bin": c.bin, "other.idx": []byte("v1.2 1\n")} {
			if b == nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r, err := Lint(context.Background(), []string{dir}, Options{})
		if err != nil {
			t.Fatal(c.name, err)
		}
		found := slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return strings.Contains(p.String(), c.want) })
		if r.OK() != (c.want == "") || !r.OK() && !found || r.Counts.Shards != 1 {
			t.Errorf("%s: %d files, want %q:%s", c.name, r.Counts.Shards, c.want, list(r))
		}
	}
}

// TestOurOwnShardsPassTheLint, and as single files they are checked to the last
// byte.
func TestOurOwnShardsPassTheLint(t *testing.T) {
	for _, s := range writertest.Schemas() {
		if s.Name == "images of several types" {
			continue // kept as they are, which the lint rightly reports
		}
		for _, format := range []string{"mmap", "wds"} {
			sink, o := sinkOf(t, format)
			if sink.Check(s.Fields, s.Keyed, o) != nil {
				continue
			}
			dir := onDisk(t, build(t, format, makeSource(s, 9, 1), 5))
			os.Remove(filepath.Join(dir, "shardify.json"))
			os.RemoveAll(filepath.Join(dir, ".shardify"))
			if !IsForeign(dir) {
				t.Fatal("a folder of shards is taken for a data set")
			}
			r, err := Lint(context.Background(), []string{dir}, Options{})
			if err != nil || !r.OK() || r.Counts.Shards != 2 || r.Counts.Samples != 9 {
				t.Errorf("%s/%s: %v %+v%s", format, s.Name, err, r, list(r))
			}
			if format == "wds" {
				continue
			}
			p := filepath.Join(dir, "shard-000001.safetensors")
			b, _ := os.ReadFile(p)
			b[len(b)-1] ^= 1
			os.WriteFile(p, b, 0o666)
			if r, err = Lint(context.Background(), []string{p}, Options{}); err != nil || r.OK() {
				t.Errorf("%s/%s: the last byte is not checked: %v", format, s.Name, err)
			}
		}
	}
}

func TestLintOfNothingIsAnError(t *testing.T) {
	if _, err := Lint(context.Background(), []string{t.TempDir()}, Options{}); err == nil {
		t.Error("an empty folder passes")
	}
	if _, err := Lint(context.Background(), []string{"/nowhere/x.tar"}, Options{}); err == nil {
		t.Error("a missing file passes")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := filepath.Join(t.TempDir(), "a.tar")
	os.WriteFile(p, tarOf(t, tar.Header{Name: "a.b"}), 0o666)
	if _, err := Lint(ctx, []string{p}, Options{}); err == nil {
		t.Error("a cancelled lint passes")
	}
}

// TestADamagedIndexElsewhereIsNamed: without its tars, too.
func TestADamagedIndexElsewhereIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shardify.tars"), []byte("damage"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Lint(context.Background(), []string{dir}, Options{})
	if err != nil || len(r.Problems) != 1 || !strings.HasSuffix(r.Next, "shardify index FOLDER -o "+dir) {
		t.Errorf("%v, %v", r, err)
	}
}
