package filter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"os"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestUnknownFiltersAreRefusedWithTheirCure(t *testing.T) {
	for _, c := range []struct {
		f    Spec
		want string
	}{
		{Spec{ID: 200}, "filter 200 (unknown) cannot be decoded; convert the file with `h5repack -f GZIP=4 in.h5 out.h5`"},
		{Spec{ID: 32013}, "filter 32013 (zfp) cannot be decoded; convert the file where the filter's plugin is installed, with `h5repack -f GZIP=4 in.h5 out.h5`"},
		{Spec{ID: 305}, "filter 305 (lzo)"},
		{Spec{ID: 40000, Name: "our\n own"}, `filter 40000 ("our\n own")`},
		{Spec{ID: 40000}, "filter 40000 (unknown)"},
		{Spec{ID: 6, Client: []uint32{scaleFloatE, 0, 1, 1, 4, 0, 0, 0}}, "E-scale"},
		{Spec{ID: 32008, Client: []uint32{0, 4, 4, 0, 9}}, "with codec 9"},
	} {
		_, err := New([]Spec{{ID: 2, Client: []uint32{4}}, c.f}, 4, 4)
		if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("filter %d: %v, want %s", c.f.ID, err, c.want)
		}
	}
}

func TestParametersThatContradictThemselves(t *testing.T) {
	for name, f := range map[string]Spec{
		"shuffle size 0":        {ID: 2, Client: []uint32{0}},
		"szip empty":            {ID: 4, Client: []uint32{169, 8, 32}},
		"szip odd block":        {ID: 4, Client: []uint32{169, 7, 32, 10}},
		"szip block of 0":       {ID: 4, Client: []uint32{169, 0, 32, 10}},
		"szip large block":      {ID: 4, Client: []uint32{169, 64, 32, 10}},
		"szip no line":          {ID: 4, Client: []uint32{169, 8, 32, 0}},
		"szip long line":        {ID: 4, Client: []uint32{169, 8, 32, 4097}},
		"szip 0 bits":           {ID: 4, Client: []uint32{169, 8, 0, 10}},
		"szip 25 bits":          {ID: 4, Client: []uint32{169, 8, 25, 10}},
		"szip 64 bits of 32":    {ID: 4, Client: []uint32{169, 8, 64, 10}},
		"nbit empty":            {ID: 5},
		"nbit cut":              {ID: 5, Client: []uint32{8, 0, 10, 1, 4}},
		"nbit precision":        {ID: 5, Client: []uint32{8, 0, 10, 1, 4, 0, 30, 3}},
		"nbit elements":         {ID: 5, Client: []uint32{8, 0, 11, 1, 4, 0, 30, 0}},
		"nbit no members":       {ID: 5, Client: []uint32{5, 0, 10, 3, 4, 0}},
		"nbit member outside":   {ID: 5, Client: []uint32{11, 0, 10, 3, 4, 1, 2, 1, 4, 0, 8, 0}},
		"nbit array of 0":       {ID: 5, Client: []uint32{9, 0, 10, 2, 4, 1, 0, 0, 0, 0}},
		"nbit endless":          {ID: 5, Client: append([]uint32{9, 0, 10}, bytesOf(2, 4, 100)...)},
		"nbit large array":      {ID: 5, Client: []uint32{9, 0, 10, 2, 1 << 24, 1, 1, 0, 1, 0}},
		"scaleoffset empty":     {ID: 6, Client: []uint32{2, 0, 10}},
		"scaleoffset size":      {ID: 6, Client: []uint32{2, 0, 10, 0, 3, 0, 0, 0}},
		"scaleoffset class":     {ID: 6, Client: []uint32{2, 0, 10, 1, 4, 0, 0, 0}},
		"scaleoffset elements":  {ID: 6, Client: []uint32{2, 0, 1 << 31, 0, 4, 0, 0, 0}},
		"bitshuffle size":       {ID: 32008, Client: []uint32{0, 4, 0, 0, 0}},
		"bitshuffle odd block":  {ID: 32008, Client: []uint32{0, 4, 4, 12, 0}},
		"bitshuffle great size": {ID: 32008, Client: []uint32{0, 4, 1 << 31, 0, 0}},
	} {
		if _, err := New([]Spec{f}, 4, 40); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(make([]Spec, 33), 4, 40); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("33 filters: %v", err)
	}
}

// bytesOf repeats the pair a, b n times.
func bytesOf(a, b uint32, n int) []uint32 {
	var out []uint32
	for range n {
		out = append(out, a, b)
	}
	return out
}

