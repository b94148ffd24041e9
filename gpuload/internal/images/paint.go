package images

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/images/jpeg"
	"github.com/shardify/shardify/images/png"
	"github.com/shardify/shardify/images/resize"
)

// painter is the memory of one thread, used for one image after the other.
type painter struct {
	form   *Form
	chain  *augment.Chain
	tables *[3][256]uint32
	// Of the current image: its place in the batch, and what is random.
	out    []byte
	chance chance
	seed   uint64

	decoder png.Decoder
	resize  resize.Resizer
	canvas  augment.Canvas
	pixels  []byte
	line    []byte
}

var errKind = errors.New("neither JPEG nor PNG of 8 bits")

// paint makes the pixels of one image.
func (p *painter) paint(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8")) && p.chain != nil && p.form.none():
		return p.augmented(p.chain.JPEG(&p.canvas, data, p.seed))
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		return p.jpeg(data)
	case bytes.HasPrefix(data, []byte(png.Signature)):
		return p.png(data)
	case bytes.HasPrefix(data, []byte("P6 ")):
		return p.ppm(data)
	}
	return errKind
}

// cut is what is shown of an image of w x h pixels.
func (p *painter) cut(w, h int) (cut, error) {
	if w > maxPixels/h {
		return cut{}, errShape
	}
	c, err := p.form.cut(w, h, p.chance)
	if err == nil && p.chain == nil && (c.w != p.form.Width || c.h != p.form.Height) {
		err = errShape
	}
	if err == nil {
		p.form.places(&c, w, h, &p.canvas)
	}
	return c, err
}

func (p *painter) jpeg(data []byte) error {
	head, err := p.resize.Open(data)
	if err != nil {
		return err
	}
	c, err := p.cut(head.W, head.H)
	if err != nil {
		return err
	}
	to := resize.Cut{Scale: 1, Grey: p.form.Channels == 1}
	if p.form.Scaled {
		to.Scale = c.scale(head.W, head.H)
	}
	w, h := head.Scaled(to.Scale)
	to.Size = c.size(to.Scale, w, h)
	if c.exact(to.Scale) {
		to.X0, to.Y0, to.X1, to.Y1 = c.place()
		to.Size = resize.Size{W: c.w, H: c.h}
	}
	if err := p.resize.StartJPEG(to); err != nil {
		return err
	}
	return p.rows(&c)
}

func (p *painter) png(data []byte) error {
	head, err := p.decoder.Open(data)
	switch {
	case err != nil:
		return err
	case head.W > maxPixels/head.H:
		return errShape
	case head.Bits > 8:
		return errKind
	case p.form.Doubt && head.Index:
		return augment.Doubt(p.form.Image)
	}
	grey, n := p.form.Channels == 1, head.W*head.H
	native := grey && head.Grey
	if !native {
		n *= 3
	}
	p.pixels = sized(p.pixels, n)
	if err := p.decoder.Decode(p.pixels, png.Options{Grey: native}); err != nil {
		return err
	}
	if grey && !native {
		p.greys()
	}
	return p.plain(p.pixels, head.W, head.H)
}

// greys makes grey pixels of colours.
func (p *painter) greys() {
	in := p.pixels
	p.pixels = in[:len(in)/3]
	for x := range p.pixels {
		p.pixels[x] = jpeg.Luma(in[3*x], in[3*x+1], in[3*x+2])
	}
}

// ppm is pixels as they are, which the caller decoded. All other files of this kind are left.
func (p *painter) ppm(data []byte) error {
	line, pix, _ := bytes.Cut(data, []byte("\n"))
	var w, h int
	if _, err := fmt.Sscanf(string(line[:min(len(line), 40)]), "P6 %d %d 255", &w, &h); err != nil || w < 1 || h < 1 || w > maxPixels/h || len(pix) != 3*w*h {
		return errKind
	}
	if p.pixels = append(p.pixels[:0], pix...); p.form.Channels == 1 {
		p.greys()
	}
	return p.plain(p.pixels, w, h)
}

