package filter

import (
	"bytes"
	"testing"
)

func TestBlosc2ChunksOfTheReferenceLibrary(t *testing.T) {
	var s Scratch
	all := loadChunks(t, "testdata/blosc2.json.gz")
	for i := range all {
		c := &all[i]
		p, err := New(c.Filters, c.Size, int64(len(c.Want)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeChunk(t, c, p, c.Stored, c.Mask, len(c.Want), &s)
		if err != nil || !bytes.Equal(got, c.Want) {
			t.Errorf("%s: %v, first difference at byte %d of %d", c.Name, err, differ(got, c.Want), len(c.Want))
		}
		if len(c.Stored) > 2000 {
			continue
		}
		for k := 0; k < len(c.Stored); k += 7 { // cut, and damaged
			b := bytes.Clone(c.Stored)
			b[k] ^= 1 << (k % 8)
			decodeChunk(t, c, p, b, c.Mask, len(c.Want), &s)
			if _, err := decodeChunk(t, c, p, c.Stored[:k], c.Mask, len(c.Want), &s); err == nil {
				t.Errorf("%s cut to %d of %d bytes is read", c.Name, k, len(c.Stored))
			}
		}
	}
}

// FuzzBlosc2 decodes damaged frames.
func FuzzBlosc2(f *testing.F) {
	for _, c := range loadChunks(f, "testdata/blosc2.json.gz") {
		f.Add(c.Stored, c.N*c.Size)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 1 || n > 1<<20 {
			return
		}
		var s Scratch
		blosc2{}.decode(make([]byte, n), b, true, &s)
	})
}
