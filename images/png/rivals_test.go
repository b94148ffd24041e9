package png

import (
	"bytes"
	"image"
	std "image/png"
	"math"
	"testing"

	"github.com/shardify/shardify/tests/rivals"
)

// BenchmarkRivals has this package beside image/png, which gives 4 bytes a pixel.
func BenchmarkRivals(b *testing.B) {
	const w, h = 500, 375
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		x, y := i%w, i/w
		v := 120 + 60*math.Sin(float64(x)/37)*math.Cos(float64(y)/29)
		copy(m.Pix[4*i:], []byte{byte(v), byte(x*y%7 + x), byte(255 - v), 255})
	}
	var file bytes.Buffer
	if err := std.Encode(&file, m); err != nil {
		b.Fatal(err)
	}
	var d Decoder
	dst := make([]byte, 3*w*h)
	for _, who := range []struct {
		name   string
		decode func() error
	}{
		{"ours", func() error {
			if _, err := d.Open(file.Bytes()); err != nil {
				return err
			}
			return d.Decode(dst, Options{})
		}},
		{"stdlib", func() error {
			_, err := std.Decode(bytes.NewReader(file.Bytes()))
			return err
		}},
	} {
		rivals.Run(b, "decode/"+who.name, 3*w*h, who.decode)
	}
}
