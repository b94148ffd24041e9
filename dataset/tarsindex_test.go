package dataset

import (
	stdtar "archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// opens counts the bytes that are read of tars.
type opens struct {
	storage.FS
	read atomic.Int64
}

type openedFile struct {
	storage.File
	o *opens
}

func (o *opens) Open(ctx context.Context, name string) (storage.File, error) {
	f, err := o.FS.Open(ctx, name)
	if err != nil || !isTar(name) {
		return f, err
	}
	return openedFile{f, o}, nil
}

func (f openedFile) ReadAt(b []byte, at int64) (int, error) {
	f.o.read.Add(int64(len(b)))
	return f.File.ReadAt(b, at)
}

// tarsFolder is a folder with tars of others.
func tarsFolder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a.tar"), foreignTar(t, stdtar.FormatUSTAR))
	put(t, filepath.Join(dir, "b", "c.tar"), foreignTar(t, stdtar.FormatPAX))
	return dir
}

func put(t testing.TB, name string, b []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o777)
	if err = errors.Join(err, os.WriteFile(name, b, 0o666)); err != nil {
		t.Fatal(err)
	}
}

// made puts the index of a folder beside its tars, or into another folder.
func made(t testing.TB, dir, to string) (*Set, []byte) {
	t.Helper()
	s, b, err := IndexTars(t.Context(), storages.Files, dir, to)
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	if to == "" {
		to = dir
	}
	put(t, filepath.Join(to, TarsIndexName), b)
	return s, b
}

// reopened is a set, and how many bytes of tars were read for that.
func reopened(t testing.TB, path string) (*Set, int64, error) {
	t.Helper()
	in := &opens{FS: storages.Files}
	s, err := Open(t.Context(), in, path, index.FormatWDS, index.FormatMDS)
	return s, in.read.Load(), err
}

// alike compares two sets but for what they say of their index.
func alike(t testing.TB, a, b *Set) {
	t.Helper()
	if !reflect.DeepEqual(a.Manifest, b.Manifest) || !reflect.DeepEqual(a.loose.places, b.loose.places) || !reflect.DeepEqual(a.loose.members, b.loose.members) || a.Path != b.Path {
		t.Errorf("%+v %v, want %+v %v", a.Manifest, a.loose, b.Manifest, b.loose)
	}
}

