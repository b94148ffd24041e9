package augment

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/exif"
)

// newOrient turns the pixels of encoded images as their EXIF tag says.
func newOrient(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	m.orient = true
	m.do = func(p picture, _ *source, _ *buffers) (picture, error) { return p, nil }
	return m, nil
}

// turned is the picture of an encoded image, upright if the operation makes it so. Others
// count the images whose tag is lost.
func (m *images) turned(p picture, encoded []byte, s *buffers) picture {
	o := exif.Orientation(encoded)
	switch {
	case o == 1:
	case m.orient:
		return s.orient(p, o)
	default:
		s.lost++
	}
	return p
}

// orient turns or mirrors a picture as an EXIF orientation says.
func (s *buffers) orient(p picture, o int) picture {
	w, h := p.w, p.h
	if o >= 5 {
		w, h = h, w
	}
	out := picture{w, h, grow(&s.two, len(p.pix))}
	at := 0
	for y := range h {
		for x := range w {
			u, v := x, y // in p
			switch o {
			case 2:
				u, v = p.w-1-x, y
			case 3:
				u, v = p.w-1-x, p.h-1-y
			case 4:
				u, v = x, p.h-1-y
			case 5:
				u, v = y, x
			case 6:
				u, v = y, p.h-1-x
			case 7:
				u, v = p.w-1-y, p.h-1-x
			case 8:
				u, v = p.w-1-y, x
			}
			from := 3 * (v*p.w + u)
			copy(out.pix[at:at+3], p.pix[from:from+3])
			at += 3
		}
	}
	return out
}
