package resize

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/shardify/shardify/images/jpeg"
)

// pattern is a picture of which every part is different.
func pattern(w, h int) Pixels {
	p := Pixels{make([]byte, 3*w*h), w, h, 3 * w, 3}
	for y := range h {
		for x := range w {
			for c := range 3 {
				p.Pix[3*(y*w+x)+c] = byte(x*7 + y*13 + c*50 + (x*y)%31)
			}
		}
	}
	return p
}

// TestResizingIsPillows: the same bytes as Pillow's resize with the same filter, whose
// digests these are (PNG in, tobytes out).
func TestResizingIsPillows(t *testing.T) {
	var r Resizer
	for _, c := range []struct {
		filter string
		w, h   int
		want   string
	}{
		{"box", 40, 30, "4c9c999fdc6fe288"},
		{"box", 121, 20, "2d37ffe407d85bd8"},
		{"box", 200, 150, "af5f3b44500637cb"},
		{"box", 1, 1, "4977021028c4a74c"},
		{"box", 64, 83, "e96b11766cf53ff8"},
		{"bilinear", 40, 30, "410614ae49eba5a3"},
		{"bilinear", 121, 20, "b36a6760394aed30"},
		{"bilinear", 200, 150, "ae86efc0f2265ffe"},
		{"bilinear", 1, 1, "79a3837141c281bf"},
		{"bilinear", 64, 83, "856408076f191af9"},
		{"bicubic", 40, 30, "368d3d4ea4c355f4"},
		{"bicubic", 121, 20, "9914649d4e05861f"},
		{"bicubic", 200, 150, "477f45c8f4ef6687"},
		{"bicubic", 1, 1, "79a3837141c281bf"},
		{"bicubic", 64, 83, "5131aac6d3c96ce4"},
		{"lanczos", 40, 30, "64c369b3bfc2db93"},
		{"lanczos", 121, 20, "140ddc30c5eeaf14"},
		{"lanczos", 200, 150, "5266e5a03b8c80ae"},
		{"lanczos", 1, 1, "79a3837141c281bf"},
		{"lanczos", 64, 83, "5c4ebf558d660544"},
	} {
		f, ok := FilterOf(c.filter)
		out := make([]byte, 3*c.w*c.h)
		err := r.Resize(out, pattern(121, 83), Size{W: c.w, H: c.h, Filter: f})
		if got := fmt.Sprintf("%x", sha256.Sum256(out))[:16]; got != c.want || err != nil || !ok {
			t.Errorf("%s to %d x %d: %s, want %s: %v", c.filter, c.w, c.h, got, c.want, err)
		}
	}
}

// TestWithoutKernels resizes with the Go code.
func TestWithoutKernels(t *testing.T) {
	defer func(b bool) { haveKernels = b }(haveKernels)
	haveKernels = false
	t.Run("digests", TestResizingIsPillows)
	t.Run("pillow", TestAgainstPillow)
}

// TestKernels compares the kernels with those in Go, on random pictures.
func TestKernels(t *testing.T) {
	if !haveKernels {
		t.Skip("no kernels")
	}
	defer func() { haveKernels = true }()
	rng := rand.New(rand.NewPCG(7, 7))
	var fast, slow Resizer
	for range 400 {
		most := []int{4, 40, 200}[rng.IntN(3)]
		p := pattern(1+rng.IntN(most), 1+rng.IntN(most))
		for i := range p.Pix {
			p.Pix[i] = byte(rng.Uint32())
			if rng.IntN(4) == 0 {
				p.Pix[i] = 255
			}
		}
		s := Size{1 + rng.IntN(most), 1 + rng.IntN(most), rng.Float32() * float32(p.W) / 2, rng.Float32() * float32(p.H) / 2, float32(p.W), float32(p.H), Filter(rng.IntN(4))}
		if rng.IntN(4) == 0 {
			p.Channels, p.Stride, p.W = 1, 3*p.W, 3*p.W
		}
		n := p.Channels * s.W * s.H
		a, b := make([]byte, n), make([]byte, n)
		haveKernels = true
		err := fast.Resize(a, p, s)
		haveKernels = false
		err2 := slow.Resize(b, p, s)
		if err != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Fatalf("%d x %d pixels of %d bytes, %+v: other bytes: %v, %v", p.W, p.H, p.Channels, s, err, err2)
		}
	}
}

// TestDecode: only what is needed is decoded, and the pixels are those of all.
func TestDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var r Resizer
	for _, name := range []string{"base420", "prog420", "rst444", "grey"} {
		file, err := os.ReadFile("../jpeg/testdata/" + name + ".jpg")
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			h, err := r.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			c := Cut{Scale: 1 << rng.IntN(3), Grey: rng.IntN(2) == 0, Size: Size{W: 1 + rng.IntN(60), H: 1 + rng.IntN(60), Filter: Filter(rng.IntN(4))}}
			w, hh := h.Scaled(c.Scale)
			c.X0, c.Y0 = rng.IntN(w), rng.IntN(hh)
			c.X1, c.Y1 = c.X0+1+rng.IntN(w-c.X0), c.Y0+1+rng.IntN(hh-c.Y0)
			c.Right, c.Bottom = float32(c.X1-c.X0), float32(c.Y1-c.Y0)
			switch rng.IntN(3) {
			case 0:
				c.Left, c.Top = rng.Float32()*c.Right*0.9, rng.Float32()*c.Bottom*0.9
			case 1:
				c.W, c.H = c.X1-c.X0, c.Y1-c.Y0
			}
			channels := h.Channels(jpeg.Options{Grey: c.Grey})
			got := make([]byte, channels*c.W*c.H)
			if err := r.Decode(got, c); err != nil {
				t.Fatal(err)
			}
			all := make([]byte, channels*w*hh)
			var d jpeg.Decoder
			_, err = d.Open(file)
			err2 := d.Decode(all, jpeg.Options{Scale: c.Scale, Grey: c.Grey})
			want := make([]byte, len(got))
			p := Pixels{all, w, hh, channels * w, channels}.Part(c.X0, c.Y0, c.X1, c.Y1)
			err3 := new(Resizer).Resize(want, p, c.Size)
			if err := errors.Join(err, err2, err3); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s, %+v: other pixels: %v", name, c, err)
			}
		}
	}
}

