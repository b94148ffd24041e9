package mdb

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/busy"
	"github.com/shardify/shardify/tests/corpus"
)

// walk is the digest of all entries of a tree, as the corpus has it.
func walk(f *File, t Tree) (n int64, digest string, err error) {
	h := sha256.New()
	c := f.Cursor(t)
	for c.Next() {
		v, err := c.Load()
		if err != nil {
			return n, "", err
		}
		var sizes [8]byte
		le.PutUint32(sizes[:], uint32(len(c.Key)))
		le.PutUint32(sizes[4:], uint32(len(v)))
		h.Write(sizes[:])
		h.Write(c.Key)
		h.Write(v)
		n++
	}
	return n, hex.EncodeToString(h.Sum(nil)), c.Err()
}

// all walks through all databases of a file.
func all(b []byte) error {
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	if _, _, err := walk(f, f.Main()); err != nil {
		return err
	}
	_, trees, _, err := f.Named(100)
	for _, t := range trees {
		if _, _, err := walk(f, t); err != nil {
			return err
		}
	}
	return err
}

func whole(t testing.TB) []string {
	names, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "lmdb"), "*.*db"))
	return append(names, filepath.Join(corpus.Dir(t, "lmdb"), "folder", "data.mdb"))
}

func TestCorpus(t *testing.T) {
	type database struct {
		Entries   int64
		SHA256    string
		Databases map[string]database
	}
	for _, name := range whole(t) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(strings.TrimSuffix(name, "/data.mdb") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var want database
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		check := func(db string, tree Tree, want database) {
			if n, digest, err := walk(f, tree); err != nil || n != want.Entries || digest != want.SHA256 {
				t.Errorf("%s %s: %d entries, %v; want %d, or other values", name, db, n, err, want.Entries)
			}
		}
		check("", f.Main(), want)
		names, trees, _, err := f.Named(100)
		if err != nil || len(names) != len(want.Databases) {
			t.Errorf("%s: databases %q, %v", name, names, err)
		}
		for i, db := range names {
			check(db, trees[i], want.Databases[db])
		}
	}
}

// TestValuesOfOneByte: their pages have values and no places.
func TestValuesOfOneByte(t *testing.T) {
	b, err := os.ReadFile("testdata/bytes.lmdb")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	_, trees, _, err := f.Named(10)
	if err != nil || len(trees) != 1 {
		t.Fatal(trees, err)
	}
	got := map[string][]byte{}
	c := f.Cursor(trees[0])
	for c.Next() {
		got[string(c.Key)] = append(got[string(c.Key)], c.Value...)
	}
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	for key, n := range map[string]int{"few": 3, "many": 200, "one": 1} {
		want := make([]byte, n)
		for i := range want {
			want[i] = byte(i)
		}
		if !bytes.Equal(got[key], want) {
			t.Errorf("%s: % x", key, got[key])
		}
	}
}

// TestAShortValueInOverflowPages: it stays there when it replaces a longer one.
func TestAShortValueInOverflowPages(t *testing.T) {
	b, err := os.ReadFile("testdata/shrunk.lmdb")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	names, _, others, err := f.Named(10)
	if err != nil || len(names) > 0 || others != 1 {
		t.Fatal(names, others, err)
	}
	c := f.Cursor(f.Main())
	if !c.Next() || c.big == 0 {
		t.Fatalf("the value is in page %d, %v", c.big, c.Err())
	}
	if v, err := c.Load(); err != nil || string(v) != strings.Repeat("y", 48) {
		t.Errorf("%q, %v", v, err)
	}
}

func TestDamagedCorpus(t *testing.T) {
	names, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "lmdb"), "bad", "*.lmdb"))
	if len(names) < 18 {
		t.Fatalf("%d files", len(names))
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		start := busy.Processor()
		err = all(b)
		var e *shardify.Error
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		} else if errors.As(err, &e) && errors.Is(err, shardify.ErrCorrupt) && (e.Offset < 0 || e.Offset > int64(len(b))) {
			t.Errorf("%s: %v: at byte %d of %d", name, err, e.Offset, len(b))
		}
		if d := busy.Processor() - start; d > time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// TestTheListOfFreePagesIsNoDatabase: a root that is damaged may become that of the list, which has as many entries.
