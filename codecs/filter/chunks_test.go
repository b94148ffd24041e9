package filter

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/shardify/shardify"
)

// chunk is one of testdata/chunks.json.gz: as the reference library stored it.
type chunk struct {
	Name    string
	Filters []Spec
	Size    int // of an element
	N       int
	Mask    uint32
	Stored  []byte
	Want    []byte // nil: synth(N, Size)
}

func loadChunks(t testing.TB, path string) []chunk {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []chunk
	if err := json.NewDecoder(z).Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// synth makes n elements of the given size, at most 24, as testdata/make_chunks.py does.
func synth(n, size int) []byte {
	out := make([]byte, 0, n*size+24)
	for e := range uint64(n) {
		e %= 1501
		v := e*e>>11*7 + e*2654435761&0xffffffff>>31
		at := len(out)
		out = binary.LittleEndian.AppendUint64(out, v)
		out = binary.LittleEndian.AppendUint64(out, v/3)
		out = binary.LittleEndian.AppendUint64(out, v)[:at+size]
	}
	return out
}

func (c *chunk) want() []byte {
	if c.Want != nil {
		return c.Want
	}
	return synth(c.N, c.Size)
}

// decodeChunk decodes to the middle of a buffer and checks what must always hold.
func decodeChunk(t testing.TB, c *chunk, p *Pipeline, stored []byte, mask uint32, n int, s *Scratch) ([]byte, error) {
	t.Helper()
	buf := bytes.Repeat([]byte{0xa5}, n+64)
	given := bytes.Clone(stored)
	err := p.Decode(buf[32:32+n], stored, mask, s)
	if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("%s: error of no kind: %v", c.Name, err)
	}
	if !bytes.Equal(given, stored) {
		t.Errorf("%s: changed its input", c.Name)
	}
	for i, b := range buf {
		if (i < 32 || i >= 32+n) && b != 0xa5 {
			t.Fatalf("%s: wrote byte %d outside of the chunk", c.Name, i-32)
		}
	}
	return buf[32 : 32+n], err
}

func TestChunksOfTheReferenceLibrary(t *testing.T) {
	var s Scratch
	kinds := map[uint16]int{}
	all := loadChunks(t, "testdata/chunks.json.gz")
	for i := range all {
		c := &all[i]
		want := c.want()
		p, err := New(c.Filters, c.Size, int64(len(want)))
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		got, err := decodeChunk(t, c, p, c.Stored, c.Mask, len(want), &s)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, first difference at byte %d of %d", c.Name, err, differ(got, want), len(want))
		}
		for k, f := range c.Filters {
			if c.Mask>>k&1 == 0 {
				kinds[f.ID]++
			}
		}
	}
	t.Logf("%d chunks; filters applied: %v", len(all), kinds)
	if len(kinds) != 11 {
		t.Errorf("%d kinds of filters were applied, want all 11", len(kinds))
	}
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
