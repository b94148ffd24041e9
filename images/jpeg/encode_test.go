package jpeg

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// TestEncodedBytes compares with what Pillow encoded; testdata/encode.py has the formula of
// the pictures and wrote the digests down.
func TestEncodedBytes(t *testing.T) {
	text, err := os.ReadFile("testdata/encoded.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][6]any
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	var e Encoder
	var out []byte
	for n, c := range cases {
		number := func(i int) int { return int(c[i].(float64)) }
		w, h, channels := number(0), number(1), 3-2*number(4)
		var pix []byte
		for y := range h {
			for x := range w {
				for k := range channels {
					pix = append(pix, byte(x*7+y*13+k*50+x*y%31+(x*7919+y*104729+k*271)%251*(n%4)/2))
				}
			}
		}
		out, err = e.Encode(out[:0], pix, w, h, channels, Encoding{number(2), Sampling(number(3))})
		if err != nil || sum(out) != c[5] {
			t.Errorf("picture %d, %v: other bytes than Pillow's: %v", n, c[:5], err)
		}
	}
}

// TestEncodesAsPillow encodes random pictures.
func TestEncodesAsPillow(t *testing.T) {
	var e Encoder
	peer(t, "encode.py", func(r io.Reader) error {
		var head struct {
			W, H, Channels, Quality, Sampling uint32
			Sum                               [64]byte
		}
		if err := binary.Read(r, binary.LittleEndian, &head); err != nil {
			return err
		}
		pix := make([]byte, head.W*head.H*head.Channels)
		if _, err := io.ReadFull(r, pix); err != nil {
			return err
		}
		out, err := e.Encode(nil, pix, int(head.W), int(head.H), int(head.Channels), Encoding{int(head.Quality), Sampling(head.Sampling)})
		if err == nil && sum(out) != string(head.Sum[:]) {
			err = fmt.Errorf("%d x %d pixels of %d channels, quality %d, sampling %d: other bytes than Pillow's", head.W, head.H, head.Channels, head.Quality, head.Sampling)
		}
		return err
	})
}

// TestEncodingRefused: what no file can be made of.
func TestEncodingRefused(t *testing.T) {
	var e Encoder
	for _, c := range []struct{ n, w, h, channels, quality, sampling int }{
		{0, 0, 1, 3, 90, 0}, {3, 1, 1, 3, 0, 0}, {3, 1, 1, 3, 101, 0}, {3, 1, 1, 3, 90, 3}, {4, 1, 1, 3, 90, 0}, {2, 1, 1, 2, 90, 0}, {65501, 65501, 1, 1, 90, 0},
	} {
		if out, err := e.Encode([]byte("x"), make([]byte, c.n), c.w, c.h, c.channels, Encoding{c.quality, Sampling(c.sampling)}); err == nil || string(out) != "x" {
			t.Errorf("%+v: %q, %v", c, out, err)
		}
	}
}

// TestForwardKernels compares the kernels of the encoder with those in Go.
func TestForwardKernels(t *testing.T) {
	if !haveKernels {
		t.Skip("no kernels")
	}
	defer func() { haveKernels = true }()
	rng := rand.New(rand.NewPCG(6, 6))
	turns := 20000
	if os.Getenv("SHARDIFY_LONG") != "" {
		turns = 10_000_000
	}
	var d divisors
	var q [64]byte
	for i := range turns {
		src := make([]byte, 8*16)
		for k := range src {
			switch i % 3 {
			case 0:
				src[k] = byte(rng.Uint32())
			case 1:
				src[k] = byte(rng.Uint32N(2) * 255)
			default:
				src[k] = byte(100 + rng.Uint32N(1+uint32(i%50)))
			}
		}
		for k := range q {
			q[k] = byte(1 + rng.Uint32N(1+uint32(i%255)))
		}
		d.set(&q)
		var a, b [2][64]int16
		var sets, sets2 [2]uint64
		haveKernels = true
		forwardPair(&a, &sets, src, 16, &d)
		haveKernels = false
		forwardPair(&b, &sets2, src, 16, &d)
		if a != b || sets != sets2 {
			t.Fatalf("block %d: other coefficients", i)
		}
	}
	for i := range 300 {
		n := 2 + rng.IntN(150)
		src := make([]byte, 3*n)
		for k := range src {
			src[k] = byte(rng.Uint32())
			if i%2 == 0 {
				src[k] = byte(rng.Uint32N(2) * 255)
			}
		}
		wide := make([]byte, 2*n+100)
		copy(wide, src)
		var out [2][5][]byte
		for k := range out {
			haveKernels = k == 0
			for j := range out[k] {
				out[k][j] = make([]byte, n+100)
			}
			o := &out[k]
			rgbToYCC(o[0], o[1], o[2], src, n)
			halve(o[3], wide, wide[3:], n/2)
			halveRow(o[4], wide, n/2)
			o[3], o[4] = o[3][:n/2], o[4][:n/2]
		}
		for j := range out[0] {
			if !bytes.Equal(out[0][j], out[1][j]) {
				t.Fatalf("row of %d: other values in %d", n, j)
			}
		}
	}
}