func TestTheListOfFreePagesIsNoDatabase(t *testing.T) {
	for _, name := range whole(t) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if f.free == noPage {
			continue
		}
		le.PutUint64(b[f.main.at+40:], f.free)
		if err := all(b); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "list of free pages") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlaces: a walk from the leaf of any entry on, and a search for any key, find what a whole walk finds.
func TestPlaces(t *testing.T) {
	for _, name := range whole(t) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		_, trees, _, err := f.Named(100)
		if err != nil {
			t.Fatal(err)
		}
		for _, tree := range append(trees, f.Main()) {
			var entries []string
			var places [][]int
			first := map[int]bool{}
			c := f.Cursor(tree)
			for c.Next() {
				v, err := c.Load()
				if err != nil {
					t.Fatal(err)
				}
				entries = append(entries, fmt.Sprintf("%q %q", c.Key, v))
				if c.First() {
					first[len(places)] = true
				}
				places = append(places, c.Place(nil))
			}
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
			x := f.Cursor(tree)
			for i := range entries {
				if !first[i] {
					continue
				}
				if err := x.Seek(places[i]); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				for _, want := range entries[i:] {
					if !x.Next() {
						t.Fatalf("%s: %v", name, x.Err())
					}
					if v, err := x.Load(); err != nil || fmt.Sprintf("%q %q", x.Key, v) != want {
						t.Fatalf("%s: %q %q, %v, want %s", name, x.Key, v, err, want)
					}
				}
				if x.Next() || x.Err() != nil {
					t.Fatalf("%s: more entries, or %v", name, x.Err())
				}
			}
			if tree.Flags != 0 {
				continue
			}
			for c = f.Cursor(tree); c.Next(); {
				ok, err := x.Find(c.Key)
				if err != nil || !ok || !bytes.Equal(x.Key, c.Key) || x.Size != c.Size {
					t.Fatalf("%s: key %q: %v, %v", name, c.Key, ok, err)
				}
				if ok, err := x.Find(append(bytes.Clone(c.Key), 1)); ok || err != nil {
					t.Fatalf("%s: a key that is not there: %v", name, err)
				}
			}
		}
	}
}

// TestMutants: damage is an error, or other bytes in values: never a panic, never long.
func TestMutants(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	rng := rand.New(rand.NewPCG(7, 1))
	for _, name := range whole(t) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range rounds {
			m := bytes.Clone(b)
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(m))
				if rng.IntN(2) == 0 { // heads of pages are damaged more often
					at = at&^4095 + rng.IntN(160)
				}
				m[min(at, len(m)-1)] ^= byte(1 + rng.IntN(255))
			}
			if rng.IntN(20) == 0 {
				m = m[:rng.IntN(len(m))]
			}
			start := busy.Processor()
			err := all(m)
			if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Fatalf("%s: %v", name, err)
			}
			if d := busy.Processor() - start; d > 5*time.Second {
				t.Fatalf("%s: %v", name, d)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range whole(f) {
		if b, err := os.ReadFile(name); err == nil && len(b) < 50000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := all(b); err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatal(err)
		}
	})
}

// counted counts the bytes that are read.
type counted struct {
	*bytes.Reader
	n int
}

func (c *counted) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(b, off)
	c.n += n
	return n, err
}

// TestPagesInOrderAreReadOnce: also those that a window has in part.
func TestPagesInOrderAreReadOnce(t *testing.T) {
	const pages, page = 1000, 4096
	b := make([]byte, pages*page)
	for i := range b {
		b[i] = byte(i * (i >> 12))
	}
	for _, n := range []uint64{1, 3, 13, 63, 64, 65, 100} {
		r := &counted{bytes.NewReader(b), 0}
		f := &File{r: r, size: int64(len(b)), meta: meta{page: page, last: pages - 1}}
		c := f.Cursor(Tree{})
		for no := uint64(2); no+n <= pages; no += n {
			if got, err := c.bytes(no, n); err != nil || !bytes.Equal(got, b[no*page:(no+n)*page]) {
				t.Fatalf("%d pages from %d on: %v", n, no, err)
			}
		}
		if r.n > len(b) {
			t.Errorf("%d pages at a time: %d bytes of %d are read", n, r.n, len(b))
		}
	}
}
