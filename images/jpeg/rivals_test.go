package jpeg

import (
	"bytes"
	"image"
	std "image/jpeg"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify/tests/rivals"
)

// scene is a picture of slopes, edges and a little noise.
func scene(w, h int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	pix := make([]byte, 0, 3*w*h)
	for y := range h {
		for x := range w {
			v := 120 + 60*math.Sin(float64(x)/37)*math.Cos(float64(y)/29)
			if (x/50+y/70)%3 == 0 {
				v -= 50
			}
			n := float64(rng.IntN(9))
			pix = append(pix, byte(v+n), byte(v*0.8+n), byte(255-v+n))
		}
	}
	return pix
}

// BenchmarkRivals has this package beside image/jpeg, whose decoder leaves YCbCr, and whose encoder begins
// with 4 bytes a pixel.
func BenchmarkRivals(b *testing.B) {
	const w, h = 500, 375
	pix := scene(w, h)
	rgba := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		copy(rgba.Pix[4*i:], pix[3*i:3*i+3])
		rgba.Pix[4*i+3] = 255
	}
	file, err := new(Encoder).Encode(nil, pix, w, h, 3, Encoding{Quality: 90})
	if err != nil {
		b.Fatal(err)
	}
	bench := func(name string, f func() error) { rivals.Run(b, name, 3*w*h, f) }
	var d Decoder
	dst := make([]byte, len(pix))
	bench("decode/ours", func() error {
		if _, err := d.Open(file); err != nil {
			return err
		}
		return d.Decode(dst, Options{})
	})
	bench("decode/stdlib", func() error {
		_, err := std.Decode(bytes.NewReader(file))
		return err
	})
	var e Encoder
	var out []byte
	bench("encode/ours", func() (err error) {
		out, err = e.Encode(out[:0], pix, w, h, 3, Encoding{Quality: 90})
		return err
	})
	var to bytes.Buffer
	bench("encode/stdlib", func() error {
		to.Reset()
		return std.Encode(&to, rgba, &std.Options{Quality: 90})
	})
}
