package inflate

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// FuzzDeflate compares with the standard library.
func FuzzDeflate(f *testing.F) {
	for _, src := range small(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) { check(t, src) })
}

// FuzzCodes damages valid streams of random codes, which changes deeper in the
// format than random bytes get.
func FuzzCodes(f *testing.F) {
	f.Add(uint64(1), uint16(2), byte(3))
	f.Fuzz(func(t *testing.T, seed uint64, at uint16, flip byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		src := randomStream(r, 1+r.IntN(1000))
		src[int(at)%len(src)] ^= flip
		check(t, src)
	})
}

// FuzzReader compares streaming with decoding at once: data, used input and error.
func FuzzReader(f *testing.F) {
	for _, src := range small(f) {
		f.Add(src, byte(rawFrame), uint16(1), uint16(7))
	}
	f.Add(zlibbed(f, text(300)), byte(zlibFrame), uint16(5), uint16(100))
	two := append(gzipped(f, text(300)), gzipMember(f, mask(500), 31, "\x01\x00xname\x00comment\x00")...)
	f.Add(two, byte(gzipFrame), uint16(3), uint16(9))
	f.Add(append(two, 0, 0, 0), byte(gzipFrame), uint16(100), uint16(1000))
	dst := make([]byte, 1<<20)
	var r Reader
	f.Fuzz(func(t *testing.T, src []byte, kind byte, in, out uint16) {
		fr := frame(kind % 3)
		n, used, err := pooled(fr, dst, src)
		r.reset(fr, pieces{bytes.NewReader(src), 1 + int(in)})
		size := 1 + int(out)
		got, rerr := readInSteps(&r, func(int) int { return size })
		if errors.Is(err, ErrTooLong) {
			return
		}
		if !bytes.Equal(got, dst[:n]) {
			t.Fatalf("streamed %d bytes, at once %d, or others", len(got), n)
		}
		if fr == gzipFrame && err == nil && used < len(src) {
			if !errors.Is(rerr, ErrCorrupt) {
				t.Fatalf("streamed with bytes behind: %v", rerr)
			}
			return
		}
		if int64(used) != r.InputBytes() {
			t.Fatalf("streamed: used %d, at once %d: %v, %v", r.InputBytes(), used, rerr, err)
		}
		if (err == nil) != (rerr == nil) || err != nil && err.Error() != rerr.Error() {
			t.Fatalf("streamed: %v, at once: %v", rerr, err)
		}
		if err != nil && errors.Is(rerr, io.EOF) {
			t.Fatal("io.EOF for bad input")
		}
	})
}
