package wds_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/writers/writertest"
)

// TestEveryFlipIsSeen: a flipped bit anywhere in tar and index is an error that names the
// shard, or is in the data of a member and changes a value.
func TestEveryFlipIsSeen(t *testing.T) {
	race.Sequential(t)
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
				t.Errorf("%s byte %d: not noticed", name, at)
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
	race.Sequential(t)
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
		"counters":      {rewrite(func(m *index.Manifest) { m.Schema[3].Counter = "Jet" }), shardify.ErrCorrupt, "share the counter Jet"},
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
		tar.PutHeader(b, []byte("000000-000000000.cls"), int64(len(text)))
		copy(b[512:], text)
		if text == "" {
			b = b[:512]
		}
		writeSet(t, dir, []shardify.Field{{Name: "cls", DType: shardify.I8}}, append(b, make([]byte, tar.End)...), []int64{0, int64(len(b))})
		if _, err := openAll(dir); (err == nil) != ok || err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBooleansAreChecked: a byte of a boolean array is 0 or 1.
func TestBooleansAreChecked(t *testing.T) {
	for _, value := range []byte{0, 1, 2, 255} {
		dir := t.TempDir()
		array := append(npy.AppendHeader(nil, shardify.Bool, []int64{3}), 1, value, 0)
		b := make([]byte, 512, 2048)
		tar.PutHeader(b, []byte("000000-000000000.flag.npy"), int64(len(array)))
		b = append(b, array...)
		b = append(b, make([]byte, tar.Pad(int64(len(array))))...)
		writeSet(t, dir, []shardify.Field{{Name: "flag", DType: shardify.Bool, Shape: []int{3}}}, append(b, make([]byte, tar.End)...), []int64{0, int64(len(b))})
		_, err := openAll(dir)
		if bad := value > 1; (err != nil) != bad || bad && (!errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "flag")) {
			t.Errorf("value %d: %v", value, err)
		}
	}
}

// TestAShardThatIsGoneIsNoDamage: what leaves damage out must not leave it out.
func TestAShardThatIsGoneIsNoDamage(t *testing.T) {
	dir, m := set(t, kinds(true), 12, 12)
	src, err := open(nil, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Remove(filepath.Join(dir, m.Shards[0].Name)); err != nil {
		t.Fatal(err)
	}
	_, err = r.Read(t.Context(), shardify.Span{Hi: 2, Bytes: 1 << 20}, nil)
	if !errors.Is(err, os.ErrNotExist) || errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("error is %v", err)
	}
}

