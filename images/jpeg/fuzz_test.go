package jpeg

import (
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/shardify/shardify"

	"github.com/shardify/shardify/tests/busy"
)

// seeds are small files of all kinds that are decoded. They are beside the tests, where
// the corpus is absent.
func seeds(t testing.TB) (out [][]byte) {
	for _, name := range []string{"prog420", "base420", "rst444", "grey", "cmyk", "prog422rst"} {
		b, err := os.ReadFile("testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// tried decodes a file that may be damaged, whole or in part, and says whether that went.
func tried(t testing.TB, d *Decoder, src []byte, o Options) bool {
	kind := func(err error) {
		if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Fatalf("error of no kind: %v", err)
		}
		if e := (*shardify.Error)(nil); errors.As(err, &e) && e.Offset > int64(len(src)) {
			t.Fatalf("byte %d of %d: %v", e.Offset, len(src), err)
		}
	}
	h, err := d.Open(src)
	if err != nil {
		kind(err)
		return false
	}
	if h.W*h.H > 1<<20 {
		return false
	}
	w, hh := h.Scaled(o.Scale)
	if o.X1 > 0 {
		o.X1, o.Y1 = min(o.X1, w), min(o.Y1, hh)
		o.X0, o.Y0 = min(o.X0, o.X1-1), min(o.Y0, o.Y1-1)
		w, hh = o.X1-o.X0, o.Y1-o.Y0
	}
	err = d.Decode(make([]byte, w*hh*h.Channels(o)), o)
	if err != nil {
		kind(err)
	}
	for _, s := range d.slots {
		if s != [128]int16{} {
			t.Fatal("coefficients are left for the next image")
		}
	}
	return err == nil
}

// FuzzDecode finds panics. What is decoded is decoded alike by a decoder that was used.
func FuzzDecode(f *testing.F) {
	for i, b := range seeds(f) {
		f.Add(b, uint16(i), uint16(3))
	}
	var used Decoder
	f.Fuzz(func(t *testing.T, src []byte, a, b uint16) {
		o := Options{Scale: 1 << (a & 3), Native: a&4 != 0, Fill: a>>15 == 1, Grey: a>>12&7 == 7}
		if a&8 != 0 {
			o.X0, o.Y0, o.X1, o.Y1 = int(a>>4&15), int(a>>8&15), int(b&63)+1, int(b>>6&63)+1
		}
		if tried(t, &used, src, o) != tried(t, new(Decoder), src, o) {
			t.Fatal("a used decoder and a new one differ")
		}
	})
}

// TestMutatedFiles damages files: no panic, no hang, little memory.
func TestMutatedFiles(t *testing.T) {
	count := 5000
	if n, err := strconv.Atoi(os.Getenv("SHARDIFY_MUTATIONS")); err == nil {
		count = n
	} else if testing.Short() {
		count = 500
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(256 << 20))
	files := seeds(t)
	rng := rand.New(rand.NewPCG(7, 7))
	var d Decoder
	good, slowest := 0, time.Duration(0)
	for i := range count {
		src := append([]byte(nil), files[rng.IntN(len(files))]...)
		for range 1 + rng.IntN(4) {
			switch at := rng.IntN(len(src)); rng.IntN(5) {
			case 0:
				src[at] ^= 1 << rng.IntN(8)
			case 1:
				src[at] = byte(rng.Uint32())
			case 2:
				src = src[:max(at, 4)]
			case 3:
				n := min(rng.IntN(64), len(src)-at)
				src = append(src[:at], append(append([]byte(nil), src[at:at+n]...), src[at:]...)...)
			default: // in the headers
				src[min(at%700, len(src)-1)] = []byte{0, 1, 0x11, 0x22, 0x7f, 0xff}[rng.IntN(6)]
			}
		}
		o := Options{Scale: 1 << rng.IntN(4), Native: rng.IntN(2) == 0, Fill: rng.IntN(2) == 0, Grey: rng.IntN(8) == 0}
		if rng.IntN(3) == 0 {
			o.X0, o.Y0 = rng.IntN(20), rng.IntN(20)
			o.X1, o.Y1 = o.X0+1+rng.IntN(30), o.Y0+1+rng.IntN(30)
		}
		start := busy.Processor()
		if tried(t, &d, src, o) {
			good++
		}
		slowest = max(slowest, busy.Processor()-start)
		if slowest > 10*time.Second {
			t.Fatalf("mutation %d took %v", i, slowest)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d files, %d were decoded, the slowest in %v, %d MB of heap", count, good, slowest, m.HeapSys>>20)
	if m.HeapSys > 512<<20 {
		t.Errorf("%d MB of heap", m.HeapSys>>20)
	}
}

// TestDecodeAllocatesNothing after the first image.
func TestDecodeAllocatesNothing(t *testing.T) {
	for _, src := range seeds(t) {
		var d Decoder
		h, err := d.Open(src)
		if err != nil {
			t.Fatal(err)
		}
		pix := make([]byte, 3*h.W*h.H)
		if n := testing.AllocsPerRun(5, func() {
			if _, err := d.Open(src); err != nil {
				t.Fatal(err)
			}
			if err := d.Decode(pix, Options{}); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations an image", n)
		}
	}
}
