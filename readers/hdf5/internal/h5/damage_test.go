package h5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
)

func readTestdata(t testing.TB, name string) []byte {
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openBytes(t testing.TB, b []byte) *File {
	f, err := Open(bytes.NewReader(b), int64(len(b)), "test.h5")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fingerprint writes down everything a file says.
func fingerprint(r io.ReaderAt, size int64) (string, error) {
	f, err := Open(r, size, "test.h5")
	if err != nil {
		return "", err
	}
	var s strings.Builder
	fmt.Fprintln(&s, f.Version, f.OffsetSize, f.LengthSize, f.Base, f.EOF, f.Root, f.Flags, f.GroupLeafK, f.GroupInternalK, f.ChunkK)
	seen := map[int64]bool{}
	var visit func(addr int64, path string) error
	visit = func(addr int64, path string) error {
		if seen[addr] {
			return nil
		}
		seen[addr] = true
		o, err := f.Object(addr, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&s, "%s %v %d\n", path, o.Kind, addr)
		attrs, err := o.Attributes()
		if err != nil {
			return err
		}
		for _, a := range attrs {
			if a.Err != nil {
				return a.Err
			}
			fmt.Fprintf(&s, "  %s %v %+v %x\n", a.Name, typeJSON(a.Type), a.Space, a.Data)
		}
		if o.Kind == KindDataset {
			ds, err := o.Dataset()
			if err != nil {
				return err
			}
			fmt.Fprintf(&s, "  %v %+v %+v %+v %x\n", typeJSON(ds.Type), ds.Space, ds.Layout, ds.Filters, ds.Fill)
			if ds.Layout.Class == dataset.Chunked {
				t, err := ds.Chunks()
				if err != nil {
					return err
				}
				for n, c := range t.All {
					fmt.Fprintf(&s, "  %d %+v\n", n, c)
				}
			}
		}
		if o.Kind != KindGroup {
			return nil
		}
		links, err := o.Children()
		for _, l := range links {
			fmt.Fprintf(&s, "  %+v\n", l)
			if err == nil {
				err = l.Err
			}
			if err == nil && l.Kind == HardLink {
				err = visit(l.Addr, path+"/"+l.Name)
			}
		}
		return err
	}
	err = visit(f.Root, "")
	return s.String(), err
}

// In a file of the current version a checksum covers every metadata byte, so a changed byte
// is noticed or does not matter (data, gaps).
func TestAChangedByteIsNoticedOrDoesNotMatter(t *testing.T) {
	b := readTestdata(t, "new.h5")
	want, err := fingerprint(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	noticed, step := 0, 7
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
	for i := 0; i < len(b); i += step {
		old := b[i]
		b[i] ^= 1 << (i % 8)
		got, err := fingerprint(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			noticed++
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("byte %d: %v", i, err)
			}
		} else if got != want {
			t.Errorf("byte %d changed what is read, without an error", i)
		}
		b[i] = old
	}
	t.Logf("%d of %d changed bytes were noticed", noticed, len(b)/step)
	if noticed < len(b)/step/3 {
		t.Error("few changed bytes were noticed")
	}
}

// failingReader fails at its n-th read.
type failingReader struct {
	io.ReaderAt
	n int
}

var errDisk = errors.New("disk on fire")

func (r *failingReader) ReadAt(p []byte, off int64) (int, error) {
	if r.n--; r.n < 0 {
		return 0, errDisk
	}
	return r.ReaderAt.ReadAt(p, off)
}

func TestEveryFailingReadSurfaces(t *testing.T) {
	for _, name := range []string{"old.h5", "new.h5"} {
		b := readTestdata(t, name)
		reads := 0
		for ; ; reads++ {
			r := &failingReader{bytes.NewReader(b), reads}
			_, err := fingerprint(r, int64(len(b)))
			if r.n >= 0 {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if !errors.Is(err, errDisk) {
				t.Fatalf("%s: read %d failed, error is %v", name, reads, err)
			}
		}
		if reads < 2 {
			t.Errorf("%s: %d reads", name, reads)
		}
	}
}

func TestEveryCutIsAnError(t *testing.T) {
	for _, name := range []string{"old.h5", "new.h5"} {
		b := readTestdata(t, name)
		for n := range len(b) {
			if _, err := fingerprint(bytes.NewReader(b[:n]), int64(n)); err == nil {
				t.Fatalf("%s cut to %d of %d bytes is read", name, n, len(b))
			}
		}
	}
}

// chunkLeaf returns the offset of the first entry of the chunk B-tree in old.h5.
func chunkLeaf(t *testing.T, b []byte) int {
	i := bytes.Index(b, []byte("TREE\x01\x00"))
	if i < 0 {
		t.Fatal("no chunk B-tree")
	}
	return i + 24
}

func TestHostileChunkTrees(t *testing.T) {
	const key, entry = 8 + 8*3, 8 + 8*3 + 8
	for _, c := range []struct {
		what   string
		damage func(b []byte, at int)
		want   string
	}{
		{"a chunk twice", func(b []byte, at int) { copy(b[at+entry:at+entry+key], b[at:at+key]) }, "does not follow"},
		{"chunk outside of a fixed dimension", func(b []byte, at int) { b[at+16] = 6 }, "of at most 6"},
		{"chunk inside of an element", func(b []byte, at int) { b[at+24]++ }, "of an element"},
		{"offset inside a chunk", func(b []byte, at int) { b[at+8]++ }, "no multiple"},
		{"chunk past the end", func(b []byte, at int) { b[at+key+4] = 1 }, "past the end"},
		{"too many entries", func(b []byte, at int) { binary.LittleEndian.PutUint16(b[at-18:], 65) }, "at most 64"},
		{"wrong node type", func(b []byte, at int) { b[at-20] = 0 }, "type 0"},
		{"its own child", func(b []byte, at int) {
			b[at-19] = 1
			binary.LittleEndian.PutUint64(b[at+key:], uint64(at-24-512))
		}, "B-tree node"},
		{"two parents' child", func(b []byte, at int) {
			b[at-19] = 1
			copy(b[at+entry+key:at+entry+key+8], b[at+key:at+key+8])
		}, "twice"},
	} {
		b := readTestdata(t, "old.h5")
		c.damage(b, chunkLeaf(t, b))
		f := openBytes(t, b)
		l, err := f.Lookup("/chunked")
		if err != nil {
			t.Fatal(err)
		}
		o, err := f.Object(l.Addr, "/chunked")
		if err != nil {
			t.Fatal(err)
		}
		ds, err := o.Dataset()
		if err != nil {
			t.Fatal(err)
		}
		_, err = ds.Chunks()
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "test.h5 /chunked") {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// One broken object must not hide its neighbours.
func TestDamageStaysInItsObject(t *testing.T) {
	b := readTestdata(t, "old.h5")
	f := openBytes(t, b)
	l, err := f.Lookup("/train/a/b/x")
	if err != nil {
		t.Fatal(err)
	}
	b[l.Addr] = 77
	f = openBytes(t, b)
	if _, err := f.Object(l.Addr, "/train/a/b/x"); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("damaged header: %v", err)
	}
	var r reached
	if err := walkAll(f, &r); err == nil || r.datasets < 5 || r.tables != 1 {
		t.Errorf("reached %+v, %v", r, err)
	}
	i := bytes.LastIndex(b, []byte("SNOD"))
	b[i] = 'X'
	f = openBytes(t, b)
	if err := walkAll(f, nil); err == nil {
		t.Error("a damaged symbol node is not noticed")
	}
}

// A count of entries that became 0 makes a group with links no empty group.
func TestAGroupThatLostItsLinksIsDamaged(t *testing.T) {
	good := readTestdata(t, "old.h5")
	found := 0
	for at := 0; ; at++ {
		i := bytes.Index(good[at:], []byte("TREE\x00\x00"))
		if i < 0 {
			break
		}
		at += i
		b := bytes.Clone(good)
		had := binary.LittleEndian.Uint16(b[at+6:])
		if b[at] = 'X'; walkAll(openBytes(t, b), nil) == nil { // of no group
			continue
		}
		b[at] = 'T'
		b[at+6], b[at+7] = 0, 0
		if err := walkAll(openBytes(t, b), nil); (err != nil) != (had == 1) {
			t.Errorf("tree at %d, which had %d entries: %v", at, had, err)
		} else if had == 1 {
			found++
			if !strings.Contains(err.Error(), fmt.Sprintf("at byte %d: B-tree node: no entries", at)) {
				t.Errorf("tree at %d: %v", at, err)
			}
		}
		b[at+5] = 2
		if err := walkAll(openBytes(t, b), nil); err == nil || !strings.Contains(err.Error(), "no entries at level 2") {
			t.Errorf("tree at %d of two levels: %v", at, err)
		}
	}
	if found < 2 {
		t.Errorf("%d groups with links", found)
	}
}

// What has no checksum must make sense at least: what the reference library refuses is
// no value here.
func TestMetadataWithoutChecksumsMustMakeSense(t *testing.T) {
	good := readTestdata(t, "old.h5")
	const base = 512
	l, err := openBytes(t, good).Lookup("/flag")
	if err != nil {
		t.Fatal(err)
	}
	header, node := int(l.Addr), bytes.LastIndex(good, []byte("SNOD"))
	space := header + 16
	if good[space] != 1 || good[space+16] != 2 {
		t.Fatalf("no dataspace of 2 elements: % x", good[space:space+24])
	}
	for _, c := range []struct {
		what  string
		at    int
		value byte
		want  string
	}{
		{"version of free space", base + 9, 1, "version of free space"},
		{"version of shared headers", base + 12, 8, "version of shared headers"},
		{"flags", base + 20, 8, "flags 0x8"},
		{"kind of the root's cache", base + 24 + 5*8 + 8, 9, "cache of kind 9"},
		{"kind of a link's cache", node + 8 + 16, 16, "cache of kind 16"},
		{"order of links", node + 8, good[node+8+40], "follows"},
		{"message that is not aligned", space + 2, 31, "no multiple of 8"},
		{"gap behind the messages", header + 8, good[header+8] + 1, "behind the last message"},
		{"fewer elements than bytes", space + 16, 0, "2 bytes stored, 0 needed"},
	} {
		b := bytes.Clone(good)
		b[c.at] = c.value
		_, err := fingerprint(bytes.NewReader(b), int64(len(b)))
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
