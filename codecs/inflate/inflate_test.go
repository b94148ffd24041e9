package inflate

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

var oracleReader = flate.NewReader(nil)

// oracle decodes src with the standard library, up to limit bytes.
func oracle(src []byte, limit int) (data []byte, consumed int, err error) {
	in := bytes.NewReader(src) // an io.ByteReader, so not a byte more is read than needed
	if err := oracleReader.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, 0, err
	}
	data, err = io.ReadAll(io.LimitReader(oracleReader, int64(limit)+1))
	return data, len(src) - in.Len(), err
}

// forms calls f with the assembly, where there is some, and without.
func forms(f func()) {
	defer func(was bool) { haveBMI2 = was }(haveBMI2)
	if haveBMI2 {
		f()
	}
	haveBMI2 = false
	f()
}

// check decodes src, by the fast loops in Go and in assembly, and compares with the
// oracle: with no space to spare, where the careful loop comes to the end, and with
// much, where the fast loop does.
func check(t *testing.T, src []byte) {
	t.Helper()
	forms(func() { checkForm(t, src) })
}

func checkForm(t *testing.T, src []byte) {
	t.Helper()
	const limit = 1 << 20
	want, wantUsed, wantErr := oracle(src, limit)
	if len(want) > limit {
		_, _, err := Deflate(make([]byte, limit), src)
		if !errors.Is(err, ErrTooLong) && !errors.Is(err, ErrCorrupt) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%x: holds more than %d bytes, got %v", src, limit, err)
		}
		return
	}
	for _, spare := range []int{0, 2 * fastOut} {
		dst := make([]byte, len(want)+spare)
		n, used, err := Deflate(dst, src)
		switch {
		case (err == nil) != (wantErr == nil):
			t.Fatalf("%x, %d bytes spare: error %v, standard library %v", src, spare, err, wantErr)
		case err == nil && !bytes.Equal(dst[:n], want):
			t.Fatalf("%x, %d bytes spare: %d bytes %x, standard library %d bytes %x", src, spare, n, dst[:n], len(want), want)
		case err == nil && used != wantUsed:
			t.Fatalf("%x, %d bytes spare: used %d bytes of input, standard library %d", src, spare, used, wantUsed)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(src)) || int64(used) != e.Offset {
				t.Fatalf("%x: error %#v, used %d", src, err, used)
			}
		}
	}
}

func TestKindsAtEveryLevel(t *testing.T) {
	var r Reader
	for _, k := range kinds {
		for _, size := range []int{0, 1, 2, 7, 100, 257, 300, 1000, 5000, 70000, 700_000} {
			data := k.make(size)
			for level := flate.HuffmanOnly; level <= 9; level++ {
				if size > 5000 && (level%5 != 1 && level > 0 || size > 100_000 && thin > 1) {
					continue // the encoder takes long
				}
				comp := deflated(t, data, level)
				dst := make([]byte, size)
				forms(func() {
					clear(dst)
					n, used, err := Deflate(dst, append(comp, "behind it"...))
					if err != nil || n != size || used != len(comp) || !bytes.Equal(dst, data) {
						t.Errorf("%s, %d bytes, level %d: %d bytes, used %d of %d: %v", k.name, size, level, n, used, len(comp), err)
					}
				})
				r.Reset(bytes.NewReader(append(comp, "behind it"...)))
				got, err := io.ReadAll(&r)
				if err != nil || r.InputBytes() != int64(len(comp)) || !bytes.Equal(got, data) {
					t.Errorf("%s, %d bytes, level %d, streamed: %d bytes, used %d of %d: %v", k.name, size, level, len(got), r.InputBytes(), len(comp), err)
				}
			}
		}
	}
}

func TestRandomCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 1000 / thin {
		src := randomStream(r, 1+r.IntN(3000))
		if _, _, err := oracle(src, 1<<21); err != nil {
			t.Fatalf("stream %d: the test's own encoder is wrong: %v", i, err)
		}
		check(t, src)
	}
}

func TestMostlyEightBits(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 200 / thin {
		src := byteStream(r, 5000)
		check(t, src)
		src[r.IntN(len(src))] ^= 1 << r.IntN(8)
		check(t, src)
	}
	var f inflater
	f.header(byteStream(r, 1), 0)
	if !f.mostly8 {
		t.Error("the decoder does not know it")
	}
}

