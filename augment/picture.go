package augment

import (
	"bytes"
	"errors"
	"image"
	"image/draw"
	_ "image/gif" // formats that are decoded
	stdpng "image/png"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/jpeg"
	"github.com/shardify/shardify/images/moves"
	"github.com/shardify/shardify/images/png"
	"github.com/shardify/shardify/images/resize"
	"github.com/shardify/shardify/internal/filekind"
	"github.com/shardify/shardify/internal/guard"
	_ "golang.org/x/image/webp" // as above
)

// picture is RGB, one byte each, row by row.
type picture struct {
	w, h int
	pix  []byte
}

// maxPixels bounds what a damaged or hostile file may claim.
const maxPixels = 1 << 28

// buffers are the memory of one goroutine, reused from picture to picture.
type buffers struct {
	decoded, one, two []byte
	rgba              *image.RGBA
	out               []byte
	resizer           resize.Resizer
	encoder           jpeg.Encoder
	png               png.Decoder
	pngBuffer         pngBuffer
	masks             [2][]byte
	moves             map[int][]moves.Move // by the column of the image in what comes in
	moved             moves.Move           // what the operation did to the last image
	lost              int64                // images whose orientation was ignored
	decoding
}

// pngBuffer keeps the encoder's memory.
type pngBuffer struct{ b *stdpng.EncoderBuffer }

// Get is for the encoder.
func (p *pngBuffer) Get() *stdpng.EncoderBuffer { return p.b }

// Put is for the encoder.
func (p *pngBuffer) Put(b *stdpng.EncoderBuffer) { p.b = b }

func grow(b *[]byte, n int) []byte {
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	*b = (*b)[:n]
	return *b
}

// notDecoded says what a sound file is that no decoder here takes, "" for all others.
func notDecoded(b []byte) string {
	if k := filekind.Of(b); k != nil && k.Decoder > filekind.Half {
		return k.Name
	}
	if k := filekind.Of(b); k != nil && k.Name == filekind.WebP && len(b) > 20 && string(b[12:16]) == "VP8X" && b[20]&2 != 0 {
		return "an animated WebP image"
	}
	return ""
}

// cut is what is made of a picture: the part of w x h pixels at (x, y) becomes size.
type cut struct {
	x, y, w, h int
	size       resize.Size
}

// same reports whether the picture stays as it is.
func (c cut) same(w, h int) bool { return c.w == w && c.h == h && c.size.W == w && c.size.H == h }

// fits refuses results that are too large: a strip whose shorter side grows, say.
func (c cut) fits() error {
	if c.size.W > maxPixels/max(c.size.H, 1) {
		return shardify.Mismatch("an image of %d x %d pixels becomes %d x %d: too large", c.w, c.h, c.size.W, c.size.H)
	}
	return nil
}

// isJPEG reports whether images/jpeg decodes the bytes.
func isJPEG(b []byte) bool { return bytes.HasPrefix(b, []byte("\xff\xd8")) }

// open reads the header of a JPEG.
func (s *buffers) open(b []byte) (w, h int, err error) {
	head, err := s.resizer.Open(b)
	if err == nil && head.W > maxPixels/head.H {
		err = tooLarge("jpeg", head.W, head.H)
	}
	return head.W, head.H, err
}

func tooLarge(kind string, w, h int) error {
	return shardify.Corrupt(-1, "a %s image of %d x %d pixels", kind, w, h)
}

// decode makes a picture of an encoded image.
func (s *buffers) decode(b []byte) (picture, error) {
	if len(b) == 0 {
		return picture{}, shardify.Corrupt(-1, "an image of 0 bytes")
	}
	if bytes.HasPrefix(b, []byte(png.Signature)) {
		p, err := s.decodePNG(b)
		if errors.Is(err, shardify.ErrUnsupported) {
			p, err = s.decodeOther(b)
		}
		if deep, grey := png.Deep(b); deep && err == nil && !s.upper {
			err = s.refused(grey)
		}
		return p, err
	}
	if !isJPEG(b) {
		return s.decodeOther(b)
	}
	w, h, err := s.open(b)
	if err != nil {
		return picture{}, err
	}
	return s.jpeg(cut{w: w, h: h, size: resize.Size{W: w, H: h}})
}

// jpeg makes a picture of the JPEG that was opened, of which only what it shows is decoded.
func (s *buffers) jpeg(c cut) (picture, error) {
	if err := c.fits(); err != nil {
		return picture{}, err
	}
	p := picture{c.size.W, c.size.H, grow(&s.decoded, 3*c.size.W*c.size.H)}
	return p, s.resizer.Decode(p.pix, resize.Cut{X0: c.x, Y0: c.y, X1: c.x + c.w, Y1: c.y + c.h, Fill: s.fill, Size: c.size})
}

