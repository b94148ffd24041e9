package resize

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/jpeg"
)

// Cut says what is made of a JPEG file.
type Cut struct {
	// Scale is 1, 2, 4 or 8: the file is decoded to 1/Scale of its size. These pixels
	// are those of libjpeg's scaling (Pillow's draft), not those of a filter. 0 is 1.
	Scale int
	// [X0, X1) x [Y0, Y1) is cut out of the (scaled) image; all 0: the whole. What is
	// outside counts for nothing.
	X0, Y0, X1, Y1 int
	// Grey gives one byte a pixel, the luma of files with colours. Else there are three, R,
	// G, B.
	Grey bool
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
	o, err := r.prepare(&c)
	if err != nil {
		return err
	}
	if !r.across.same() || !r.down.same() {
		if err := r.stream(o); err != nil {
			return err
		}
		return r.all(dst)
	}
	if len(dst) != r.channels*c.W*c.H {
		return shardify.Mismatch("resize: %d bytes for %d x %d pixels of %d bytes", len(dst), c.W, c.H, r.channels)
	}
	return r.decoder.Decode(dst, o)
}

// StartJPEG decodes what c needs of the file that was opened, and makes the first pass.
// [Resizer.Row] gives the result.
func (r *Resizer) StartJPEG(c Cut) error {
	o, err := r.prepare(&c)
	if err != nil {
		return err
	}
	if !r.across.same() || !r.down.same() {
		return r.stream(o)
	}
	r.pix = grown(r.pix, r.channels*c.W*c.H)
	r.mid, r.stride = r.pix, r.channels*c.W
	return r.decoder.Decode(r.pix, o)
}

// prepare computes the weights, and what is to be decoded.
func (r *Resizer) prepare(c *Cut) (o jpeg.Options, err error) {
	w, h := r.head.Scaled(c.Scale)
	if c.X0 == 0 && c.Y0 == 0 && c.X1 == 0 && c.Y1 == 0 {
		c.X1, c.Y1 = w, h
	}
	if c.X0 < 0 || c.Y0 < 0 || c.X0 >= c.X1 || c.Y0 >= c.Y1 || c.X1 > w || c.Y1 > h {
		return o, shardify.Mismatch("resize: the part [%d, %d) x [%d, %d) of %d x %d pixels", c.X0, c.X1, c.Y0, c.Y1, w, h)
	}
	if err := r.set(c.X1-c.X0, c.Y1-c.Y0, c.Size); err != nil {
		return o, err
	}
	a, b := &r.across, &r.down
	o = jpeg.Options{Scale: c.Scale, X0: c.X0 + a.first, Y0: c.Y0 + b.first, X1: c.X0 + a.end, Y1: c.Y0 + b.end, Grey: c.Grey, Fill: c.Fill}
	r.channels = r.head.Channels(o)
	return o, nil
}

// stream decodes a file and makes the first pass on the way: of the pixels, some rows are
// kept.
func (r *Resizer) stream(o jpeg.Options) error {
	if r.sink == nil {
		r.sink = r.addRows
	}
	r.begin(r.channels)
	r.width, r.waiting = o.X1-o.X0, 0
	rows := min(o.Y1-o.Y0, jpeg.SinkRows) + lines
	r.pix = grown(r.pix, r.channels*r.width*rows+margin)
	o.Sink = r.sink
	if err := r.decoder.Decode(r.pix, o); err != nil {
		return err
	}
	r.push(r.pix, r.width, r.channels*r.width, r.waiting, r.across.first, true)
	return nil
}

// addRows makes the first pass of rows that were decoded, and says where the next ones go.
func (r *Resizer) addRows(rows []byte) []byte {
	step := r.channels * r.width
	n := r.waiting + len(rows)/step
	done := r.push(r.pix, r.width, step, n, r.across.first, false)
	copy(r.pix, r.pix[done*step:n*step])
	r.waiting = n - done
	return r.pix[r.waiting*step:]
}
