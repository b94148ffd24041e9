package arrow

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/tests/race"
)

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(testdata(name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// inMemory is a file of bytes.
type inMemory struct {
	storage.File
	*bytes.Reader
}

func (f inMemory) ReadAt(b []byte, off int64) (int, error) { return f.Reader.ReadAt(b, off) }
func (f inMemory) Size() int64                             { return f.Reader.Size() }

// surveyed is what a survey says of a file: fields that are read, left out and without values, and
// rows.
func surveyed(b []byte) (fields int, rows int64, unended bool, err error) {
	f, err := openFile(context.Background(), inMemory{Reader: bytes.NewReader(b)})
	if err != nil {
		return 0, 0, false, err
	}
	found := f.choose(func(string) bool { return true })
	for _, l := range found.left {
		if errors.Is(l.Err, shardify.ErrCorrupt) {
			return 0, 0, false, l.Err
		}
	}
	if _, _, _, err = f.sizes(context.Background(), found.leaves); err != nil {
		return 0, 0, false, err
	}
	return len(found.leaves) + len(found.left) + len(found.void), f.rows, f.unended, nil
}

// TestDamageIsNamed: what contradicts itself is refused, and not read in part.
func TestDamageIsNamed(t *testing.T) {
	patch := func(name string, at int, v ...byte) []byte {
		b := load(t, name)
		copy(b[at:], v)
		return b
	}
	footer := func(b []byte) int { return len(b) - 10 - int(binary.LittleEndian.Uint32(b[len(b)-10:])) }
	plain := load(t, "lists_in_structs.feather")
	root := footer(plain) + int(binary.LittleEndian.Uint32(plain[footer(plain):]))
	vtable := root - int(int32(binary.LittleEndian.Uint32(plain[root:])))
	stream := load(t, "stream.arrows")
	bare := load(t, "polars.arrow") // its first message has no head
	slot := len(bare) - 53          // of the names in the last table of slots
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a batch as a dictionary":      {load(t, "damaged_batch_as_dictionary.arrow"), "a dictionary of number 10, which no field has"},
		"a type that cannot be":        {load(t, "damaged_no_bits.arrow"), "an integer of 0 bits"},
		"a schema that contradicts":    {load(t, "damaged_rows.feather"), "the schema contradicts itself"},
		"a footer without its batches": {patch("lists_in_structs.feather", vtable+4, 0, 0, 0, 0, 0, 0, 0, 0), "the footer contradicts itself"},
		"a footer without batches":     {patch("lists_in_structs.feather", vtable+10, 0, 0), "that the footer does not name"},
		"a footer of another schema":   {patch("polars.arrow", slot, 0), "is not that of the footer"},
		"a schema of another name":     {patch("polars.arrow", bytes.Index(bare, []byte("id\x00")), 'j'), "is not that of the footer"},
		"something else than a schema": {patch("polars.arrow", 22, isBatch), "no schema in front of the batches"},
		"streams put together":         {append(bytes.Clone(stream), stream...), "behind the end mark"},
		"a schema again":               {append(bytes.Clone(stream[:len(stream)-8]), stream...), "a second schema"},
		"half a message":               {stream[:len(stream)-20], "beyond"},
	} {
		_, n, _, err := surveyed(c.data)
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d rows, %v, want %q", name, n, err, c.want)
		}
	}
	if _, n, _, err := surveyed(append(bytes.Clone(stream), make([]byte, 100)...)); err != nil || n == 0 {
		t.Errorf("zeros behind the end mark: %d, %v", n, err)
	}
}

// TestStreamsWithoutAnEndMark are read, named with their rows, and refused on request.
func TestStreamsWithoutAnEndMark(t *testing.T) {
	open := func(end string, files ...string) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Options: format.Options{optEnd: end}})
	}
	cut := testdata("damaged_no_end.arrow")
	src, err := open("any", cut, cut)
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(src.(format.Describer).Describe(), "\n"); !strings.Contains(said, "no end mark") || !strings.Contains(said, "20 samples in 2 inputs") || !strings.Contains(said, "--end-mark required") {
		t.Errorf("%q", said)
	}
	src.Close()
	if _, err := open("required", cut); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "no end mark behind its 10 rows") {
		t.Error(err)
	}
	if src, err = open("required", testdata("stream.arrows"), testdata("stream.arrows")); err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(src.(format.Describer).Describe(), "\n"); strings.Contains(said, "end mark") {
		t.Errorf("%q", said)
	}
	src.Close()
}

// TestClaimsAreHeldAgainstTheBytes: rows that a batch cannot have are refused when the plan is
// made.
func TestClaimsAreHeldAgainstTheBytes(t *testing.T) {
	for _, name := range []string{"stream.arrows", "types_zstd.feather", "types_lz4.feather", "types_uncompressed.feather", "polars.arrow", "deltas.arrows"} {
		b := load(t, name)
		f, err := openFile(context.Background(), inMemory{Reader: bytes.NewReader(b)})
		if err != nil {
			t.Fatal(err)
		}
		m := &f.batches[0]
		r, at, err := f.header(m)
		if err != nil {
			t.Fatal(err)
		}
		for what, all := range map[string]bool{"rows": false, "rows and values": true} {
			b := bytes.Clone(b)
			const claim = 1e14
			binary.LittleEndian.PutUint64(b[m.off+8+int64(r.Slot(at, 0)):], claim)
			if p, n := r.Structs(at, 1, 16); all {
				for i := range n {
					binary.LittleEndian.PutUint64(b[int(m.off)+8+p+16*i:], claim)
				}
			}
			start := time.Now()
			_, n, _, err := surveyed(b)
			if !errors.Is(err, shardify.ErrCorrupt) || time.Since(start) > 20*time.Second {
				t.Errorf("%s, %s: %d rows, %v", name, what, n, err)
			}
		}
	}
}

// TestNoFlipLosesRows: with any bit flipped, a file is refused or it has the rows and the fields
// that it had, or says that a stream has no end mark.
func TestNoFlipLosesRows(t *testing.T) {
	race.Sequential(t)
	for _, name := range []string{"damaged_no_end.arrow", "deltas.arrows", "lists_in_structs.feather", "missing_fixed_list.feather", "not_utf8.feather", "polars.arrow"} {
		b := load(t, name)
		if name == "damaged_no_end.arrow" {
			b = append(b, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
		}
		fields, rows, _, err := surveyed(b)
		if err != nil {
			t.Fatal(err)
		}
		refused, unended := 0, 0
		for bit := range 8 * len(b) {
			b[bit/8] ^= 1 << (bit % 8)
			k, n, cut, err := surveyed(b)
			switch {
			case err != nil:
				refused++
			case cut:
				unended++
			case n < rows || k < fields:
				t.Errorf("%s: bit %d of byte %d: %d rows of %d, %d fields of %d", name, bit%8, bit/8, n, rows, k, fields)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
		t.Logf("%s: %d flips, %d refused, %d without an end mark", name, 8*len(b), refused, unended)
	}
}
