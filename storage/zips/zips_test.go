package zips_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/zips"
	_ "github.com/shardify/shardify/tests/race"
)

var le = binary.LittleEndian

type file struct {
	name    string
	content []byte
	method  uint16
}

func pack(t testing.TB, change func(h *zip.FileHeader), files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: f.method}
		if change != nil {
			change(h)
		}
		out, err := w.CreateHeader(h)
		if err == nil && !strings.HasSuffix(f.name, "/") {
			_, err = out.Write(f.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// put writes an archive and returns its name.
func put(t testing.TB, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

var all = zips.FS{Under: local.Files}

// tree reads everything below a folder; folders end with a slash.
func tree(dir string) (map[string]string, error) {
	out := map[string]string{}
	var walk func(rel string) error
	walk = func(rel string) error {
		for e, err := range all.List(context.Background(), storage.Join(dir, rel)) {
			if err != nil {
				return err
			}
			name := path.Join(rel, e.Name)
			info, err := all.Stat(context.Background(), storage.Join(dir, name))
			if err != nil || info.Type != e.Type {
				return fmt.Errorf("%s: stat has type %d, list %d: %v", name, info.Type, e.Type, err)
			}
			if e.Type == storage.Folder {
				out[name+"/"] = ""
				if err := walk(name); err != nil {
					return err
				}
				continue
			}
			f, err := all.Open(context.Background(), storage.Join(dir, name))
			if err != nil {
				return err
			}
			b := make([]byte, f.Size()+1) // as package files reads
			n, err := f.ReadAt(b, 0)
			if err != io.EOF || int64(n) != f.Size() || e.Size != f.Size() || info.Size != f.Size() {
				return errors.Join(err, f.Close())
			}
			out[name] = string(b[:n])
			half := n / 3
			part := make([]byte, n-half)
			g, err := all.Open(context.Background(), storage.Join(dir, name))
			if err != nil {
				return err
			}
			if _, err := g.ReadAt(part, int64(half)); err != nil && err != io.EOF || string(part) != out[name][half:] {
				return fmt.Errorf("%s: a part differs: %v", name, err)
			}
			if err := errors.Join(f.Close(), g.Close(), g.Close()); err != nil {
				return err
			}
		}
		return nil
	}
	return out, walk("")
}

func TestMembersAreTheFilesOfTheUnpackedTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 30 {
		var files []file
		want := map[string]string{}
		for i := range rng.IntN(40) {
			name := fmt.Sprintf("%c-x/%c/%d.é", 'a'+rng.IntN(3), 'a'+rng.IntN(3), i)
			if rng.IntN(4) == 0 {
				name = path.Base(name)
			}
			b := bytes.Repeat([]byte{byte(i), byte(rng.IntN(256))}, rng.IntN(3000))
			files = append(files, file{name, b, uint16(8 * rng.IntN(2))})
			want[name] = string(b)
			for d := path.Dir(name); d != "."; d = path.Dir(d) {
				want[d+"/"] = ""
			}
		}
		if round%3 == 0 {
			files = append(files, file{name: "empty/deep/"})
			want["empty/"], want["empty/deep/"] = "", ""
		}
		got, err := tree(put(t, pack(t, nil, files...)))
		if err != nil || !maps.Equal(got, want) {
			t.Fatalf("round %d: %v\ngot  %q\nwant %q", round, err, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// at is where the local header and the directory entry of a member are.
func at(b []byte, name string) (header, entry int) {
	header = bytes.Index(b, []byte(name)) - 30
	return header, bytes.LastIndex(b, []byte(name)) - 46
}

func change(b []byte, do func(b []byte)) []byte { b = bytes.Clone(b); do(b); return b }

func TestHostileArchivesAreRefusedByName(t *testing.T) {
	small := func(names ...string) []byte {
		var files []file
		for _, n := range names {
			files = append(files, file{n, bytes.Repeat([]byte(n), 100), zip.Deflate})
		}
		return pack(t, nil, files...)
	}
	good := small("aa.jpg", "bb.jpg")
	ha, ea := at(good, "aa.jpg")
	hb, eb := at(good, "bb.jpg")
	renamed := func(name string) []byte {
		return bytes.ReplaceAll(good, []byte("aa.jpg"), []byte(name))
	}
	link := pack(t, func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }, file{"aa.jpg", []byte("/etc/passwd"), 0})
	for _, c := range []struct {
		about string
		b     []byte
		kind  error
		want  string
	}{
		{"up", renamed("../a.j"), shardify.ErrCorrupt, `"../a.j": its name leads out`},
		{"absolute", renamed("/a.jpg"), shardify.ErrCorrupt, `"/a.jpg": its name leads out`},
		{"drive", renamed("c:/a.j"), shardify.ErrCorrupt, "leads out"},
		{"dots inside", renamed("a/../b"), shardify.ErrCorrupt, "leads out"},
		{"empty part", renamed("a//b.j"), shardify.ErrCorrupt, "leads out"},
		{"NUL", renamed("a\x00.jpg"), shardify.ErrCorrupt, "leads out"},
		{"backslash", renamed(`a\b.jp`), shardify.ErrUnsupported, "backslash"},
		{"twice", small("aa.jpg", "aa.jpg"), shardify.ErrCorrupt, "two members are named aa.jpg"},
		{"file and folder", small("aa.jpg", "aa.jpg/x"), shardify.ErrCorrupt, "a file and a folder"},
		{"link", link, shardify.ErrUnsupported, "aa.jpg is a symbolic link"},
		{"overlap", change(good, func(b []byte) { le.PutUint32(b[eb+42:], uint32(ha)) }), shardify.ErrCorrupt, "overlaps"},
		{"overlap in part", change(good, func(b []byte) { le.PutUint32(b[ea+20:], le.Uint32(b[ea+20:])+90) }), shardify.ErrCorrupt, "overlap"},
		{"other name in the local header", change(good, func(b []byte) { b[ha+30] = 'x' }), shardify.ErrCorrupt, "local header has the name"},
		{"no local header", change(good, func(b []byte) { b[hb] = 0 }), shardify.ErrCorrupt, "no local header"},
		{"crc", change(good, func(b []byte) { b[ea+16] ^= 1 }), shardify.ErrCorrupt, "crc32 is"},
		{"data", change(good, func(b []byte) { b[hb+30+6+3] ^= 0x10 }), shardify.ErrCorrupt, ""},
		{"longer than it says", change(good, func(b []byte) { b[ea+24]-- }), shardify.ErrCorrupt, ""},
		{"shorter than it says", change(good, func(b []byte) { b[ea+24]++ }), shardify.ErrCorrupt, ""},
		{"bomb", change(good, func(b []byte) { le.PutUint32(b[ea+24:], 1<<30) }), shardify.ErrCorrupt, "cannot hold"},
		{"encrypted", change(good, func(b []byte) { b[ea+8] |= 1; b[ha+6] |= 1 }), shardify.ErrUnsupported, "encrypted"},
		{"lzma", change(good, func(b []byte) { b[ea+10] = 14; b[ha+8] = 14 }), shardify.ErrUnsupported, "(lzma)"},
		{"method 77", change(good, func(b []byte) { b[ea+10] = 77; b[ha+8] = 77 }), shardify.ErrCorrupt, "method 77"},
	} {
		_, err := tree(put(t, c.b))
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %v with %q", c.about, err, c.kind, c.want)
		}
		// Its offset, and where it is about one member its name, are in the error.
		var e *shardify.Error
		if errors.As(err, &e) && c.kind == shardify.ErrCorrupt && (e.Offset < 0 || !strings.Contains(err.Error(), "a") || e.Object == "" && !strings.Contains(err.Error(), "member")) {
			t.Errorf("%s: %v has no offset or no member", c.about, err)
		}
	}
}

func TestNamesAndSizesAsOtherProgramsWriteThem(t *testing.T) {
	old := pack(t, func(h *zip.FileHeader) { h.NonUTF8 = true; h.Flags = 0 }, file{"caf\x82.jpg", []byte("x"), 0})
	if got, err := tree(put(t, old)); err != nil || got["café.jpg"] != "x" {
		t.Errorf("code page 437: %q, %v", got, err)
	}
	shifted := append([]byte("#!/bin/sh\nexec unzip\n"), pack(t, nil, file{"a.jpg", []byte("xyz"), 8})...)
	if got, err := tree(put(t, shifted)); err != nil || got["a.jpg"] != "xyz" {
		t.Errorf("bytes before the archive: %q, %v", got, err)
	}
	// archive/zip writes sizes behind the data (flag 3); here the directory has those of ZIP64.
	b := pack(t, nil, file{"a.jpg", []byte("content"), 0})
	_, e := at(b, "a.jpg")
	extra := le.AppendUint16(le.AppendUint16(nil, 1), 24)
	for _, n := range []uint64{7, 7, 0} {
		extra = le.AppendUint64(extra, n)
	}
	wide := append(bytes.Clone(b[:e+46+5]), extra...)
	wide = append(wide, b[e+46+5:]...)
	for _, at := range []int{20, 24, 42} {
		le.PutUint32(wide[e+at:], 1<<32-1)
	}
	le.PutUint16(wide[e+30:], uint16(len(extra)))
	end := len(wide) - 22
	le.PutUint32(wide[end+12:], le.Uint32(wide[end+12:])+uint32(len(extra)))
	if got, err := tree(put(t, wide)); err != nil || got["a.jpg"] != "content" {
		t.Errorf("ZIP64: %q, %v", got, err)
	}
}

func TestWhatIsNoArchiveStaysAsItIs(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "folder.zip")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"sub/x": []byte("x"), "text.zip": []byte("no archive"), "store.zip": pack(t, nil, file{"zarr.json", []byte("{}"), 0})} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]storage.Type{"": storage.Folder, "sub": storage.Folder, "sub/x": storage.Regular, "text.zip": storage.Regular, "store.zip": storage.Regular} {
		if info, err := all.Stat(ctx, filepath.Join(dir, name)); err != nil || info.Type != want {
			t.Errorf("%s: type %d, %v, want %d", name, info.Type, err, want)
		}
		if _, ok := all.Path(filepath.Join(dir, name)); !ok {
			t.Errorf("%s: no path", name)
		}
	}
	for _, name := range []string{"none.zip", "none.zip/x", "store.zip/zarr.json", "text.zip/x"} {
		if _, err := all.Open(ctx, filepath.Join(dir, name)); err == nil {
			t.Errorf("%s opens", name)
		}
	}
	a := put(t, pack(t, nil, file{"b.zip", pack(t, nil, file{"x", nil, 0}), 0}, file{"d/x", nil, 0}))
	if info, err := all.Stat(ctx, a+"/b.zip"); err != nil || info.Type != storage.Regular {
		t.Errorf("an archive in an archive: %v, %v", info, err)
	}
	if _, err := all.Open(ctx, a+"/d"); !errors.Is(err, storage.ErrNotFile) {
		t.Errorf("a folder opens: %v", err)
	}
	if _, err := all.Open(ctx, a+"/e"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing opens: %v", err)
	}
	if _, ok := all.Path(a + "/d/x"); ok {
		t.Error("a member has a path")
	}
}

// An archive that is replaced shows its new members; who has an old one open goes on.
func TestReplacedArchive(t *testing.T) {
	ctx := context.Background()
	name := put(t, pack(t, nil, file{"a", []byte("old"), 8}))
	f, err := all.Open(ctx, name+"/a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	next := name + ".new"
	if err := os.WriteFile(next, pack(t, nil, file{"a", []byte("other"), 8}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, name); err != nil {
		t.Fatal(err)
	}
	if got, err := tree(name); err != nil || got["a"] != "other" {
		t.Errorf("%q, %v", got, err)
	}
	b := make([]byte, 3)
	if _, err := f.ReadAt(b, 0); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
}

// More archives than stay open, by several goroutines.
func TestManyArchivesAtOnce(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, put(t, pack(t, nil, file{"a", bytes.Repeat([]byte{byte(i)}, 5000), uint16(i % 2 * 8)})))
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for k := range 60 {
				i := (k*7 + g) % len(names)
				got, err := tree(names[i])
				if err != nil || got["a"] != strings.Repeat(string([]byte{byte(i)}), 5000) {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzArchive(f *testing.F) {
	f.Add(pack(f, nil, file{"a/b.jpg", []byte("xyzxyzxyzxyz"), 8}, file{"c", []byte("x"), 0}))
	f.Add(pack(f, nil))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte) {
		name := filepath.Join(dir, "a.zip")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := tree(name)
		var p *fs.PathError
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.As(err, &p) {
			t.Error(err)
		}
	})
}