// TestKeptIndexes: a set that is opened by its index is the one that is opened by its headers, and these are not read.
func TestKeptIndexes(t *testing.T) {
	dir := tarsFolder(t)
	want, headers, err := reopened(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	s, b := made(t, dir, "")
	alike(t, s, want)
	got, read, err := reopened(t, dir)
	if err != nil || read >= headers || read != 4*tar.Block {
		t.Fatalf("%d bytes read, %d without an index; %v", read, headers, err)
	}
	alike(t, got, want)
	if !slices.Equal(got.loose.left, want.loose.left) {
		t.Errorf("%q", got.loose.left)
	}
	if _, again := made(t, dir, ""); !bytes.Equal(b, again) {
		t.Error("made twice, the index has other bytes")
	}
	for _, path := range []string{filepath.Join(dir, "a.tar"), filepath.Join(dir, "[a].tar")} {
		one, read, err := reopened(t, path)
		if err != nil || one.Samples != 4 || read != 2*tar.Block || strings.Contains(strings.Join(one.loose.left, ""), TarsIndexName) {
			t.Errorf("%s: %v, %d bytes, %v", path, one, read, err)
		}
	}

	// In a folder of its own.
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	os.Remove(filepath.Join(dir, TarsIndexName))
	made(t, dir, elsewhere)
	got, read, err = reopened(t, elsewhere)
	if err != nil || read != 4*tar.Block {
		t.Fatal(read, err)
	}
	alike(t, got, want)
	if _, again, err := IndexTars(t.Context(), storages.Files, elsewhere, ""); err != nil || !bytes.Contains(again, []byte(`"folder":`)) {
		t.Errorf("an index in a folder of its own is not made again: %v", err)
	}
	for what, to := range map[string]string{"tars of its own": dir + "/b", "a data set": t.TempDir()} {
		if what == "a data set" {
			put(t, filepath.Join(to, index.ManifestName), []byte("{}"))
		}
		if _, _, err := IndexTars(t.Context(), storages.Files, dir, to); !errors.Is(err, shardify.ErrUsage) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestStaleIndexes: what changed since an index was made is read again and named.
func TestStaleIndexes(t *testing.T) {
	other := foreignTar(t, stdtar.FormatUSTAR)
	at := bytes.Index(other, []byte("./d/3.JPG"))
	copy(other[at:], "./d/7.JPG")
	resumTar(other[at : at+tar.Block])
	for what, change := range map[string]func(dir string, when time.Time) error{
		"longer": func(dir string, _ time.Time) error {
			return os.WriteFile(dir+"/a.tar", foreignTar(t, stdtar.FormatGNU), 0o666)
		},
		"later": func(dir string, when time.Time) error { return os.Chtimes(dir+"/a.tar", when, when.Add(time.Second)) },
		"other headers, same time": func(dir string, when time.Time) error {
			return errors.Join(os.WriteFile(dir+"/a.tar", other, 0o666), os.Chtimes(dir+"/a.tar", when, when))
		},
		"one more": func(dir string, _ time.Time) error {
			return os.WriteFile(dir+"/d.tar", foreignTar(t, stdtar.FormatGNU), 0o666)
		},
		"one gone": func(dir string, _ time.Time) error { return os.Remove(dir + "/b/c.tar") },
	} {
		dir := tarsFolder(t)
		made(t, dir, "")
		st, err := os.Stat(dir + "/a.tar")
		if err = errors.Join(err, change(dir, st.ModTime())); err != nil {
			t.Fatal(err)
		}
		got, _, err := reopened(t, dir)
		kept := filepath.Join(dir, TarsIndexName)
		b, e := os.ReadFile(kept)
		if err = errors.Join(err, e, os.Remove(kept)); err != nil {
			if what == "other headers, same time" && errors.Is(err, shardify.ErrSchema) {
				continue
			}
			t.Fatal(what, err)
		}
		want, _, err := reopened(t, dir)
		if err != nil {
			t.Fatal(what, err)
		}
		alike(t, got, want)
		if text := strings.Join(got.loose.left, "\n"); !strings.Contains(text, "shardify index "+dir+" makes it again") {
			t.Errorf("%s: %s", what, text)
		}
		put(t, kept, b)
		_, wrong, err := CheckTarsIndex(t.Context(), storages.Files, dir)
		if err != nil || (len(wrong) == 0) != (what == "later") {
			t.Errorf("%s: %q, %v", what, wrong, err)
		}
	}
}

// TestHostileIndexes: no index, whatever its bytes are, gives anything but an error or a set that is as large as its
// tars.
func TestHostileIndexes(t *testing.T) {
	dir := tarsFolder(t)
	_, b := made(t, dir, "")
	kept := filepath.Join(dir, TarsIndexName)
	try := func(c []byte) error {
		put(t, kept, c)
		s, _, err := reopened(t, dir)
		if err == nil {
			for i, at := range s.loose.places {
				if n := len(at); int64(n-1) != s.Shards[i].Samples || at[n-1] > s.Shards[i].Bytes {
					t.Fatalf("%d samples at %v in %d bytes", s.Shards[i].Samples, at, s.Shards[i].Bytes)
				}
			}
			return nil
		}
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), dir) {
			t.Fatal(err)
		}
		return err
	}
	sealed := func(c []byte) []byte {
		c = c[:len(c)-16]
		sum := xxh3.Hash128(c).Bytes()
		return append(c, sum[:]...)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 400 { // without a new sum each of them is found
		c := bytes.Clone(b)
		if n%4 == 0 {
			c = c[:rng.IntN(len(c))]
		} else {
			c[rng.IntN(len(c))] ^= byte(1 + rng.IntN(255))
		}
		if try(c) == nil {
			t.Fatal("a changed byte is no error")
		}
	}
	for range 2000 {
		c := bytes.Clone(b)
		for range 1 + rng.IntN(2) {
			switch at := 16 + rng.IntN(len(c)-32); rng.IntN(3) {
			case 0:
				c[at] = "0123456789-\"{}[],:"[rng.IntN(18)]
			case 1:
				c[at] ^= byte(1 + rng.IntN(255))
			default:
				at = len(c) - 16 - 8*(1+rng.IntN(10))
				binary.LittleEndian.PutUint64(c[at:], rng.Uint64()>>rng.IntN(64))
			}
		}
		_ = try(sealed(c))
	}
	edit := func(old, new string) []byte {
		head := bytes.Clone(b[16 : len(b)-16-8*10])
		if !bytes.Contains(head, []byte(old)) {
			t.Fatalf("no %s in %s", old, head)
		}
		head = bytes.Replace(head, []byte(old), []byte(new), 1)
		c := binary.LittleEndian.AppendUint64([]byte(tarsMagic), uint64(len(head)))
		return sealed(append(append(c, head...), b[len(b)-16-8*10:]...))
	}
	for _, c := range [][2]string{
		{`"samples":4`, `"samples":4611686018427387904`}, {`"samples":4`, `"samples":-1`}, {`"samples":4`, `"samples":3`}, {`"members":4`, `"members":5`},
		{`"dims":[2]`, `"dims":[4611686018427387904,4]`}, {`"dims":[2]`, `"dims":[-2]`}, {`"dims":[2]`, `"dims":null`}, {`"dtype":"f32"`, `"dtype":"f99"`},
		{`"cls":{`, `"../x":{`}, {`"hidden files"`, `"\u001b[2J"`}, {`"b/c.tar"`, `"a.tar"`}, {`"class":true`, `"inner":true`}, {`"tars":[`, `"tars":[null,`},
	} {
		if err := try(edit(c[0], c[1])); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), TarsIndexName) {
			t.Errorf("%s for %s: %v", c[1], c[0], err)
		}
	}
	if err := try(edit(`"cls":{`, `"cls":{`)); err != nil {
		t.Errorf("the edits are not sound: %v", err)
	}
}

