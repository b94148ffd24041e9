package resize

import (
	"image"
	"testing"

	"github.com/shardify/shardify/tests/rivals"
	"golang.org/x/image/draw"
)

// BenchmarkRivals has this package beside golang.org/x/image/draw, which takes and gives 4 bytes a pixel.
func BenchmarkRivals(b *testing.B) {
	const w, h, side = 500, 375, 224
	p := pattern(w, h)
	from, to := image.NewRGBA(image.Rect(0, 0, w, h)), image.NewRGBA(image.Rect(0, 0, side, side))
	for i := range w * h {
		copy(from.Pix[4*i:], p.Pix[3*i:3*i+3])
		from.Pix[4*i+3] = 255
	}
	dst := make([]byte, 3*side*side)
	for _, c := range []struct {
		name   string
		filter Filter
		theirs draw.Scaler
	}{{"bilinear", Bilinear, draw.BiLinear.NewScaler(side, side, w, h)}, {"bicubic", Bicubic, draw.CatmullRom.NewScaler(side, side, w, h)}} {
		var r Resizer
		rivals.Run(b, c.name+"/ours", 3*w*h, func() error {
			return r.Resize(dst, p, Size{W: side, H: side, Filter: c.filter})
		})
		rivals.Run(b, c.name+"/x-image", 3*w*h, func() error {
			c.theirs.Scale(to, to.Rect, from, from.Rect, draw.Src, nil)
			return nil
		})
	}
}
