package rfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

var sample = []entry{
	{class: "TTree", name: "t", cycle: 9, payload: "nine"},
	{class: "TTree", name: "t", cycle: 10, payload: "ten"},
	{class: "TH1F", name: "h", payload: "histogram"},
	{name: "empty", sub: []entry{}},
	{name: "a", sub: []entry{
		{class: "TNtuple", name: "n;2", payload: "odd name"},
		{name: "b", sub: []entry{{class: "ROOT::RNTuple", name: "r", payload: "anchor"}, {class: "TTree", name: "t", payload: "deep"}}},
	}},
	{class: "TTree", name: strings.Repeat("long", 100), payload: "l"},
}

// TestObjectsOfAllFileForms: the same objects whatever the width of offsets, the
// place of the first record, or how long keys say they are.
func TestObjectsOfAllFileForms(t *testing.T) {
	for name, l := range map[string]layout{
		"small":                     {},
		"big":                       {big: true},
		"first record at 64":        {begin: 64, big: false, noUUID: true},
		"no UUID, big":              {big: true, noUUID: true},
		"keys longer than they say": {old: true},
		"bytes behind the end":      {tail: 70},
		"negative version":          {version: -938200},
	} {
		t.Run(name, func(t *testing.T) {
			f := openBytes(t, makeFile(l, sample))
			var got []string
			for _, o := range f.Objects() {
				rec, h, err := f.Object(o.Key)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, o.Path+"="+string(rec[h.KeyLen:]))
			}
			want := []string{"t=nine", "t=ten", "h=histogram", "a/n;2=odd name", "a/b/r=anchor", "a/b/t=deep", strings.Repeat("long", 100) + "=l"}
			if !slices.Equal(got, want) || len(f.Problems()) > 0 {
				t.Errorf("objects %q, problems %v", got, f.Problems())
			}
			var trees []string
			for _, o := range f.Trees() {
				trees = append(trees, o.Path)
			}
			if len(trees) != 4 || trees[0] != "t" || trees[1] != "a/n;2" || len(f.NTuples()) != 1 {
				t.Errorf("trees %q, ntuples %v", trees, f.NTuples())
			}
		})
	}
}

func TestLookup(t *testing.T) {
	f := openBytes(t, makeFile(layout{}, sample))
	for path, want := range map[string]int{"t": 10, "/t": 10, "t;9": 9, "t;10": 10, "a/b/t": 1, "a/b/t;1": 1, "a/n;2": 1, "a/n;2;1": 1} {
		o, err := f.Lookup(path)
		if err != nil || o.Key.Cycle != want {
			t.Errorf("%s: cycle %+v, %v", path, o.Key, err)
		}
	}
	for _, path := range []string{"", "x", "t;11", "t;", "a", "b/t", "t;-1", "a/n"} {
		if o, err := f.Lookup(path); !errors.Is(err, shardify.ErrSchema) {
			t.Errorf("%q: %+v, %v", path, o.Key, err)
		} else if path == "x" && !strings.Contains(err.Error(), "a/b/t") {
			t.Errorf("the error does not list what there is: %v", err)
		}
	}
}

// TestOffsetsAbove4GiB: offsets have all 8 bytes in header, directories and keys.
func TestOffsetsAbove4GiB(t *testing.T) {
	const far = 5 << 30
	b := makeFile(layout{big: true}, []entry{{class: "TTree", name: "t", payload: "far away"}})
	end := int64(len(b)) - 100 + far
	// Everything from byte 100 on moves by the same distance.
	const nameBytes = 60
	move := func(at int) {
		binary.BigEndian.PutUint64(b[at:], binary.BigEndian.Uint64(b[at:])+far-100)
	}
	seekKeys := 100 + nameBytes + 2 + 8 + 8 + 16
	list := int(binary.BigEndian.Uint64(b[seekKeys:]))
	move(12)
	move(seekKeys)
	move(list + 34 + 1 + 1 + 6 + 4 + 18) // the key in the list, behind the list's own
	// The root directory stays where the 4-byte fBEGIN points.
	f, err := Open(&movedRoot{shifted{b, far}}, end, "far.root")
	if err != nil {
		t.Fatal(err)
	}
	o, err := f.Lookup("t")
	if err != nil {
		t.Fatal(err)
	}
	rec, h, err := f.Object(o.Key)
	if err != nil || string(rec[h.KeyLen:]) != "far away" || o.Key.Seek < far {
		t.Errorf("%q at %d, %v", rec, o.Key.Seek, err)
	}
}

