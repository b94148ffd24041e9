package jpeg

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkFolder decodes the JPEGs of SHARDIFY_JPEG_DIR, as bench/jpeg.py does with
// another library.
func BenchmarkFolder(b *testing.B) {
	files, _ := filepath.Glob(filepath.Join(os.Getenv("SHARDIFY_JPEG_DIR"), "*.jpg"))
	if os.Getenv("SHARDIFY_JPEG_DIR") == "" || len(files) == 0 {
		b.Skip("SHARDIFY_JPEG_DIR names no folder of JPEGs")
	}
	var images [][]byte
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		images = append(images, src)
	}
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