// small are short streams with every type of block.
func small(t testing.TB) [][]byte {
	r := rand.New(rand.NewPCG(5, 6))
	var all [][]byte
	for _, k := range kinds {
		for level := flate.HuffmanOnly; level <= 9; level += 2 {
			all = append(all, deflated(t, k.make(150), level))
		}
		all = append(all, deflated(t, k.make(2500), 6))
	}
	for range 30 {
		all = append(all, randomStream(r, 60))
	}
	return all
}

func TestEveryTruncationIsAnError(t *testing.T) {
	var r Reader
	for _, src := range small(t) {
		dst := make([]byte, 1<<16)
		for n := 0; n < len(src); n += thin {
			if _, _, err := Deflate(dst, src[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d of %d bytes: %v", n, len(src), err)
			}
			r.Reset(bytes.NewReader(src[:n]))
			if _, err := io.Copy(io.Discard, &r); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d of %d bytes streamed: %v", n, len(src), err)
			}
		}
	}
}

func TestDamageIsSeenAsByTheStandardLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, src := range small(t) {
		bad := make([]byte, len(src))
		for i := 0; i < len(src); i += thin {
			for _, flip := range []byte{1, 128, byte(r.IntN(256))} {
				copy(bad, src)
				bad[i] ^= flip
				check(t, bad)
			}
		}
	}
	for range 20_000 / thin {
		bad := make([]byte, 1+r.IntN(100))
		for i := range bad {
			bad[i] = byte(r.IntN(256))
		}
		bad[0] = bad[0]&^7 | byte(r.IntN(6)) // not a reserved block type
		check(t, bad)
	}
}

func TestNothingIsWrittenBehindDst(t *testing.T) {
	for _, src := range small(t) {
		data, _, err := oracle(src, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n <= len(data); n += 1 + n/50 {
			buf := bytes.Repeat([]byte{0xa5}, len(data)+400)
			got, _, err := Deflate(buf[:n], src)
			if n < len(data) && !errors.Is(err, ErrTooLong) || n == len(data) && err != nil {
				t.Fatalf("%d of %d bytes: %v", n, len(data), err)
			}
			if got > n || !bytes.Equal(buf[:got], data[:got]) {
				t.Fatalf("%d of %d bytes: got %d, or others", n, len(data), got)
			}
			for i, c := range buf[n:] {
				if c != 0xa5 {
					t.Fatalf("%d of %d bytes: wrote %d bytes behind", n, len(data), i+1)
				}
			}
		}
	}
}

// farthest is a stream that begins with a window of noise and goes on with
// matches of every length and the largest distance, or one more than there is.
func farthest(matches, missing int) []byte {
	var w bitWriter
	start := noise(history - missing)
	w.bits(0, 3)
	w.align()
	w.bits(uint64(len(start)), 16)
	w.bits(uint64(^uint16(len(start))), 16)
	w.p = append(w.p, start...)
	w.bits(1, 1)
	w.bits(1, 2)
	lit := fixed().widths[:]
	for i := range matches {
		s := 257 + i%29
		w.code(lit, s)
		w.bits(0, uint(litSymbols[s]&dropMask))
		w.bits(uint64(reverse(29, 5)), 5)
		w.bits(8191, 13)
	}
	for range 100 {
		w.code(lit, 'x')
	}
	w.code(lit, endSymbol)
	w.align()
	return w.p
}

func TestFarthestMatch(t *testing.T) {
	src := farthest(15_000, 0)
	want, _, err := oracle(src, 1<<22)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range wholeAndStreamed(rawFrame) {
		got, _, err := d.decode(src)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d of %d bytes, or others: %v", d.name, len(got), len(want), err)
		}
		_, _, err = d.decode(farthest(10, 1))
		expect(t, d.name, err, ErrCorrupt, "before the start of the data")
	}
}

