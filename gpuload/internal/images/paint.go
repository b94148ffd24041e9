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
	"github.com/shardify/shardify/internal/resize"
)

// painter is the memory of one thread, used for one image after the other.
type painter struct {
	form   *Form
	tables *[3][256]uint32
	out    []byte // the image's place in the batch

	resize resize.Resizer
	pixels []byte
	line   []byte
}

var (
	errKind = errors.New("neither JPEG nor PNG")
	errGrey = errors.New("colours that are to become grey")
)

// paint makes the pixels of one image.
func (p *painter) paint(data []byte, u chance) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xd8")):
		return p.jpeg(data, u)
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return p.png(data, u)
	}
	return errKind
}

// cut is what is shown of an image of w x h pixels.
func (p *painter) cut(w, h int, u chance) (cut, error) {
	if w > maxPixels/h {
		return cut{}, errShape
	}
	c, err := p.form.cut(w, h, u)
	if err == nil && (c.w != p.form.Width || c.h != p.form.Height) {
		err = errShape
	}
	return c, err
}

func (p *painter) jpeg(data []byte, u chance) error {
	head, err := p.resize.Open(data)
	if err != nil {
		return err
	}
	grey := p.form.Channels == 1
	if grey && head.Components != 1 {
		return errGrey
	}
	c, err := p.cut(head.W, head.H, u)
	if err != nil {
		return err
	}
	to := resize.Cut{Scale: 1, Native: grey}
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
	p.rows(c.mirrored)
	return nil
}

func (p *painter) png(data []byte, u chance) error {
	w, h, err := sizeOfPNG(data)
	if err != nil {
		return err
	}
	c, err := p.cut(w, h, u)
	if err != nil {
		return err
	}
	channels := p.form.Channels
	p.pixels = sized(p.pixels, w*h*channels)
	if err := decodePNG(p.pixels, data, channels); err != nil {
		return err
	}
	from, to := resize.Pixels{Pix: p.pixels, W: w, H: h, Stride: w * channels, Channels: channels}, c.size(1, w, h)
	if c.exact(1) {
		from, to = from.Part(c.place()), resize.Size{W: c.w, H: c.h}
	}
	if err := p.resize.Start(from, to); err != nil {
		return err
	}
	p.rows(c.mirrored)
	return nil
}

// rows writes the image that was resized to the batch.
func (p *painter) rows(mirrored bool) {
	p.line = sized(p.line, p.form.Width*p.form.Channels)
	for y := range p.form.Height {
		p.resize.Row(p.line, y)
		p.lay(p.line, y, mirrored)
	}
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

// channelsOfPNG by its type of colour.
var channelsOfPNG = map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

// sizeOfPNG refuses what the file cannot hold.
func sizeOfPNG(data []byte) (w, h int, err error) {
	if len(data) < 33 || string(data[12:16]) != "IHDR" {
		return 0, 0, shardify.Corrupt(8, "png: no header")
	}
	w, h = int(binary.BigEndian.Uint32(data[16:])), int(binary.BigEndian.Uint32(data[20:]))
	bits := int(data[24]) * channelsOfPNG[data[25]]
	switch {
	case data[24] > 8:
		return 0, 0, shardify.Unsupported("PNG of %d bits a channel", data[24])
	case w < 1 || h < 1 || bits == 0:
		return 0, 0, shardify.Corrupt(16, "png: %d x %d pixels of %d bits", w, h, bits)
	case w > maxPixels/h:
		return 0, 0, errShape
	case (w*bits+7)/8*h > 1040*len(data): // deflate makes at most 1032 of a byte
		return 0, 0, shardify.Corrupt(int64(len(data)), "png: %d x %d pixels cannot be in %d bytes", w, h, len(data))
	}
	return w, h, nil
}

// decodePNG writes the pixels of a file; what is transparent keeps its colour.
func decodePNG(dst []byte, data []byte, channels int) error {
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return shardify.Corrupt(-1, "png: %s", strings.TrimPrefix(err.Error(), "png: "))
	}
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	if g, ok := m.(*image.Gray); ok {
		for y := range h {
			src := g.Pix[y*g.Stride:][:w]
			if channels == 1 {
				copy(dst, src)
			} else {
				for x, v := range src {
					dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
				}
			}
			dst = dst[w*channels:]
		}
		return nil
	}
	if channels == 1 {
		return errGrey
	}
	var pix []byte
	var stride int
	switch m := m.(type) {
	case *image.RGBA:
		pix, stride = m.Pix, m.Stride
	case *image.NRGBA:
		pix, stride = m.Pix, m.Stride
	case *image.Paletted:
		palette(dst, m)
		return nil
	default:
		return shardify.Unsupported("a PNG that becomes %T", m)
	}
	for y := range h {
		src := pix[y*stride:][:4*w]
		for x := range w {
			dst[3*x], dst[3*x+1], dst[3*x+2] = src[4*x], src[4*x+1], src[4*x+2]
		}
		dst = dst[3*w:]
	}
	return nil
}

// palette writes the colours of an image, without their transparency.
func palette(dst []byte, m *image.Paletted) {
	var colours [256][3]byte
	for i, c := range m.Palette {
		switch c := c.(type) {
		case color.RGBA:
			colours[i] = [3]byte{c.R, c.G, c.B}
		case color.NRGBA:
			colours[i] = [3]byte{c.R, c.G, c.B}
		}
	}
	for _, v := range m.Pix {
		copy(dst, colours[v][:])
		dst = dst[3:]
	}
}
