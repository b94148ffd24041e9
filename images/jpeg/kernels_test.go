package jpeg

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"
)

// TestKernels compares the kernels with those in Go, on random numbers.
func TestKernels(t *testing.T) {
	if !haveKernels {
		t.Skip("no kernels")
	}
	rng := rand.New(rand.NewPCG(5, 5))
	turns := 20000
	if os.Getenv("SHARDIFY_LONG") != "" {
		turns = 10_000_000
	}
	for i := range turns {
		var a, b [2][128]int16
		most := []int32{1 << 16, 1 << 13, 1 << 11, 200}[rng.IntN(4)]
		for s := range a {
			for k := range 64 {
				if rng.IntN(1+i%8) == 0 {
					a[s][k] = int16(rng.Int32N(most) - most/2)
				}
			}
		}
		b = a
		got, want := make([]byte, 8*40), make([]byte, 8*40)
		idctPair(&a, got, 40, got[16:], 40)
		idct8(&b[0], want, 40)
		idct8(&b[1], want[16:], 40)
		if !bytes.Equal(got, want) || a != b {
			t.Fatalf("block %d: other pixels", i)
		}
	}
	for range turns / 100 {
		n := 1 + rng.IntN(150)
		p, q := make([]byte, n+100), make([]byte, n+100)
		for i := range p {
			p[i], q[i] = byte(rng.Uint32()), byte(rng.Uint32())
			if rng.IntN(4) == 0 {
				p[i], q[i] = 255, 255
			}
		}
		for name, f := range map[string]func(fast bool, dst []byte) int{
			"h2v1": func(fast bool, dst []byte) int {
				[]func(a, b []byte, n int){upH2V1Go, upH2V1}[index(fast)](dst, p, n)
				return 2 * n
			},
			"h1v2": func(fast bool, dst []byte) int {
				[]func(a, b, c []byte, n int, d byte){upH1V2Go, upH1V2}[index(fast)](dst, p, q, n, byte(1+n&1))
				return n
			},
			"h2v2": func(fast bool, dst []byte) int {
				[]func(a, b, c []byte, n int){upH2V2Go, upH2V2}[index(fast)](dst, p, q, n)
				return 2 * n
			},
		} {
			a, b := make([]byte, 2*n+100), make([]byte, 2*n+100)
			if k := f(true, a); f(false, b) != k || !bytes.Equal(a[:k], b[:k]) {
				t.Fatalf("%s of %d samples: other values", name, n)
			}
		}
	}
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestColours compares all of them.
func TestColours(t *testing.T) {
	if !haveKernels {
		t.Skip("no kernels")
	}
	step := 5
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
	y, cb, cr := make([]byte, 256), make([]byte, 256), make([]byte, 256)
	for i := range y {
		y[i] = byte(i)
	}
	for u := 0; u < 256; u += step {
		for v := range 256 {
			for i := range cb {
				cb[i], cr[i] = byte(u), byte(v)
			}
			n := 256 - u%50
			a, b := make([]byte, 768), make([]byte, 768)
			yccToRGB(a, y, cb, cr, n)
			yccToRGBGo(b, y, cb, cr, n)
			if !bytes.Equal(a, b) {
				t.Fatalf("Cb %d, Cr %d, %d pixels: other colours", u, v, n)
			}
		}
	}
}

// TestWithoutKernels decodes and encodes with those in Go.
func TestWithoutKernels(t *testing.T) {
	defer func(b bool) { haveKernels = b }(haveKernels)
	haveKernels = false
	t.Run("pixels", TestPixels)
	t.Run("corpus", TestCorpus)
	t.Run("encoded", TestEncodedBytes)
}