// TestUnusualTars: a set that can be read without an index is read with one, too, or gets no index.
func TestUnusualTars(t *testing.T) {
	array := func(shape string) string {
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': %s, }", shape)
		head += strings.Repeat(" ", 127-10-len(head)) + "\n"
		return "\x93NUMPY\x01\x00" + string(rune(len(head))) + "\x00" + head
	}
	made := func(dir, name, member, value string) {
		var b bytes.Buffer
		w := stdtar.NewWriter(&b)
		err := w.WriteHeader(&stdtar.Header{Name: member, Size: int64(len(value)), Mode: 0o666, Format: stdtar.FormatGNU})
		_, e := w.Write([]byte(value))
		if err = errors.Join(err, e, w.Close()); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name), b.Bytes())
	}
	for what, files := range map[string][][3]string{
		"an extension":            {{"a.tar", "1.größe", "x"}, {"b.tar", "2.<&>\u2028", "x"}},
		"no values of long lines": {{"a.tar", "1.npy", array("(0, 1000000000)")}},
		"no values at all":        {{"a.tar", "1.npy", array("(0, 1099511627776, 1099511627776)")}, {"b.tar", "2.npy", array("(1, 1099511627776, 0)")}},
		"an array of no rank":     {{"a.tar", "1.npy", array("()") + "abcd"}, {"b.tar", "2.npy", array("(1,)") + "abcd"}},
		"names that are no UTF-8": {{"a\xff.tar", "1.txt", "x"}, {"a\xfe.tar", "2.txt", "x"}},
	} {
		dir := t.TempDir()
		for _, f := range files {
			made(dir, f[0], f[1], f[2])
		}
		want, _, err := reopened(t, dir)
		if err != nil {
			t.Fatal(what, err)
		}
		_, b, err := IndexTars(t.Context(), storages.Files, dir, "")
		if what == "names that are no UTF-8" {
			if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), `\xfe.tar`) {
				t.Errorf("%s: %v", what, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(what, err)
		}
		put(t, filepath.Join(dir, TarsIndexName), b)
		got, _, err := reopened(t, dir)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		alike(t, got, want)
	}
}