// TestPast4GiB: offsets and sizes beyond 32 bits. The file is sparse.
func TestPast4GiB(t *testing.T) {
	const big = 5<<30 + 7
	schema := []shardify.Field{media("a", "bin", 1)}
	dir := t.TempDir()
	head, tail := make([]byte, tar.Block), make([]byte, 2*tar.Block+tar.End)
	tar.PutHeader(head, []byte("000000-000000000.a.bin"), big)
	tar.PutHeader(tail, []byte("000000-000000001.a.bin"), 4)
	copy(tail[tar.Block:], "last")
	second := int64(tar.Block + big + tar.Pad(big))
	f, err := os.Create(filepath.Join(dir, "s.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(tail, second); err != nil {
		t.Skipf("no sparse file here: %v", err)
	}
	if _, err := f.WriteAt(head, 0); err != nil {
		t.Fatal(err)
	}
	size := second + int64(len(tail))
	writeIndex(t, dir, schema, size, index.PiecePrefix+strings.Repeat("0", 32), []int64{0, second, size - tar.End})
	src, err := open(nil, nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	spans := readertest.Spans(t, src, 1<<20)
	if len(spans) != 2 || spans[0].Bytes < big {
		t.Fatalf("spans %+v", spans)
	}
	readertest.Each(t, src, spans[1:], func(b *shardify.Batch) {
		if string(b.Columns[0].Data) != "last" || string(b.Key(0)) != "000000-000000001" {
			t.Errorf("sample %s is %q", b.Key(0), b.Columns[0].Data)
		}
	})
}

// TestSamplesAreStrict: each has all members, once, in order, under one key, and
// no two neighbours share a key.
func TestSamplesAreStrict(t *testing.T) {
	schema := []shardify.Field{{Name: "cls", DType: shardify.I8}, media("txt", "txt", 1), media("a", "bin", 1)}
	for text, c := range map[string][][]string{
		"":                       {{"0-0.a.bin", "0-0.cls", "0-0.txt"}, {"0-1.a.bin", "0-1.cls", "0-1.txt"}},
		"has 2 members, want":    {{"0-0.a.bin", "0-0.txt"}, {"0-1.a.bin", "0-1.cls", "0-1.txt"}},
		"one of .cls .txt":       {{"0-0.a.bin", "0-0.a.bin", "0-0.cls", "0-0.txt"}},
		"one of .txt":            {{"0-0.cls", "0-0.a.bin", "0-0.txt"}},
		"one of .a.bin .cls":     {{"0-0.jpg", "0-0.png", "0-0.txt"}},
		"0-1.cls":                {{"0-0.a.bin", "0-1.cls", "0-0.txt"}},
		"in a row are named 0":   {{"0-0.a.bin", "0-0.cls", "0-0.txt"}, {"0-0.a.bin", "0-0.cls", "0-0.txt"}},
		"not a key of this form": {{"d/.x.a.bin", "0-0.cls", "0-0.txt"}},
		"no dot in the name":     {{"README", "NEWS", "INSTALL"}},
		"is not the name of a":   {{"x.a.bin", "x.cls", "x.txt"}},
	} {
		var tarred []byte
		offsets := []int64{0}
		for _, sample := range c {
			for _, m := range sample {
				h := make([]byte, 1024)
				m = strings.NewReplacer("0-0", "000000-000000000", "0-1", "000000-000000001").Replace(m)
				tar.PutHeader(h, []byte(m), 1)
				h[512] = '7'
				tarred = append(tarred, h...)
			}
			offsets = append(offsets, int64(len(tarred)))
		}
		dir := t.TempDir()
		writeSet(t, dir, schema, append(tarred, make([]byte, tar.End)...), offsets)
		_, err := openAll(dir)
		want := strings.ReplaceAll(text, "0-1.cls", "000000-000000001.cls")
		if text == "" && err != nil || text != "" && (!errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", c, err, want)
		}
	}
}

// writeSet makes a data set of one shard from its bytes.
func writeSet(t testing.TB, dir string, schema []shardify.Field, tarred []byte, offsets []int64) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "s.tar"), tarred, 0o666); err != nil {
		t.Fatal(err)
	}
	writeIndex(t, dir, schema, int64(len(tarred)), index.PieceDigestOf(tarred), offsets)
}

// writeIndex writes all of a data set but its tar.
func writeIndex(t testing.TB, dir string, schema []shardify.Field, size int64, digest string, offsets []int64) {
	t.Helper()
	var idx []byte
	for _, o := range offsets {
		idx = tar.AppendIndex(idx, o)
	}
	sh := shardify.Shard{Name: "s.tar", Samples: int64(len(offsets) - 1), Bytes: size, Digest: digest}
	m := &index.Manifest{Format: index.FormatWDS, Schema: schema, Shards: []shardify.Shard{sh}, Samples: sh.Samples, Bytes: sh.Bytes}
	m.Members, _ = tar.MemberNames(schema)
	writertest.WriteManifest(t, dir, m)
	if err := os.WriteFile(filepath.Join(dir, "s.tar.idx"), idx, 0o666); err != nil {
		t.Fatal(err)
	}
}

// FuzzRead: whatever a tar holds, reading it ends, with an error of a kind or with columns
// that fit each other. fix gives headers a right checksum, so that most inputs get past it.
func FuzzRead(f *testing.F) {
	s := kinds(false)
	dir, m := set(f, s, 3)
	tarred, err := os.ReadFile(filepath.Join(dir, m.Shards[0].Name))
	if err != nil {
		f.Fatal(err)
	}
	one := len(tarred) - tar.End
	f.Add(tarred[:one], int64(one/3)&^511, int64(one/3*2)&^511, true)
	f.Add(tarred[:one], int64(0), int64(1024), false)
	f.Fuzz(func(t *testing.T, b []byte, second, third int64, fix bool) {
		b = append(b[:len(b)&^511:len(b)&^511], make([]byte, tar.End)...)
		for at := 0; fix && at+tar.Block <= len(b); at += tar.Block {
			if h := b[at : at+tar.Block]; string(h[257:262]) == "ustar" {
				copy(h[148:], "        ")
				copy(h[148:], fmt.Sprintf("%06o\x00", tar.Sum(h)))
			}
		}
		dir := t.TempDir()
		writeSet(t, dir, s.Fields, b, []int64{0, second, third, int64(len(b) - tar.End)})
		if _, err := openAll(dir); err != nil && !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("error of no kind: %v", err)
		}
	})
}
