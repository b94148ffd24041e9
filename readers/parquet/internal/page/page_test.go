package page

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// TestLevelsAreThoseThatWereEncoded, of every width, as runs and packed; parquet-go
// encodes.
func TestLevelsAreThoseThatWereEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for highest := 1; highest <= 60; highest++ {
		for _, n := range []int{1, 7, 8, 9, 100, 1003} {
			want := make([]uint8, n)
			for i := range want {
				if want[i] = uint8(rng.IntN(highest + 1)); i > 0 && rng.IntN(3) > 0 {
					want[i] = want[i-1]
				}
			}
			width := 1
			for 1<<width <= highest {
				width++
			}
			enc := rle.Encoding{BitWidth: width}
			b, err := enc.EncodeLevels(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := levels(nil, b, n, highest)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("highest %d, %d levels: %v, %v; want %v", highest, n, got, err, want)
			}
			if CountEqual(want, want[0]) != bytes.Count(want, want[:1]) {
				t.Fatalf("CountEqual of %v", want)
			}
		}
	}
}

// TestIndicesOfEveryWidth also when no bytes may be read behind the source.
func TestIndicesOfEveryWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for width := 1; width <= 32; width++ {
		for _, n := range []int{1, 8, 31, 1000} {
			want := make([]int32, n)
			for i := range want {
				if want[i] = int32(rng.Uint64() & (1<<width - 1)); i > 0 && rng.IntN(4) == 0 {
					want[i] = want[i-1]
				}
			}
			enc := rle.Encoding{BitWidth: width}
			b, err := enc.EncodeInt32(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int32, n)
			if err := runs32(got, slices.Clip(b), uint(width)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("width %d: %v, %v; want %v", width, got, err, want)
			}
		}
	}
}

func TestDeltasOfAnyNumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var enc delta.BinaryPackedEncoding
	for shift := range 64 {
		for _, n := range []int{1, 2, 127, 128, 129, 700} {
			want := make([]int64, n)
			for i := range want {
				want[i] = int64(rng.Uint64()) >> shift
			}
			b, err := enc.EncodeInt64(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]int64, n)
			rest, err := deltas(got, append(slices.Clip(b), 1, 2, 3))
			if err != nil || !slices.Equal(got, want) || len(rest) != 3 {
				t.Fatalf("shift %d, %d values: %v, %v, %d bytes left; want %v", shift, n, got, err, len(rest), want)
			}
		}
	}
}

// TestOldLevels: highest bits first, no runs.
func TestOldLevels(t *testing.T) {
	got, rest, err := oldLevels(nil, []byte{0b00_01_10_11, 0b01_000000, 9}, 5, 3)
	if err != nil || !bytes.Equal(got, []uint8{0, 1, 2, 3, 1}) || len(rest) != 1 {
		t.Errorf("%v, %v, %v", got, rest, err)
	}
}

// TestLZ4OfBothKinds: with the sizes of Hadoop before each block, and bare.
func TestLZ4OfBothKinds(t *testing.T) {
	want := bytes.Repeat([]byte("parquet "), 100)
	block := make([]byte, lz4.CompressBlockBound(len(want)))
	n, err := lz4.CompressBlock(want, block, nil)
	if err != nil {
		t.Fatal(err)
	}
	block = block[:n]
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(want)))
	framed = append(binary.BigEndian.AppendUint32(framed, uint32(n)), block...)
	for name, b := range map[string][]byte{"bare": block, "framed": framed} {
		if got, err := decompress(lz4Hadoop, nil, b, len(want)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	two := append(slices.Clone(framed), framed...)
	if got, err := decompress(lz4Hadoop, nil, two, 2*len(want)); err != nil || !bytes.Equal(got, append(slices.Clone(want), want...)) {
		t.Errorf("two blocks: %v", err)
	}
}

// TestSizesThatCannotBeAreRefusedFirst: no memory is taken for them.
func TestSizesThatCannotBeAreRefusedFirst(t *testing.T) {
	src := make([]byte, 1000)
	for _, c := range []format.CompressionCodec{format.Uncompressed, format.Snappy, format.Gzip, format.Zstd, format.Lz4Raw, format.Brotli, 99} {
		if n := testing.AllocsPerRun(1, func() {
			if _, err := decompress(c, nil, src, 1<<31-1); err == nil {
				t.Errorf("codec %d takes 1000 bytes for 2 GiB", c)
			}
		}); n > 20 {
			t.Errorf("codec %d: %.0f allocations", c, n)
		}
	}
	var p Page
	col := &Column{Type: format.Int32, Width: 4, MaxDef: 1, Form: Form{Width: 4}}
	h := &pq.PageHeader{Type: format.DataPage, Values: 1<<31 - 1, Uncompressed: 1000, Compressed: 1000, DefEncoding: format.RLE, Rows: -1}
	if err := p.Read(col, format.Uncompressed, h, src, nil); !errors.Is(err, shardify.ErrUnsupported) || p.Memory() > 0 {
		t.Errorf("2 billion values: %v, %d bytes taken", err, p.Memory())
	}
}

// TestDecimalsAreExact at the ends of their range.
func TestDecimalsAreExact(t *testing.T) {
	col := &Column{Type: format.ByteArray, Form: Form{Kind: DecimalText, Scale: 3}}
	var s scratch
	var v Values
	raw := Values{N: 5, Data: []byte{0xff, 0x04, 0xd2, 0x80, 0x00, 0x05}, Cuts: []uint64{0<<32 | 1, 1<<32 | 2, 3<<32 | 1, 4<<32 | 1, 4<<32 | 2}}
	if err := s.form(col, raw, &v); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"-0.001", "1.234", "-0.128", "0.000", "0.005"} {
		if got := string(v.Value(i)); got != want {
			t.Errorf("%d is %s, want %s", i, got, want)
		}
	}
	col.Form = Form{Kind: DecimalI64, Width: 8}
	raw = Values{N: 3, Data: []byte{0xff, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x7f}, Cuts: []uint64{0<<32 | 10, 10<<32 | 2, 0 << 32}}
	if err := s.form(col, raw, &v); err != nil {
		t.Fatal(err)
	}
	if got := shardify.View[int64](v.Fixed); got[0] != -1<<63 || got[1] != 0x7f || got[2] != 0 {
		t.Errorf("%v", got)
	}
	raw = Values{N: 1, Data: []byte{1, 0, 0, 0, 0, 0, 0, 0, 0}, Cuts: []uint64{9}}
	if err := s.form(col, raw, &v); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("2^64: %v", err)
	}
}