// TestIndexesElsewhere: an index does not stand for tars that came beside it, moves back to its tars, and is
// not needed by those who may not read it.
func TestIndexesElsewhere(t *testing.T) {
	dir, elsewhere := tarsFolder(t), filepath.Join(t.TempDir(), "my index")
	made(t, dir, elsewhere)
	if root, err := TarsOf(t.Context(), storages.Files, elsewhere); root != dir || err != nil {
		t.Errorf("%q, %v", root, err)
	}
	_, b, err := IndexTars(t.Context(), storages.Files, elsewhere, dir)
	if err != nil || bytes.Contains(b, []byte(`"folder":`)) {
		t.Errorf("beside its tars an index names their folder, which may move: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "b", "c.tar")); err != nil {
		t.Fatal(err)
	}
	s, _, err := reopened(t, elsewhere)
	if err != nil || !strings.Contains(strings.Join(s.loose.left, "\n"), "shardify index '"+elsewhere+"' makes it again") {
		t.Errorf("%v, %v", s, err)
	}
	if text := strings.Join(s.loose.left, "\n"); !strings.Contains(text, "1 that it has are gone") || strings.Contains(text, "0 ") {
		t.Error(text)
	}
	hinted := func(what string) {
		t.Helper()
		_, _, err := IndexTars(t.Context(), storages.Files, elsewhere, "")
		if err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(strings.Join(shardify.Hints(err), "\n"), "-o '"+elsewhere+"'") {
			t.Errorf("%v, %q", err, shardify.Hints(err))
		}
	}
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	hinted("are gone")
	if err := os.Rename(dir+"-moved", dir); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(elsewhere, TarsIndexName))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(elsewhere, TarsIndexName), []byte("damage"))
	hinted("no index of tars of this version")
	put(t, filepath.Join(elsewhere, TarsIndexName), good)
	put(t, filepath.Join(elsewhere, "d.tar"), foreignTar(t, stdtar.FormatUSTAR))
	if _, _, err := reopened(t, elsewhere); !errors.Is(err, shardify.ErrUsage) || !strings.Contains(err.Error(), "tars of its own") {
		t.Errorf("with tars beside it: %v", err)
	}
	if s, err := Open(t.Context(), forbidden{storages.Files}, filepath.Join(dir, "a.tar"), index.FormatMDS); err != nil || s.Samples != 4 {
		t.Errorf("where the index may not be read: %v", err)
	}
}

// forbidden has indexes of tars that may not be read.
type forbidden struct{ storage.FS }

func (f forbidden) Open(ctx context.Context, name string) (storage.File, error) {
	if filepath.Base(name) == TarsIndexName {
		return nil, os.ErrPermission
	}
	return f.FS.Open(ctx, name)
}

// BenchmarkOpenTars opens 20 tars of others, or those in SHARDIFY_BENCH_TARS, by their headers and by an index.
func BenchmarkOpenTars(b *testing.B) {
	dir := os.Getenv("SHARDIFY_BENCH_TARS")
	if dir == "" {
		dir = b.TempDir()
		for k := range 20 {
			var t bytes.Buffer
			w := stdtar.NewWriter(&t)
			for i := range 1000 {
				err := w.WriteHeader(&stdtar.Header{Name: fmt.Sprintf("%02d%04d.%s", k, i/2, []string{"jpg", "txt"}[i%2]), Size: 900, Mode: 0o644, Format: stdtar.FormatUSTAR})
				if _, e := w.Write(make([]byte, 900)); err != nil || e != nil {
					b.Fatal(err, e)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			put(b, filepath.Join(dir, fmt.Sprintf("%02d.tar", k)), t.Bytes())
		}
	}
	for _, how := range []string{"headers", "index"} {
		if how == "index" {
			made(b, dir, "")
			defer os.Remove(filepath.Join(dir, TarsIndexName))
		}
		b.Run(how, func(b *testing.B) {
			for range b.N {
				if _, _, err := reopened(b, dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