// plain makes the image of pixels, which it may overwrite.
func (p *painter) plain(pix []byte, w, h int) error {
	if p.chain != nil && p.form.none() {
		return p.augmented(p.chain.Pixels(&p.canvas, pix, w, h, p.seed))
	}
	c, err := p.cut(w, h)
	if err != nil {
		return err
	}
	from, to := resize.Pixels{Pix: pix, W: w, H: h, Stride: w * p.form.Channels, Channels: p.form.Channels}, c.size(1, w, h)
	if c.exact(1) {
		from, to = from.Part(c.place()), resize.Size{W: c.w, H: c.h}
	}
	if err := p.resize.Start(from, to); err != nil {
		return err
	}
	return p.rows(&c)
}

// augmented writes what a chain made to the batch.
func (p *painter) augmented(pix []byte, w, h int, err error) error {
	if err == nil && (w != p.form.Width || h != p.form.Height) {
		err = errShape
	}
	if err != nil {
		return err
	}
	for y := range h {
		p.lay(pix[3*w*y:3*w*(y+1)], y, false)
	}
	return nil
}

// rows writes the image that was resized to the batch, through the chain if there is one.
func (p *painter) rows(c *cut) error {
	width := c.w * p.form.Channels
	if p.chain == nil {
		p.line = sized(p.line, width)
		for y := range c.h {
			p.resize.Row(p.line, y)
			p.lay(p.line, y, c.mirrored)
		}
		return nil
	}
	p.line = sized(p.line, width*c.h)
	for y := range c.h {
		row := p.line[width*y : width*(y+1)]
		p.resize.Row(row, y)
		if c.mirrored {
			for a, b := 0, width-3; a < b; a, b = a+3, b-3 {
				row[a], row[a+1], row[a+2], row[b], row[b+1], row[b+2] = row[b], row[b+1], row[b+2], row[a], row[a+1], row[a+2]
			}
		}
	}
	return p.augmented(p.chain.Pixels(&p.canvas, p.line, c.w, c.h, p.seed))
}

// lay writes row y of the image to the batch.
func (p *painter) lay(line []byte, y int, mirrored bool) {
	f := p.form
	switch f.To.Size() {
	case 1:
		lay(p.out, line, y, mirrored, f, p.tables)
	case 2:
		lay(shardify.View[uint16](p.out), line, y, mirrored, f, p.tables)
	default:
		lay(shardify.View[uint32](p.out), line, y, mirrored, f, p.tables)
	}
}

func lay[T byte | uint16 | uint32](dst []T, line []byte, y int, mirrored bool, f *Form, tables *[3][256]uint32) {
	w, n := f.Width, f.Width*f.Height
	switch {
	case f.Channels == 1:
		planes(dst[y*w:][:w], nil, nil, line, mirrored, tables)
	case f.Last:
		pixels(dst[3*y*w:][:3*w], line, mirrored, tables)
	default:
		planes(dst[y*w:][:w], dst[n+y*w:][:w], dst[2*n+y*w:][:w], line, mirrored, tables)
	}
}

// planes writes each channel separately; the second and third may be missing.
func planes[T byte | uint16 | uint32](r, g, b []T, line []byte, mirrored bool, tables *[3][256]uint32) {
	at, step := 0, 1
	if mirrored {
		at, step = len(r)-1, -1
	}
	t0, t1, t2 := &tables[0], &tables[1], &tables[2]
	if g == nil {
		for _, v := range line {
			r[at] = T(t0[v])
			at += step
		}
		return
	}
	g, b = g[:len(r)], b[:len(r)]
	for ; len(line) >= 3 && uint(at) < uint(len(r)); at += step {
		r[at], g[at], b[at] = T(t0[line[0]]), T(t1[line[1]]), T(t2[line[2]])
		line = line[3:]
	}
}

// pixels writes the channels of each pixel side by side.
func pixels[T byte | uint16 | uint32](dst []T, line []byte, mirrored bool, tables *[3][256]uint32) {
	t0, t1, t2 := &tables[0], &tables[1], &tables[2]
	for ; len(line) >= 3 && len(dst) >= 3; line = line[3:] {
		to := dst[:3]
		if mirrored {
			to, dst = dst[len(dst)-3:], dst[:len(dst)-3]
		} else {
			dst = dst[3:]
		}
		to[0], to[1], to[2] = T(t0[line[0]]), T(t1[line[1]]), T(t2[line[2]])
	}
}
