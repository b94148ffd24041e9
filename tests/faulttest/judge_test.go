//go:build linux && amd64

package faulttest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	private  = ".shardify/"
	manifest = "shardify.json"
	receipts = private + "receipts/"
)

// temporary reports whether a file is scratch that no finished run leaves.
func temporary(rel string) bool {
	return strings.HasPrefix(rel, private+"tmp/") || strings.HasPrefix(rel, private+"scratch/")
}

// Files are the files of a data set by name. Only their digests are kept: a suite holds
// many sets at once.
type Files map[string]File

// File is what a file holds.
type File struct {
	Bytes int64
	Sum   [sha256.Size]byte
}

// Tree is every file of a data set, by name, and the names of the
// temporary ones. The private folder does not belong to it.
func Tree(t testing.TB, dir string) (files Files, temps []string) {
	t.Helper()
	files = Files{}
	h, buf := sha256.New(), make([]byte, 256<<10)
	err := walk(dir, func(rel string) error {
		switch {
		case temporary(rel):
			temps = append(temps, rel)
		case !strings.HasPrefix(rel, private):
			x, err := fileOf(filepath.Join(dir, rel), h, buf)
			if err != nil {
				return err
			}
			files[rel] = x
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, temps
}

// fileOf reads a file through buf.
func fileOf(name string, h hash.Hash, buf []byte) (x File, err error) {
	f, err := os.Open(name)
	if err != nil {
		return x, err
	}
	defer f.Close()
	h.Reset()
	// Plain reader and writer, or buf would not be used.
	if x.Bytes, err = io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{f}, buf); err != nil {
		return x, err
	}
	h.Sum(x.Sum[:0])
	return x, nil
}

func walk(dir string, f func(rel string) error) error {
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // a running program has removed it
		}
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(rel))
	})
}

// Found is what is wrong with what a fault has left.
type Found struct {
	Torn  []string // files that have their names and not the bytes of an unbroken run
	Lost  []string // files that a manifest, a receipt or a published name has promised
	Temps []string // scratch; no fault as long as the next run removes it
}

// OK reports that nothing is torn and nothing lost.
func (f *Found) OK() bool { return len(f.Torn)+len(f.Lost) == 0 }

func (f *Found) String() string {
	return fmt.Sprintf("torn: %v; lost: %v", f.Torn, f.Lost)
}

// Judge compares the files in a folder with those of an unbroken run: every
// file that is there must be whole, and all that was acknowledged must be there, be it
// by a manifest, by a receipt, or because its publication has returned (published).
func Judge(t testing.TB, want Files, out string, published []string) *Found {
	t.Helper()
	f := &Found{}
	got, temps := Tree(t, out)
	f.Temps = temps
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if w, ok := want[name]; !ok || w != got[name] {
			f.Torn = append(f.Torn, fmt.Sprintf("%s (%d bytes, want %d)", name, got[name].Bytes, w.Bytes))
		}
		if path.Base(name) == manifest {
			f.missing(got, want, path.Dir(name))
		}
	}
	if _, done := got[manifest]; !done {
		f.receipts(t, out)
	}
	for _, name := range published {
		if !exists(filepath.Join(out, name)) {
			f.Lost = append(f.Lost, name)
		}
	}
	return f
}

// missing notes what a manifest names and is not there.
func (f *Found) missing(got, want Files, dir string) {
	for name := range want {
		if _, ok := got[name]; !ok && (dir == "." || strings.HasPrefix(name, dir+"/")) {
			f.Lost = append(f.Lost, name+", of the manifest in "+dir)
		}
	}
}

type shard struct {
	Name  string
	Bytes int64
	Files []struct {
		Name  string
		Bytes int64
	}
}

// receipts looks for what the receipts name.
func (f *Found) receipts(t testing.TB, out string) {
	err := walk(filepath.Join(out, receipts), func(rel string) error {
		b, err := os.ReadFile(filepath.Join(out, receipts, rel))
		if err != nil || !strings.HasSuffix(rel, ".json") {
			return err
		}
		var r struct {
			Shard  shard
			Splits []shard
		}
		if json.Unmarshal(b, &r) != nil {
			f.Torn = append(f.Torn, receipts+rel)
			return nil
		}
		for _, s := range append(r.Splits, r.Shard) {
			if s.Name == "" {
				continue
			}
			f.size(out, s.Name, s.Bytes, rel)
			for _, x := range s.Files {
				f.size(out, x.Name, x.Bytes, rel)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (f *Found) size(out, name string, want int64, receipt string) {
	if st, err := os.Stat(filepath.Join(out, name)); err != nil || st.Size() != want {
		f.Lost = append(f.Lost, name+", of the receipt "+receipt)
	}
}

// Same fails unless a folder holds the files of an unbroken run, and no scratch.
func Same(t testing.TB, want Files, out, when string) {
	t.Helper()
	if d := Differs(t, want, out); d != "" {
		t.Fatalf("%s: %s", when, d)
	}
}

// Differs describes how a folder differs from that of an unbroken run; "" if it does not.
func Differs(t testing.TB, want Files, out string) string {
	t.Helper()
	got, temps := Tree(t, out)
	if !maps.Equal(want, got) {
		return fmt.Sprintf("other bytes: %v, want %v", sizes(got), sizes(want))
	}
	if len(temps) > 0 {
		return fmt.Sprintf("left %v", temps)
	}
	return ""
}

func sizes(files Files) (list []string) {
	for _, n := range slices.Sorted(maps.Keys(files)) {
		list = append(list, fmt.Sprintf("%s:%d", n, files[n].Bytes))
	}
	return list
}

// Tear damages a published file of a data set, and returns its name: damage that a suite must
// notice. False if there is no such file.
func Tear(t testing.TB, out string) (string, bool) {
	t.Helper()
	files, _ := Tree(t, out)
	for _, n := range slices.Sorted(maps.Keys(files)) {
		if files[n].Bytes == 0 {
			continue
		}
		p := filepath.Join(out, n)
		if err := os.Truncate(p, files[n].Bytes-1); err != nil {
			t.Fatal(err)
		}
		return n, true
	}
	return "", false
}
