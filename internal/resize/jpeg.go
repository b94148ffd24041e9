package resize

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/jpeg"
)

// Cut says what is made of a JPEG file.
type Cut struct {
	// Scale is 1, 2, 4 or 8: the file is decoded to 1/Scale of its size. These pixels
	// are those of libjpeg's scaling (Pillow's draft), not those of a filter. 0 is 1.
	Scale int
	// [X0, X1) x [Y0, Y1) is cut out of the (scaled) image; all 0: the whole. What is
	// outside counts for nothing.
	X0, Y0, X1, Y1 int
	// Native gives one byte a pixel for grey files. Else there are three, R, G, B.
	Native bool
	// Fill takes files that end early, as jpeg.Options says.
	Fill bool
	Size
}

// Open reads a file up to its first scan. It is used until it is decoded.
func (r *Resizer) Open(file []byte) (jpeg.Header, error) {
	var err error
	r.head, err = r.decoder.Open(file)
	return r.head, err
}

// Decode writes what c makes of the file that was opened, row by row. It can be called
// once after each Open.
func (r *Resizer) Decode(dst []byte, c Cut) error {
	if err := r.StartJPEG(c); err != nil {
		return err
	}
	return r.all(dst)
}

// StartJPEG decodes what c needs of the file that was opened, and makes the first pass.
// [Resizer.Row] gives the result.
func (r *Resizer) StartJPEG(c Cut) error {
	w, h := r.head.Scaled(c.Scale)
	if c.X0 == 0 && c.Y0 == 0 && c.X1 == 0 && c.Y1 == 0 {
		c.X1, c.Y1 = w, h
	}
	if c.X0 < 0 || c.Y0 < 0 || c.X0 >= c.X1 || c.Y0 >= c.Y1 || c.X1 > w || c.Y1 > h {
		return shardify.Mismatch("resize: the part [%d, %d) x [%d, %d) of %d x %d pixels", c.X0, c.X1, c.Y0, c.Y1, w, h)
	}
	channels := r.head.Channels(jpeg.Options{Native: c.Native})
	if channels == 4 {
		return shardify.Mismatch("resize: pixels of four inks")
	}
	if err := r.set(c.X1-c.X0, c.Y1-c.Y0, c.Size); err != nil {
		return err
	}
	x, y := r.across.first, r.down.first
	w, h = r.across.end-x, r.down.end-y
	r.pix = grown(r.pix, channels*w*h+margin)
	err := r.decoder.Decode(r.pix, jpeg.Options{Scale: c.Scale, X0: c.X0 + x, Y0: c.Y0 + y, X1: c.X0 + x + w, Y1: c.Y0 + y + h, Native: c.Native, Fill: c.Fill})
	if err == nil {
		r.run(Pixels{r.pix, w, h, channels * w, channels}, x, y)
	}
	return err
}
