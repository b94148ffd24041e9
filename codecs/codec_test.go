package codecs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/shardify/shardify"
)

// synth makes n bytes of runs, matches and literals; the files of testdata hold
// the first bytes of the same series.
func synth(n int) []byte {
	out := make([]byte, 0, n+64)
	for s := uint32(1); len(out) < n; {
		s = s*1664525 + 1013904223
		b, r := byte(s>>24), s>>16&0xff
		switch {
		case r < 64:
			for range s >> 8 & 63 {
				out = append(out, b&15)
			}
		case r < 200 && len(out) > 100:
			d := int(s>>8)%100 + 1
			for range s&31 + 3 {
				out = append(out, out[len(out)-d])
			}
		default:
			out = append(out, b)
		}
	}
	return out[:n]
}

type decoder struct {
	name    string
	decode  func(dst, src []byte) (int, error)
	encode  func(t testing.TB, data []byte) []byte
	checked bool // damage of the data cannot pass
}

var decoders = []decoder{
	{"lz4", LZ4Block, func(t testing.TB, data []byte) []byte {
		dst := make([]byte, lz4.CompressBlockBound(len(data)))
		var c lz4.Compressor
		n, err := c.CompressBlock(data, dst)
		if err != nil {
			t.Fatal(err)
		}
		return dst[:n]
	}, false},
	{"zstd", Zstd, func(t testing.TB, data []byte) []byte {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		half := len(data) / 2
		src := append(e.EncodeAll(data[:half], nil), 0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3) // a frame to skip
		return e.EncodeAll(data[half:], src)
	}, true},
	{"snappy", Snappy, func(t testing.TB, data []byte) []byte { return snappy.Encode(nil, data) }, false},
	{"xz", XZ, func(t testing.TB, data []byte) []byte {
		var b bytes.Buffer
		w, err := xz.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}, true},
	{"bzip2", bzip2Exact, func(t testing.TB, data []byte) []byte { return load(t, "two.bz2") }, true},
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decodeInto decodes to the middle of a larger buffer and fails the test if a
// byte outside changes.
func decodeInto(t *testing.T, decode func(dst, src []byte) (int, error), n int, src []byte) ([]byte, error) {
	t.Helper()
	buf := bytes.Repeat([]byte{0xa5}, n+64)
	m, err := decode(buf[32:32+n], src)
	if err == nil && m != n {
		t.Errorf("no error, %d bytes of %d", m, n)
	}
	if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("error of no kind: %v", err)
	}
	for i, c := range buf {
		if (i < 32 || i >= 32+n) && c != 0xa5 {
			t.Fatalf("byte %d outside of the buffer was written", i-32)
		}
	}
	return buf[32 : 32+n], err
}

func TestDecodesExactlyTheDeclaredSize(t *testing.T) {
	for _, d := range decoders {
		for _, n := range []int{1, 13, 100, 20000, 300000} {
			if d.name == "bzip2" {
				n = 20000
			}
			data := synth(n)
			src := d.encode(t, data)
			if len(src) == 0 {
				continue // lz4 does not store what does not shrink
			}
			got, err := decodeInto(t, d.decode, n, src)
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes: %v", d.name, n, err)
			}
			for _, other := range []int{0, n - 1, n + 1, 2*n + 100} {
				if _, err := decodeInto(t, d.decode, other, src); !errors.Is(err, shardify.ErrCorrupt) {
					t.Errorf("%s: %d bytes to a buffer of %d: %v", d.name, n, other, err)
				}
			}
		}
	}
}

func TestAtMostMayDecodeToLessButNotToMore(t *testing.T) {
	data := synth(20000)
	for _, d := range []decoder{
		{name: "zstd", decode: ZstdAtMost, encode: decoders[1].encode},
		{name: "bzip2", decode: Bzip2AtMost, encode: decoders[4].encode},
	} {
		src := d.encode(t, data)
		buf := make([]byte, 30000)
		for _, n := range []int{20000, 20001, 25000} {
			if m, err := d.decode(buf[:n], src); err != nil || m != 20000 || !bytes.Equal(buf[:m], data) {
				t.Errorf("%s: %d bytes, %v", d.name, m, err)
			}
		}
		for _, n := range []int{0, 19980, 19999} { // though the capacity would do
			if m, err := d.decode(buf[:n], src); !errors.Is(err, shardify.ErrCorrupt) {
				t.Errorf("%s: %d bytes to a buffer of %d, %v", d.name, m, n, err)
			}
		}
		if m, err := d.decode(buf, src[:len(src)-5]); !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: cut: %d bytes, %v", d.name, m, err)
		}
	}
}

func TestDamageIsAnErrorOrHarmless(t *testing.T) {
	for _, d := range decoders {
		data := synth(2000)
		if d.name == "bzip2" {
			data = synth(20000)
		}
		src := d.encode(t, data)
		step := max(1, len(src)/150)
		for i := 0; i < len(src); i += step {
			if _, err := decodeInto(t, d.decode, len(data), src[:i]); err == nil {
				t.Errorf("%s: cut at %d of %d: no error", d.name, i, len(src))
			}
			bad := bytes.Clone(src)
			bad[i] ^= 1 << (i % 8)
			got, err := decodeInto(t, d.decode, len(data), bad)
			if d.checked && err == nil && !bytes.Equal(got, data) {
				t.Errorf("%s: byte %d changed: other data, no error", d.name, i)
			}
		}
		if _, err := decodeInto(t, d.decode, len(data), append(bytes.Clone(src), "behind"...)); d.checked && err == nil {
			t.Errorf("%s: bytes behind the data: no error", d.name)
		}
	}
}

func TestSteadyDecodingDoesNotAllocate(t *testing.T) {
	data := synth(20000)
	dst := make([]byte, len(data))
	for _, d := range decoders[:3] {
		src := d.encode(t, data)
		if n := testing.AllocsPerRun(20, func() {
			if _, err := d.decode(dst, src); err != nil {
				t.Fatal(err)
			}
		}); n >= 1 && !raceEnabled {
			t.Errorf("%s: %v allocations a call", d.name, n)
		}
	}
}

func FuzzDecoders(f *testing.F) {
	for i, d := range decoders {
		f.Add(i, 500, d.encode(f, synth(500)))
	}
	f.Add(4, 20000, load(f, "two.bz2"))
	f.Add(3, 20000, load(f, "crc64.xz"))
	f.Fuzz(func(t *testing.T, kind, n int, src []byte) {
		d := decoders[uint(kind)%uint(len(decoders))]
		decodeInto(t, d.decode, int(uint(n)%(1<<17)), src)
	})
}

func BenchmarkDecoders(b *testing.B) {
	data := synth(1 << 20)
	dst := make([]byte, len(data))
	for _, d := range decoders {
		dst, src := dst, d.encode(b, data)
		if d.name == "bzip2" {
			dst = dst[:20000]
		}
		b.Run(d.name, func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if _, err := d.decode(dst, src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// bzip2Exact is Bzip2AtMost for data of a known size.
func bzip2Exact(dst, src []byte) (int, error) {
	n, err := Bzip2AtMost(dst, src)
	if err != nil {
		return n, err
	}
	return size("bzip2", n, dst)
}