// TestRefused: sizes and parts that cannot be.
func TestRefused(t *testing.T) {
	file, err := os.ReadFile("../jpeg/testdata/base420.jpg")
	if err != nil {
		t.Fatal(err)
	}
	var r Resizer
	p := pattern(10, 10)
	for _, c := range []Cut{
		{Size: Size{H: 4}}, {Size: Size{W: 4, H: 5}}, {Size: Size{W: 4, H: 4, Left: -1, Right: 2, Bottom: 2}},
		{Size: Size{W: 4, H: 4, Right: 1e9, Bottom: 2}}, {Size: Size{W: 4, H: 4, Filter: 9}},
		{Size: Size{W: 4, H: 4}, X0: 3, X1: 3, Y1: 2}, {Size: Size{W: 4, H: 4}, X1: 1 << 20, Y1: 1}, {Size: Size{W: 4, H: 4}, Scale: 3},
	} {
		if _, err := r.Open(file); err != nil {
			t.Fatal(err)
		}
		if r.Decode(make([]byte, 48), c) == nil {
			t.Errorf("%+v is taken", c)
		}
		if c.Scale == 0 && c.X1 == 0 && r.Resize(make([]byte, 48), p, c.Size) == nil {
			t.Errorf("%+v of pixels is taken", c)
		}
	}
}

// TestNoAllocation: the memory is kept.
func TestNoAllocation(t *testing.T) {
	file, err := os.ReadFile("../jpeg/testdata/base420.jpg")
	if err != nil {
		t.Fatal(err)
	}
	var r Resizer
	dst := make([]byte, 3*32*24)
	k := 0
	if n := testing.AllocsPerRun(50, func() {
		k++
		h, err := r.Open(file)
		if err == nil {
			err = r.Decode(dst, Cut{X0: k % 7, X1: h.W - k%5, Y1: h.H, Size: Size{W: 32, H: 24}})
		}
		if err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%g allocations an image", n)
	}
}

// TestAgainstPillow compares random resizings with Pillow, which SHARDIFY_PILLOW, a
// Python, has. SHARDIFY_JPEGS is their number.
func TestAgainstPillow(t *testing.T) {
	python := os.Getenv("SHARDIFY_PILLOW")
	if python == "" {
		t.Skip("SHARDIFY_PILLOW names no Python with Pillow and numpy")
	}
	n := os.Getenv("SHARDIFY_JPEGS")
	if n == "" {
		n = "300"
	}
	cmd := exec.Command(python, "testdata/peer.py", n)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var r Resizer
	images, in := 0, bufio.NewReader(pipe)
	for ; ; images++ {
		var head struct {
			SW, SH, W, H, Filter uint32
			Box                  [4]float32
			Sum                  [64]byte
		}
		if err := binary.Read(in, binary.LittleEndian, &head); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pix := make([]byte, 3*head.SW*head.SH)
		if _, err := io.ReadFull(in, pix); err != nil {
			t.Fatal(err)
		}
		out := make([]byte, 3*head.W*head.H)
		b := head.Box
		err := r.Resize(out, Pixels{pix, int(head.SW), int(head.SH), 3 * int(head.SW), 3}, Size{int(head.W), int(head.H), b[0], b[1], b[2], b[3], Filter(head.Filter)})
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(out)) != string(head.Sum[:]) {
			t.Fatalf("image %d, %d x %d, %v to %d x %d, %s: other bytes than Pillow's: %v", images, head.SW, head.SH, b, head.W, head.H, names[head.Filter], err)
		}
	}
	if err := cmd.Wait(); err != nil || images == 0 {
		t.Fatal(images, err)
	}
	t.Logf("%d images are Pillow's", images)
}

// BenchmarkResize resizes a picture of 500 x 375 pixels to 224 x 224, as bench/jpeg.py does
// with Pillow.
func BenchmarkResize(b *testing.B) {
	p := pattern(500, 375)
	dst := make([]byte, 3*224*224)
	for f, name := range names {
		b.Run(name, func(b *testing.B) {
			var r Resizer
			for b.Loop() {
				if err := r.Resize(dst, p, Size{W: 224, H: 224, Filter: Filter(f)}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*500*375/1e6/b.Elapsed().Seconds(), "Mpx/s")
		})
	}
}

// TestLittleMemory: of a large file, some rows are kept.
func TestLittleMemory(t *testing.T) {
	p := pattern(2000, 1500)
	file, err := new(jpeg.Encoder).Encode(nil, p.Pix, p.W, p.H, 3, jpeg.Encoding{Quality: 50})
	if err != nil {
		t.Fatal(err)
	}
	var r Resizer
	if _, err := r.Open(file); err != nil {
		t.Fatal(err)
	}
	if err := r.Decode(make([]byte, 3*100*80), Cut{Size: Size{W: 100, H: 80}}); err != nil {
		t.Fatal(err)
	}
	if most := 3 * p.W * (jpeg.SinkRows + lines + 1); len(r.pix) > most {
		t.Errorf("%d bytes of pixels are kept, at most %d are expected", len(r.pix), most)
	}
}