func TestMaskSkipsAFilter(t *testing.T) {
	data := synth(50, 4)
	p, err := New([]Spec{{ID: 2, Client: []uint32{4}}, {ID: 1}, {ID: 3}}, 4, 200)
	if err != nil {
		t.Fatal(err)
	}
	var s Scratch
	c := &chunk{Name: "masked"}
	for _, x := range []struct {
		stored []byte
		mask   uint32
	}{
		{data, 7},
		{shuffled(data, 4), 6},
		{append(bytes.Clone(data), "more than the chunk has"...), 7},
	} {
		got, err := decodeChunk(t, c, p, x.stored, x.mask, 200, &s)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("mask %b: %v", x.mask, err)
		}
	}
	if _, err := decodeChunk(t, c, p, data[:199], 7, 200, &s); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("one byte missing: %v", err)
	}
}

func TestFletcherVectorsAndBothOrders(t *testing.T) {
	for _, c := range []struct {
		data string
		want uint32
	}{
		// The big-endian pairs of these, summed by hand.
		{"", 0},
		{"\x00\x00\x00", 0},
		{"\x01", 0x0100_0100},
		{"\x01\x02", 0x0102_0102},
		{"\x01\x02\x03\x04", 0x0508_0406},
		{"\xff\xff", 0xffff_ffff},
		{"\xff\xff\x00\x01", 0x0001_0001},
		{strings.Repeat("\xff", 10000), 0xffff_ffff},
	} {
		if got := fletcher([]byte(c.data)); got != c.want {
			t.Errorf("%d bytes %.8q: %08x, want %08x", len(c.data), c.data, got, c.want)
		}
	}
	for n := range 5000 {
		data := noise(n, uint64(n))
		if got, want := fletcher(data), plainFletcher(data); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
		}
	}
	sum := fletcher([]byte("abcdefgh"))
	b := binary.LittleEndian.AppendUint32([]byte("abcdefgh"), sum)
	for _, order := range [][4]int{{8, 9, 10, 11}, {9, 8, 11, 10}} {
		in := append([]byte("abcdefgh"), b[order[0]], b[order[1]], b[order[2]], b[order[3]])
		if out, err := (fletcher32{}).decode(nil, in, true, nil); err != nil || string(out) != "abcdefgh" {
			t.Errorf("order %v: %q, %v", order, out, err)
		}
		in[3]++
		if _, err := (fletcher32{}).decode(nil, in, true, nil); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("order %v, a byte changed: %v", order, err)
		}
	}
}

// plainFletcher is the definition, one pair at a time.
func plainFletcher(p []byte) uint32 {
	var s1, s2 uint32
	if len(p)%2 != 0 {
		p = append(p, 0)
	}
	for i := 0; i < len(p); i += 2 {
		s1 += uint32(binary.BigEndian.Uint16(p[i:]))
		s1 = s1&0xffff + s1>>16
		s2 += s1
		s2 = s2&0xffff + s2>>16
	}
	return s2<<16 | s1
}

func TestScaleOffsetWithoutAFillValue(t *testing.T) {
	// Four differences of two bits, 0 1 2 3, from 100.
	src := []byte{2, 0, 0, 0, 8, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0b00_01_10_11}
	for _, c := range []struct {
		hasFill uint32
		want    []byte
	}{
		{0, []byte{100, 0, 101, 0, 102, 0, 103, 0}},
		{1, []byte{100, 0, 101, 0, 102, 0, 7, 1}},
	} {
		p, err := New([]Spec{{ID: 6, Client: []uint32{2, 0, 4, 0, 2, 0, 0, c.hasFill, 0x107}}}, 2, 8)
		if err != nil {
			t.Fatal(err)
		}
		var s Scratch
		got, err := decodeChunk(t, &chunk{}, p, src, 0, 8, &s)
		if err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("fill value defined %d: %v, %v", c.hasFill, got, err)
		}
	}
}

func TestBloscStoredAsIs(t *testing.T) {
	data := synth(100, 4)
	src := []byte{2, 1, bloscMemcpy | bloscByteShuffle, 4}
	src = binary.LittleEndian.AppendUint32(src, 400)
	src = binary.LittleEndian.AppendUint32(src, 400)
	src = binary.LittleEndian.AppendUint32(src, 416)
	src = append(src, data...)
	p, err := New([]Spec{{ID: 32001}}, 4, 400)
	if err != nil {
		t.Fatal(err)
	}
	var s Scratch
	got, err := decodeChunk(t, &chunk{}, p, src, 0, 400, &s)
	if err != nil || !bytes.Equal(got, data) {
		t.Error(err)
	}
	src[0] = 5
	if err := p.Decode(got, src, 0, &s); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("version 5 of Blosc 1: %v", err)
	}
	if _, err := (blosc2{}).decode(got, src, true, &s); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("version 5 of Blosc 2 with a header of Blosc 1: %v", err)
	}
	src[0] = 7
	if _, err := (blosc2{}).decode(got, src, true, &s); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("version 7 of Blosc 2: %v", err)
	}
}