// cut makes another picture of p.
func (s *buffers) cut(p picture, c cut) (picture, error) {
	if c.same(p.w, p.h) {
		return p, nil
	}
	if err := c.fits(); err != nil {
		return p, err
	}
	out := picture{c.size.W, c.size.H, grow(s.other(p), 3*c.size.W*c.size.H)}
	from := resize.Pixels{Pix: p.pix, W: p.w, H: p.h, Stride: 3 * p.w}.Part(c.x, c.y, c.x+c.w, c.y+c.h)
	return out, s.resizer.Resize(out.pix, from, c.size)
}

// decodePNG makes a picture of a PNG; what is transparent is shown on black.
func (s *buffers) decodePNG(b []byte) (picture, error) {
	head, err := s.png.Open(b)
	if err != nil {
		return picture{}, err
	}
	if head.W > maxPixels/head.H {
		return picture{}, tooLarge("png", head.W, head.H)
	}
	p := picture{head.W, head.H, grow(&s.decoded, 3*head.W*head.H)}
	return p, s.png.Decode(p.pix, png.Options{Black: true})
}

// decodeOther makes a picture of an image that is not a JPEG and no common PNG.
func (s *buffers) decodeOther(b []byte) (p picture, err error) {
	err = guard.Do(func() error {
		if what := notDecoded(b); what != "" {
			return shardify.Unsupported("%s; JPEG, PNG, GIF and WebP of one picture are decoded", what)
		}
		cfg, kind, err := image.DecodeConfig(bytes.NewReader(b))
		if err != nil {
			return shardify.Corrupt(-1, "no image that can be decoded: %v", err)
		}
		if cfg.Width <= 0 || cfg.Height <= 0 || cfg.Width > maxPixels/cfg.Height {
			return tooLarge(kind, cfg.Width, cfg.Height)
		}
		m, _, err := image.Decode(bytes.NewReader(b))
		if err != nil {
			return shardify.Corrupt(-1, "%s: %s", kind, strings.TrimPrefix(err.Error(), kind+": "))
		}
		p = s.picture(m)
		return nil
	})
	return p, err
}

// picture is the colours of an image; transparent parts are shown on black.
func (s *buffers) picture(m image.Image) picture {
	r := m.Bounds()
	p := picture{r.Dx(), r.Dy(), grow(&s.decoded, 3*r.Dx()*r.Dy())}
	switch m := m.(type) {
	case *image.YCbCr:
		fromYCbCr(p.pix, m)
	case *image.Gray:
		for y := range p.h {
			row := m.Pix[y*m.Stride : y*m.Stride+p.w]
			out := p.pix[3*y*p.w:]
			for x, v := range row {
				out[3*x], out[3*x+1], out[3*x+2] = v, v, v
			}
		}
	default:
		if s.rgba == nil || s.rgba.Bounds().Dx() < p.w || s.rgba.Bounds().Dy() < p.h {
			s.rgba = image.NewRGBA(image.Rect(0, 0, p.w, p.h))
		}
		area := image.Rect(0, 0, p.w, p.h)
		draw.Draw(s.rgba, area, m, r.Min, draw.Src)
		for y := range p.h {
			row, out := s.rgba.Pix[y*s.rgba.Stride:], p.pix[3*y*p.w:]
			for x := range p.w {
				copy(out[3*x:3*x+3], row[4*x:4*x+3])
			}
		}
	}
	return p
}

// fromYCbCr converts by JFIF's matrix, in 16-bit fixed point.
func fromYCbCr(dst []byte, m *image.YCbCr) {
	r := m.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		yi, ci := m.YOffset(r.Min.X, y), m.COffset(r.Min.X, y)
		step := 0 // chroma columns are shared by 1 << step pixels
		switch m.SubsampleRatio {
		case image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420:
			step = 1
		case image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410:
			step = 2
		}
		luma := m.Y[yi : yi+r.Dx()]
		cb, cr := m.Cb[ci:], m.Cr[ci:]
		phase := r.Min.X & (1<<step - 1)
		for x, v := range luma {
			k := (x + phase) >> step
			b, c := int32(cb[k])-128, int32(cr[k])-128
			l := int32(v)<<16 + 1<<15
			dst[0] = clamp((l + 91881*c) >> 16)
			dst[1] = clamp((l - 22554*b - 46802*c) >> 16)
			dst[2] = clamp((l + 116130*b) >> 16)
			dst = dst[3:]
		}
	}
}

func clamp(x int32) byte {
	if uint32(x) < 256 {
		return byte(x)
	}
	if x < 0 {
		return 0
	}
	return 255
}