// movedRoot has the first record at its old place too.
type movedRoot struct{ shifted }

func (m *movedRoot) ReadAt(p []byte, off int64) (int, error) {
	if off < 1000 {
		return bytes.NewReader(m.b).ReadAt(p, off)
	}
	return m.shifted.ReadAt(p, off)
}

// TestDamagedFiles: an error of its kind, or a problem beside what could be read.
func TestDamagedFiles(t *testing.T) {
	whole := makeFile(layout{}, sample)
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		says   string
	}{
		{"no file", func(b []byte) []byte { return nil }, "not a ROOT file"},
		{"another format", func(b []byte) []byte { return append([]byte("PK\x03\x04"), b[4:]...) }, "not a ROOT file"},
		{"header alone", func(b []byte) []byte { return b[:40] }, "wanted"},
		{"cut", func(b []byte) []byte { return b[:len(b)-1] }, "the file is cut"},
		{"root directory outside", func(b []byte) []byte { b[8] = 0x70; return b }, "directory at byte"},
		{"more keys than bytes", func(b []byte) []byte {
			list := binary.BigEndian.Uint32(b[100+60+2+8+8+8:])
			copy(b[list+26+1+1+6:], "\x00\x01\x00\x00")
			return b
		}, "count 65536"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.change(slices.Clone(whole))
			_, err := Open(bytes.NewReader(b), int64(len(b)), "x.root")
			if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "x.root") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// TestDirectoryThatPointsToItself neither loops nor hides the rest.
func TestDirectoryThatPointsToItself(t *testing.T) {
	b := makeFile(layout{}, []entry{{name: "d", sub: []entry{{class: "TTree", name: "in", payload: "x"}}}, {class: "TTree", name: "t", payload: "y"}})
	root := 100 + 60
	sub := bytes.Index(b, []byte("TDirectoryFile\x01d\x05title")) + 22
	copy(b[sub:], b[root:root+30]) // the same list of keys
	f := openBytes(t, b)
	if len(f.Problems()) != 1 || !errors.Is(f.Problems()[0], shardify.ErrCorrupt) {
		t.Errorf("problems %v", f.Problems())
	}
	if _, err := f.Lookup("t"); err != nil || len(f.Objects()) != 1 {
		t.Errorf("%d objects, %v", len(f.Objects()), err)
	}
}

// TestListsOfKeysThatOverlap: a small file cannot make the reader read it over and
// over.
func TestListsOfKeysThatOverlap(t *testing.T) {
	var dirs []entry
	for range 20 {
		dirs = append(dirs, entry{name: "d", sub: []entry{{class: "TTree", name: "in", payload: "x"}}})
	}
	b := makeFile(layout{}, dirs)
	mark := []byte("TDirectoryFile\x01d\x05title")
	for at, i := 0, 0; i < len(dirs); i++ {
		at += bytes.Index(b[at:], mark) + len(mark)
		seek := binary.BigEndian.Uint32(b[at+26:])
		binary.BigEndian.PutUint32(b[at+10:], uint32(len(b))-seek) // all of the rest
	}
	f := openBytes(t, b)
	if n := len(f.Problems()); n < 15 || !strings.Contains(f.Problems()[n-1].Error(), "overlap") {
		t.Errorf("%d problems", n)
	}
}

// TestFileNotClosed opens, lists what is there, and says so.
func TestFileNotClosed(t *testing.T) {
	b := makeFile(layout{}, sample)
	copy(b[16:24], make([]byte, 8))              // no list of free blocks
	copy(b[100+60+2+8+8+8:], []byte{0, 0, 0, 0}) // no list of keys
	f := openBytes(t, b)
	if f.closed() || len(f.Problems()) != 1 || len(f.Objects()) != 0 {
		t.Fatalf("problems %v, %d objects", f.Problems(), len(f.Objects()))
	}
	if _, err := f.Lookup("t"); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "not closed") {
		t.Errorf("error is %v", err)
	}
}