// TestDamageNeverHarms changes and cuts what the reference library stored, at more
// places with SHARDIFY_LONG=1.
func TestDamageNeverHarms(t *testing.T) {
	var s Scratch
	tried, passed := 0, 0
	for _, c := range loadChunks(t, "testdata/chunks.json.gz") {
		want := c.want()
		p, err := New(c.Filters, c.Size, int64(len(want)))
		if err != nil || len(want) > 10000 {
			continue
		}
		sure := c.checked()
		places := 12
		switch {
		case raceEnabled:
			places = 3
		case os.Getenv("SHARDIFY_LONG") != "":
			places = 400
		}
		step := max(1, len(c.Stored)/places)
		for i := 0; i < len(c.Stored); i += step {
			bad := bytes.Clone(c.Stored)
			bad[i] ^= 0x81 >> (i % 7)
			for k, src := range [][]byte{bad, c.Stored[:i]} {
				tried++
				got, err := decodeChunk(t, &c, p, src, c.Mask, len(want), &s)
				if err != nil {
					continue
				}
				passed++
				if cut := k == 1; (sure || cut) && !bytes.Equal(got, want) {
					t.Errorf("%s: byte %d of %d (cut %v): other values without an error", c.Name, i, len(c.Stored), cut)
				}
			}
		}
		for _, n := range []int{len(want) - 1, len(want) + 1} { // a size the plan did not promise
			decodeChunk(t, &c, p, c.Stored, c.Mask, n, &s)
		}
	}
	t.Logf("%d damaged chunks, %d of them decoded", tried, passed)
}

// checked reports whether a checksum covers all of the chunk.
func (c *chunk) checked() bool {
	for i, f := range c.Filters {
		if f.ID == idFletcher32 && c.Mask>>i&1 == 0 {
			return true
		}
	}
	return false
}

func TestSteadyDecodingDoesNotAllocate(t *testing.T) {
	done := map[uint64]bool{}
	for _, c := range loadChunks(t, "testdata/chunks.json.gz") {
		h := fnv.New64()
		for _, f := range c.Filters {
			binary.Write(h, binary.LittleEndian, f.ID)
		}
		if done[h.Sum64()] || strings.Contains(c.Name, "bzip2") || strings.Contains(c.Name, "307") || raceEnabled {
			continue // the standard library's bzip2 allocates
		}
		done[h.Sum64()] = true
		var s Scratch
		dst := make([]byte, c.N*c.Size)
		p, err := New(c.Filters, c.Size, int64(len(dst)))
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(10, func() {
			if err := p.Decode(dst, c.Stored, c.Mask, &s); err != nil {
				t.Fatal(err)
			}
		}); n >= 1 {
			t.Errorf("%s: %v allocations a chunk", c.Name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	seen := map[string]bool{}
	for _, c := range loadChunks(f, "testdata/chunks.json.gz") {
		kind, _, _ := strings.Cut(c.Name, "/")
		if len(c.Stored) > 400 || seen[kind] {
			continue
		}
		seen[kind] = true
		spec, more := c.Filters[0], uint16(0)
		if len(c.Filters) > 1 {
			more = c.Filters[1].ID
		}
		var client []byte
		for _, w := range spec.Client {
			client = binary.LittleEndian.AppendUint32(client, w)
		}
		f.Add(spec.ID, client, more, c.Size, c.N*c.Size, c.Mask, c.Stored)
	}
	f.Fuzz(func(t *testing.T, id uint16, client []byte, more uint16, size, n int, mask uint32, stored []byte) {
		specs := []Spec{{ID: id}, {ID: more}}
		for ; len(client) >= 4 && len(specs[0].Client) < 64; client = client[4:] {
			specs[0].Client = append(specs[0].Client, binary.LittleEndian.Uint32(client))
		}
		if more == 0 {
			specs = specs[:1]
		}
		if n > 1<<18 {
			return
		}
		p, err := New(specs, size, int64(n))
		if err != nil {
			return
		}
		var s Scratch
		decodeChunk(t, &chunk{}, p, stored, mask, n, &s)
	})
}