// TestCodeSets has the sets of codes on which decoders disagree.
func TestCodeSets(t *testing.T) {
	two := []uint8{5: 1, endSymbol: 1}
	five := []uint8{5: 1, endSymbol: 2, 257: 2}
	for _, c := range []struct {
		name      string
		lit, dist []uint8
		use       []int // distance symbols after two literals and a length
		want      string
	}{
		{"two codes", two, []uint8{1, 1}, nil, ""},
		{"no distance code", two, []uint8{0}, nil, ""},
		{"no distance code, used", five, []uint8{0, 0}, []int{0}, "invalid distance code"},
		{"one distance code", five, []uint8{1}, []int{0}, ""},
		{"one distance code of two bits", five, []uint8{2}, nil, "incomplete distance code"},
		{"two distance codes of two bits", five, []uint8{2, 2}, nil, "incomplete distance code"},
		{"three distance codes of one bit", five, []uint8{1, 1, 1}, nil, "over-subscribed distance code"},
		{"too far back", five, []uint8{0, 0, 1, 1}, []int{2}, "distance goes before the start of the data"},
		{"only an end code", []uint8{endSymbol: 1}, []uint8{0}, nil, ""},
		{"only an end code of two bits", []uint8{endSymbol: 2}, []uint8{0}, nil, "incomplete literal/length code"},
		{"no end code", []uint8{5: 1, 6: 1, endSymbol: 0}, []uint8{0}, nil, "no code for the end of the block"},
		{"too many codes", []uint8{5: 1, 6: 1, endSymbol: 1}, []uint8{0}, nil, "over-subscribed literal/length code"},
		{"287 codes", []uint8{5: 1, endSymbol: 1, 286: 0}, []uint8{0}, nil, "too many literal/length or distance codes"},
		{"31 distance codes", five, []uint8{0: 1, 30: 0}, nil, "too many literal/length or distance codes"},
		{"too few codes", []uint8{5: 2, 6: 2, endSymbol: 2}, []uint8{0}, nil, "incomplete literal/length code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w bitWriter
			w.bits(1, 1)
			w.bits(2, 2)
			w.widths(rng(), c.lit, c.dist)
			if len(c.lit) > 257 {
				w.code(c.lit, 5)
				w.code(c.lit, 5)
			}
			for _, d := range c.use {
				w.code(c.lit, 257)
				if c.dist[d] == 0 {
					w.bits(0, 1)
				} else {
					w.code(c.dist, d)
				}
			}
			w.code(c.lit, endSymbol)
			w.align()
			w.p = append(w.p, 0, 0, 0)
			if c.lit[endSymbol] != 0 { // the standard library notices only at the end of the input
				check(t, w.p)
			}
			_, _, err := Deflate(make([]byte, 100), w.p)
			var e *Error
			if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || e.What != c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	data := energies(200_000)
	comp := deflated(t, data, 6)
	dst := make([]byte, len(data))
	var d Decoder
	if n := testing.AllocsPerRun(10, func() {
		if _, _, err := d.decode(rawFrame, dst, comp); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Decoder: %v allocations", n)
	}
	var r Reader
	in := bytes.NewReader(nil)
	if n := testing.AllocsPerRun(10, func() {
		in.Reset(comp)
		r.Reset(in)
		if _, err := io.ReadFull(&r, dst); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("Reader: %v allocations", n)
	}
}

// TestMatches has every distance up to 70 with every length, and each of them behind
// the other, from a start in which all bytes differ.
func TestMatches(t *testing.T) {
	lit := fixed().widths[:]
	for dist := 1; dist <= 70; dist++ {
		var w bitWriter
		w.bits(0, 3)
		w.align()
		start := noise(100)
		w.bits(uint64(len(start)), 16)
		w.bits(uint64(^uint16(len(start))), 16)
		w.p = append(w.p, start...)
		w.bits(1, 1)
		w.bits(1, 2)
		d := 0
		for int(distSymbols[d+1]>>distBaseShift) <= dist {
			d++
		}
		want := bytes.Clone(start)
		for length := 3; length <= 258; length++ {
			s := 257
			for s < 285 && int(litSymbols[s+1]>>lenBaseShift) <= length {
				s++
			}
			w.code(lit, s)
			w.bits(uint64(length-int(litSymbols[s]>>lenBaseShift)), uint(litSymbols[s]&dropMask))
			w.bits(uint64(reverse(uint32(d), 5)), 5)
			w.bits(uint64(dist-int(distSymbols[d]>>distBaseShift)), uint(distSymbols[d]&dropMask))
			for range length {
				want = append(want, want[len(want)-dist])
			}
			w.code(lit, length%144)
			want = append(want, byte(length%144))
		}
		w.code(lit, endSymbol)
		w.align()
		forms(func() {
			dst := make([]byte, len(want)+2*fastOut)
			n, _, err := Deflate(dst, append(w.p, make([]byte, 2*fastIn)...))
			if err != nil || !bytes.Equal(dst[:n], want) {
				t.Errorf("distance %d: %d of %d bytes, or others: %v", dist, n, len(want), err)
			}
		})
	}
}
