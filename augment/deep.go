package augment

import (
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/exif"
	"github.com/shardify/shardify/images/png"
	"github.com/shardify/shardify/internal/filekind"
)

// decoding is the settings of an operation for the files that it decodes.
type decoding struct {
	fill  bool   // JPEG files that end early are taken
	upper bool   // of 16 bits a channel the upper 8 are kept; else they are an error
	spec  string // of the operation, for errors
}

func newDecoding(a *args) (d decoding, err error) {
	if d.fill, err = a.other("truncated", "fill"); err == nil {
		d.upper, err = a.other("bits16", "upper")
	}
	d.spec = a.spec
	return d, err
}

// other says whether a setting is value; else it must be error.
func (a *args) other(name, value string) (bool, error) {
	v := a.text(name)
	if v != "error" && v != value {
		return false, fmt.Errorf("%s=%s: want error or %s", name, v, value)
	}
	return v == value, nil
}

// refused is the error for an image of 16 bits a channel where 8 are kept.
func (d *decoding) refused(grey bool) error {
	if grey {
		return shardify.Mismatch("a grey image of 16 bits a pixel, of which 8 would be lost: --augment '%s,bits16=upper' keeps the upper 8; --augment 'decode=u16' alone makes u16 pixels", d.spec)
	}
	return shardify.Mismatch("an image of 16 bits a channel, of which 8 would be lost: --augment '%s,bits16=upper' keeps the upper 8", d.spec)
}

// newDecode makes pixels and changes nothing.
func newDecode(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	switch a.text("") {
	case "u8":
	case "u16":
		m.deep = true
		if m.upper || m.fill {
			return nil, errors.New("bits16 and truncated are for decode=u8")
		}
	default:
		return nil, fmt.Errorf("%q: want u8 or u16", a.text(""))
	}
	m.do = func(p picture, _ *source, _ *buffers) (picture, error) { return p, nil }
	m.same = !m.deep
	return m, nil
}

// greys makes the picture of 16 bits a pixel of sample i.
func (m *images) greys(src *shardify.Column, i int, s *buffers) (picture, error) {
	lo, hi := src.Range(i, i+1)
	p, err := s.decodeDeep(src.Data[lo:hi])
	if exif.Orientation(src.Data[lo:hi]) != 1 {
		s.lost++
	}
	return p, err
}

// decodeDeep makes a picture of two bytes a pixel of a grey PNG of 16 bits.
func (s *buffers) decodeDeep(b []byte) (picture, error) {
	if deep, grey := png.Deep(b); !deep || !grey {
		s.upper = true
		if _, err := s.decode(b); err != nil {
			return picture{}, err // damaged, say
		}
		kind, bits := filekind.NameOf(b), "8 bits a channel"
		if deep {
			bits = "colours"
		}
		return picture{}, shardify.Mismatch("%s with %s; decode=u16 takes grey PNG images of 16 bits: --augment 'decode=u8,bits16=upper' makes pixels of 8 bits of all images", kind, bits)
	}
	head, err := s.png.Open(b)
	if err != nil {
		return picture{}, err
	}
	if head.W > maxPixels/head.H {
		return picture{}, tooLarge("png", head.W, head.H)
	}
	p := picture{head.W, head.H, grow(&s.decoded, 2*head.W*head.H)}
	return p, s.png.Decode(p.pix, png.Options{Deep: true})
}
