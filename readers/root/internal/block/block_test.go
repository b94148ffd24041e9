package block

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"compress/flate"
	"compress/zlib"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// text is bytes that every compression shrinks.
func text(n int) []byte {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.IntN(12)) * byte(i>>3&1)
	}
	return b
}

func frame(magic string, method byte, data []byte, u int) []byte {
	c := len(data)
	h := []byte{magic[0], magic[1], method, byte(c), byte(c >> 8), byte(c >> 16), byte(u), byte(u >> 8), byte(u >> 16)}
	return append(h, data...)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// encode makes one block of the kind.
func encode(magic string, p []byte) []byte {
	var b bytes.Buffer
	switch magic {
	case "ZL":
		w := zlib.NewWriter(&b)
		must(w.Write(p))
		w.Close()
		return frame("ZL", 8, b.Bytes(), len(p))
	case "CS":
		w := must(flate.NewWriter(&b, 6))
		must(w.Write(p))
		w.Close()
		return frame("CS", 8, b.Bytes(), len(p))
	case "XZ":
		w := must(xz.NewWriter(&b))
		must(w.Write(p))
		w.Close()
		return frame("XZ", 0, b.Bytes(), len(p))
	case "ZS":
		w := must(zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)))
		defer w.Close()
		return frame("ZS", 1, w.EncodeAll(p, nil), len(p))
	}
	d := make([]byte, lz4.CompressBlockBound(len(p)))
	n := must(lz4.CompressBlock(p, d, nil))
	if d = d[:n]; n == 0 {
		d = p // as ROOT does
	}
	return frame("L4", 1, append(binary.BigEndian.AppendUint64(nil, codecs.XXH64(d)), d...), len(p))
}

var kinds = []string{"ZL", "CS", "XZ", "ZS", "L4"}

func TestChainsOfEveryKind(t *testing.T) {
	noise := make([]byte, 300)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	var chain, want []byte
	for i, k := range append(slices.Clone(kinds), "L4") {
		p := text(1000 + 777*i)
		if i == len(kinds) {
			p = noise // LZ4 that does not shrink
		}
		one := encode(k, p)
		got := make([]byte, len(p))
		if err := Decode(got, one); err != nil || !bytes.Equal(got, p) {
			t.Errorf("%s alone: %v", k, err)
		}
		chain, want = append(chain, one...), append(want, p...)
	}
	chain = append(chain, "slack"...)
	got := make([]byte, len(want))
	if err := Check(int64(len(want)), chain); err != nil {
		t.Error(err)
	}
	if err := Decode(got, chain); err != nil || !bytes.Equal(got, want) {
		t.Errorf("chain: %v", err)
	}
}

func TestNothingIsDecodedToNothing(t *testing.T) {
	if err := Decode(nil, nil); err != nil {
		t.Error(err)
	}
}

// TestDamageIsFoundInItsBlock flips bits, cuts, and changes sizes in the second of two
// blocks.
func TestDamageIsFoundInItsBlock(t *testing.T) {
	p := text(500)
	for _, k := range kinds {
		one := encode(k, p)
		chain := append(slices.Clone(one), one...)
		dst := make([]byte, 2*len(p))
		fails := func(what string, src []byte) {
			t.Helper()
			err := Decode(dst, src)
			var e *shardify.Error
			if !errors.As(err, &e) || e.Offset != int64(len(one)) || !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
				t.Errorf("%s %s: %v", k, what, err)
			}
		}
		for n := len(one); n < len(chain); n++ {
			fails("cut", chain[:n])
		}
		for i := range 8 * (len(one) - headerSize) {
			b := slices.Clone(chain)
			b[len(one)+headerSize+i/8] ^= 1 << (i % 8)
			if err := Decode(dst, b); err == nil && k != "CS" && !bytes.Equal(dst[len(p):], p) {
				t.Errorf("%s bit %d: wrong bytes without an error", k, i)
			}
		}
		for name, u := range map[string]int{"short": len(p) - 1, "long": len(p) + 1, "zero": 0} {
			b := slices.Clone(chain)
			b[len(one)+6], b[len(one)+7] = byte(u), byte(u>>8)
			if err := Decode(dst, b); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("%s %s size: %v", k, name, err)
			}
		}
		b := slices.Clone(chain)
		copy(b[len(one):], "QQ")
		if fails("magic", b); !errors.Is(Decode(dst, b), shardify.ErrUnsupported) {
			t.Errorf("%s: unknown kind is not ErrUnsupported", k)
		}
	}
}

// TestClaimsOfBlocks: nothing is allocated for lengths that the bytes present
// cannot give.
func TestClaimsOfBlocks(t *testing.T) {
	block := func(magic string, c, u int) []byte {
		b := append([]byte(magic), 8, byte(c), byte(c>>8), byte(c>>16), byte(u), byte(u>>8), byte(u>>16))
		return append(b, make([]byte, c)...)
	}
	twice := append(block("ZL", 100, 5000), block("ZL", 100, 700)...)
	for _, c := range []struct {
		name string
		src  []byte
		want int
		ok   bool
	}{
		{"two blocks", twice, 5700, true},
		{"slack behind", append(slices.Clone(twice), 1, 2, 3), 5700, true},
		{"less than wanted", twice, 5701, false},
		{"more than wanted", twice, 5600, false},
		{"block beyond the end", twice[:len(twice)-1], 5700, false},
		{"too good to be true", block("L4", 40, 1<<20), 1 << 20, false},
		{"a block too good to be true behind another", append(slices.Clone(twice), block("ZS", 3, 1<<20)...), 5700 + 1<<20, false},
		{"empty block", block("ZL", 0, 10), 10, false},
		{"nothing", nil, 1 << 30, false},
	} {
		if err := Check(int64(c.want), c.src); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, k := range kinds {
		one := encode(k, text(200))
		f.Add(one, uint16(200))
		f.Add(append(slices.Clone(one), encode("L4", text(50))...), uint16(250))
	}
	f.Fuzz(func(t *testing.T, src []byte, n uint16) {
		dst := make([]byte, n)
		err := Decode(dst, src)
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatalf("error of no kind: %v", err)
		}
		if err == nil && Check(int64(n), src) != nil {
			t.Fatal("Check refuses what Decode takes")
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	p := text(1 << 20)
	dst := make([]byte, len(p))
	for _, k := range kinds {
		one := encode(k, p)
		b.Run(k, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				if err := Decode(dst, one); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
