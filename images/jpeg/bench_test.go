package jpeg

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// folder is the JPEGs of SHARDIFY_JPEG_DIR.
func folder(b *testing.B) (images [][]byte) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("SHARDIFY_JPEG_DIR"), "*.jpg"))
	if os.Getenv("SHARDIFY_JPEG_DIR") == "" || len(files) == 0 {
		b.Skip("SHARDIFY_JPEG_DIR names no folder of JPEGs")
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		images = append(images, src)
	}
	return images
}

// BenchmarkFolder decodes the JPEGs of SHARDIFY_JPEG_DIR, as bench/jpeg.py does with
// another library.
func BenchmarkFolder(b *testing.B) {
	images := folder(b)
	var d Decoder
	var pix []byte
	pixels := 0
	for b.Loop() {
		for _, src := range images {
			h, err := d.Open(src)
			if err != nil {
				b.Fatal(err)
			}
			if n := 3 * h.W * h.H; cap(pix) < n {
				pix = make([]byte, n)
			}
			if err := d.Decode(pix[:3*h.W*h.H], Options{}); err != nil {
				b.Fatal(err)
			}
			pixels += h.W * h.H
		}
	}
	b.ReportMetric(float64(pixels)/1e6/b.Elapsed().Seconds(), "Mpx/s")
}

// BenchmarkCrop decodes random parts of them, of the sizes that training takes.
func BenchmarkCrop(b *testing.B) {
	images := folder(b)
	rng := rand.New(rand.NewPCG(1, 1))
	var d Decoder
	var pix []byte
	pixels := 0
	for b.Loop() {
		for _, src := range images {
			h, err := d.Open(src)
			if err != nil {
				b.Fatal(err)
			}
			side, ratio := math.Sqrt(0.08+0.92*rng.Float64()), math.Sqrt(0.75+0.58*rng.Float64())
			w, hh := min(h.W, int(side*ratio*float64(h.W))), min(h.H, int(side/ratio*float64(h.H)))
			x, y := rng.IntN(h.W-w+1), rng.IntN(h.H-hh+1)
			if n := 3 * w * hh; cap(pix) < n {
				pix = make([]byte, n)
			}
			if err := d.Decode(pix[:3*w*hh], Options{X0: x, Y0: y, X1: x + w, Y1: y + hh}); err != nil {
				b.Fatal(err)
			}
			pixels += h.W * h.H
		}
	}
	b.ReportMetric(float64(pixels)/1e6/b.Elapsed().Seconds(), "Mpx/s")
}

// BenchmarkEncode encodes them again, at quality 90.
func BenchmarkEncode(b *testing.B) {
	type picture struct {
		pix  []byte
		w, h int
	}
	var pictures []picture
	for _, src := range folder(b) {
		var d Decoder
		h, err := d.Open(src)
		p := picture{make([]byte, 3*h.W*h.H), h.W, h.H}
		if err == nil {
			err = d.Decode(p.pix, Options{})
		}
		if err != nil {
			b.Fatal(err)
		}
		pictures = append(pictures, p)
	}
	var e Encoder
	var out []byte
	var err error
	pixels := 0
	for b.Loop() {
		for _, p := range pictures {
			if out, err = e.Encode(out[:0], p.pix, p.w, p.h, 3, Encoding{Quality: 90}); err != nil {
				b.Fatal(err)
			}
			pixels += p.w * p.h
		}
	}
	b.ReportMetric(float64(pixels)/1e6/b.Elapsed().Seconds(), "Mpx/s")
}
