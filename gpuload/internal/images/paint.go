package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/jpeg"
)

// painter is the memory of one thread, used for one image after the other.
type painter struct {
	form   *Form
	tables *[3][256]uint32
	out    []byte // the image's place in the batch

	jpeg         jpeg.Decoder
	across, down axis
	pixels, rows []byte
	line         []byte
}

var (
	errKind = errors.New("neither JPEG nor PNG")
	errGrey = errors.New("colours that are to become grey")
)

// picture is an encoded image.
type picture interface {
	// part writes the pixels [x0, x1) x [y0, y1) of the image at 1/by of its size.
	part(dst []byte, by, x0, y0, x1, y1 int) error
}

// paint makes the pixels of one image.
func (p *painter) paint(data []byte, u chance) error {
	f := p.form
	m, width, height, err := p.open(data)
	if err != nil {
		return err
	}
	if width > maxPixels/height {
		return errShape
	}
	c, err := f.cut(width, height, u)
	if err != nil {
		return err
	}
	if c.w != f.Width || c.h != f.Height {
		return errShape
	}
	by := 1
	if _, scales := m.(*scaledJPEG); scales && f.Scaled {
		by = c.scale(width, height)
	}
	w, h := (width+by-1)/by, (height+by-1)/by
	left, top, right, bottom := c.box(by, w, h)
	if c.exact(by) {
		x, y := rounded(left), rounded(top)
		p.pixels = sized(p.pixels, c.w*c.h*f.Channels)
		if err := m.part(p.pixels, by, x, y, x+c.w, y+c.h); err != nil {
			return err
		}
		for y := range c.h {
			p.lay(p.pixels[y*c.w*f.Channels:(y+1)*c.w*f.Channels], y, c.mirrored)
		}
		return nil
	}
	p.across.set(w, c.w, float32(left), float32(right))
	p.down.set(h, c.h, float32(top), float32(bottom))
	x0, x1 := p.across.span()
	y0, y1 := p.down.span()
	p.pixels = sized(p.pixels, (x1-x0)*(y1-y0)*f.Channels)
	if err := m.part(p.pixels, by, x0, y0, x1, y1); err != nil {
		return err
	}
	in, out := (x1-x0)*f.Channels, c.w*f.Channels
	p.rows, p.line = sized(p.rows, out*(y1-y0)), sized(p.line, out)
	for y := range y1 - y0 {
		alongRow(p.rows[y*out:(y+1)*out], p.pixels[y*in:(y+1)*in], &p.across, x0, f.Channels)
	}
	for y := range c.h {
		alongColumns(p.line, p.rows[(int(p.down.lo[y])-y0)*out:], p.down.weights[y*p.down.taps:(y+1)*p.down.taps])
		p.lay(p.line, y, c.mirrored)
	}
	return nil
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
	plane, step := f.Width*f.Height, 1
	at := y * f.Width
	if f.Last {
		plane, step = 1, f.Channels
		at *= f.Channels
	}
	if mirrored {
		at += (f.Width - 1) * step
		step = -step
	}
	for c := range f.Channels {
		t, o := &tables[c], at+c*plane
		for i := c; i < len(line); i += f.Channels {
			dst[o] = T(t[line[i]])
			o += step
		}
	}
}

func (p *painter) open(data []byte) (m picture, w, h int, err error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		head, err := p.jpeg.Open(data)
		if err != nil {
			return nil, 0, 0, err
		}
		if p.form.Channels == 1 && head.Components != 1 {
			return nil, 0, 0, errGrey
		}
		return (*scaledJPEG)(p), head.W, head.H, nil
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return openPNG(data, p.form.Channels)
	}
	return nil, 0, 0, errKind
}

// scaledJPEG is the JPEG that a painter's decoder has open.
type scaledJPEG painter

func (p *scaledJPEG) part(dst []byte, by, x0, y0, x1, y1 int) error {
	return p.jpeg.Decode(dst, jpeg.Options{Scale: by, X0: x0, Y0: y0, X1: x1, Y1: y1, Native: p.form.Channels == 1})
}

type pngFile struct {
	data     []byte
	channels int
}

// channelsOfPNG by its type of colour.
var channelsOfPNG = map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

func openPNG(data []byte, channels int) (m picture, w, h int, err error) {
	if len(data) < 33 || string(data[12:16]) != "IHDR" {
		return nil, 0, 0, shardify.Corrupt(8, "png: no header")
	}
	w, h = int(binary.BigEndian.Uint32(data[16:])), int(binary.BigEndian.Uint32(data[20:]))
	bits := int(data[24]) * channelsOfPNG[data[25]]
	switch {
	case data[24] > 8:
		return nil, 0, 0, shardify.Unsupported("PNG of %d bits a channel", data[24])
	case w < 1 || h < 1 || bits == 0:
		return nil, 0, 0, shardify.Corrupt(16, "png: %d x %d pixels of %d bits", w, h, bits)
	case w > maxPixels/h:
		return nil, 0, 0, errShape
	case (w*bits+7)/8*h > 1040*len(data): // deflate makes at most 1032 of a byte
		return nil, 0, 0, shardify.Corrupt(int64(len(data)), "png: %d x %d pixels cannot be in %d bytes", w, h, len(data))
	}
	return &pngFile{data, channels}, w, h, nil
}

func (p *pngFile) part(dst []byte, _, x0, y0, x1, y1 int) error {
	m, err := png.Decode(bytes.NewReader(p.data))
	if err != nil {
		return shardify.Corrupt(-1, "png: %s", strings.TrimPrefix(err.Error(), "png: "))
	}
	n := x1 - x0
	if g, ok := m.(*image.Gray); ok {
		for y := y0; y < y1; y++ {
			src := g.Pix[y*g.Stride+x0:][:n]
			if p.channels == 1 {
				copy(dst, src)
			} else {
				for x, v := range src {
					dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
				}
			}
			dst = dst[n*p.channels:]
		}
		return nil
	}
	if p.channels == 1 {
		return errGrey
	}
	var pix []byte
	var stride int
	switch m := m.(type) {
	case *image.RGBA: // opaque
		pix, stride = m.Pix, m.Stride
	case *image.NRGBA: // what is transparent keeps its colour
		pix, stride = m.Pix, m.Stride
	case *image.Paletted:
		palette(dst, m, x0, y0, x1, y1)
		return nil
	default:
		return shardify.Unsupported("a PNG that becomes %T", m)
	}
	for y := y0; y < y1; y++ {
		src := pix[y*stride+4*x0:][:4*n]
		for x := range n {
			copy(dst[3*x:3*x+3], src[4*x:])
		}
		dst = dst[3*n:]
	}
	return nil
}

// palette writes the colours of a part of an image, without their transparency.
func palette(dst []byte, m *image.Paletted, x0, y0, x1, y1 int) {
	var colours [256][3]byte
	for i, c := range m.Palette {
		switch c := c.(type) {
		case color.RGBA:
			colours[i] = [3]byte{c.R, c.G, c.B}
		case color.NRGBA:
			colours[i] = [3]byte{c.R, c.G, c.B}
		}
	}
	for y := y0; y < y1; y++ {
		for _, v := range m.Pix[y*m.Stride+x0 : y*m.Stride+x1] {
			copy(dst, colours[v][:])
			dst = dst[3:]
		}
	}
}