// TestNumbersMustFitTheirType: an int8 is stored as INT32, which can be anything.
func TestNumbersMustFitTheirType(t *testing.T) {
	for _, c := range []struct {
		form Form
		x    int32
		ok   bool
	}{
		{Form{Narrow8, 1, 0}, -128, true}, {Form{Narrow8, 1, 0}, 128, false}, {Form{NarrowU8, 1, 0}, 255, true}, {Form{NarrowU8, 1, 0}, -1, false},
		{Form{Narrow16, 2, 0}, 32767, true}, {Form{Narrow16, 2, 0}, -32769, false}, {Form{NarrowU16, 2, 0}, 65535, true}, {Form{NarrowU16, 2, 0}, 65536, false},
	} {
		var s scratch
		var v Values
		err := s.form(&Column{Type: format.Int32, Width: 4, Form: c.form}, Values{N: 1, Fixed: binary.LittleEndian.AppendUint32(nil, uint32(c.x))}, &v)
		if (err == nil) != c.ok {
			t.Errorf("%d as %+v: %v", c.x, c.form, err)
		}
	}
}

// FuzzPage decodes any bytes as a page of any column.
func FuzzPage(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 8, 1, 1, 2, 3, 4}, uint16(4), uint8(0), uint8(0), uint8(1), uint8(1))
	f.Add([]byte{128, 1, 4, 5, 2, 2, 0, 0, 0, 0, 0}, uint16(5), uint8(5), uint8(2), uint8(0), uint8(0))
	f.Add([]byte{3, 3, 0x88, 0xc6, 0xfa}, uint16(8), uint8(8), uint8(1), uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, n uint16, enc, typ, levels, form uint8) {
		col := &Column{Type: format.Type(typ % 8), MaxDef: int(levels & 7), MaxRep: int(levels >> 3 & 3)}
		col.Width = []int{1, 4, 8, 12, 4, 8, 0, 5}[col.Type]
		col.Form.Width = col.Width
		switch {
		case col.Type == format.Int32 && form%6 < 5:
			col.Form = []Form{{Narrow8, 1, 0}, {NarrowU8, 1, 0}, {Narrow16, 2, 0}, {NarrowU16, 2, 0}, {WidenI64, 8, 0}}[form%6]
		case col.Type == format.Int96:
			col.Form = Form{Kind: Int96Nanos, Width: 8}
		case col.Type >= format.ByteArray && form%3 == 1:
			col.Form = Form{Kind: DecimalI64, Width: 8}
		case col.Type >= format.ByteArray && form%3 == 2:
			col.Form = Form{Kind: DecimalText, Scale: int(form)}
		}
		h := &pq.PageHeader{Type: format.DataPage, Values: int(n), Uncompressed: len(b), Compressed: len(b), Encoding: format.Encoding(enc % 10), DefEncoding: format.RLE, RepEncoding: format.RLE, Rows: -1}
		if form&64 != 0 {
			h.RepEncoding, h.DefEncoding = format.BitPacked, format.BitPacked
		}
		if form&128 != 0 {
			h.Type, h.Rows, h.RepLen, h.DefLen = format.DataPageV2, int(n), int(enc>>4), int(levels>>5)
		}
		dict := &Dict{}
		dh := &pq.PageHeader{Type: format.DictionaryPage, Values: 3, Uncompressed: len(b), Compressed: len(b)}
		if dict.ReadDict(col, format.Uncompressed, dh, b) != nil {
			dict = nil
		}
		var p Page
		if err := p.Read(col, format.Uncompressed, h, b, dict); err != nil {
			if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("error of no kind: %v", err)
			}
			return
		}
		vals := &p.Vals
		if p.Index != nil {
			vals = &dict.Vals
			for _, x := range p.Index {
				if int(x) >= vals.N || x < 0 {
					t.Fatalf("index %d of %d", x, vals.N)
				}
			}
		} else if vals.N != p.Values {
			t.Fatalf("%d values, want %d", vals.N, p.Values)
		}
		for i := range vals.N {
			if col.Form.Width == 0 {
				_ = vals.Value(i)
			}
		}
		if col.Form.Width > 0 && len(vals.Fixed) != vals.N*col.Form.Width {
			t.Fatalf("%d bytes for %d values of %d", len(vals.Fixed), vals.N, col.Form.Width)
		}
	})
}
