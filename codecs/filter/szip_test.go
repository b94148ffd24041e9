package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/shardify/shardify"
)

func TestSzipChunksOfTheReferenceLibrary(t *testing.T) {
	var s Scratch
	all := loadChunks(t, "testdata/szip.json.gz")
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
		if c.Mask != 0 {
			continue
		}
		for k := 0; k < len(c.Stored); k += 1 + len(c.Stored)/20 { // cut, and damaged
			b := bytes.Clone(c.Stored)
			b[k] ^= 1 << (k % 8)
			decodeChunk(t, c, p, b, c.Mask, len(c.Want), &s)
			got, err := decodeChunk(t, c, p, c.Stored[:k], c.Mask, len(c.Want), &s)
			if err == nil && !bytes.Equal(got, c.Want) {
				t.Errorf("%s cut to %d of %d bytes is read", c.Name, k, len(c.Stored))
			}
		}
		if len(c.Filters) == 1 && c.N%int(c.Filters[0].Client[3]) == 0 {
			if _, err := decodeChunk(t, c, p, append(bytes.Clone(c.Stored), "rest"...), 0, len(c.Want), &s); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("%s with 4 bytes behind it: %v", c.Name, err)
			}
		}
	}
	last := &all[len(all)-1]
	p, _ := New(last.Filters, last.Size, int64(len(last.Want)))
	if n := testing.AllocsPerRun(10, func() { p.Decode(last.Want, last.Stored, last.Mask, &s) }); n >= 1 && !raceEnabled {
		t.Errorf("%v allocations a chunk", n)
	}
}

// The HDF5 library itself reads other values than were written.
func TestSzipOfThreeBytesIsRefused(t *testing.T) {
	_, err := New([]Spec{{ID: idSzip, Client: []uint32{169, 8, 24, 36}}}, 3, 108)
	if !errors.Is(err, shardify.ErrUnsupported) {
		t.Error(err)
	}
}

// FuzzSzip decodes damaged chunks.
func FuzzSzip(f *testing.F) {
	for _, c := range loadChunks(f, "testdata/szip.json.gz") {
		if k := c.Filters[0].Client; len(c.Filters) == 1 && len(c.Stored) < 400 {
			f.Add(c.Stored, len(c.Want), c.Size, k[0], k[1], k[2], k[3])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, n, size int, options, block, width, line uint32) {
		if n < 1 || n > 1<<20 {
			return
		}
		if len(b) >= 4 {
			binary.LittleEndian.PutUint32(b, uint32(n))
		}
		p, err := New([]Spec{{ID: idSzip, Client: []uint32{options, block, width, line}}}, size, int64(n))
		if err == nil {
			var s Scratch
			decodeChunk(t, &chunk{}, p, b, 0, n, &s)
		}
	})
}
