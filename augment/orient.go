package augment

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/exif"
	"github.com/shardify/shardify/images/moves"
)

// newOrient turns the pixels of encoded images as their EXIF tag says.
func newOrient(a *args, env Env) (shardify.Transform, error) {
	m, err := newImages(a, env)
	if err != nil {
		return nil, err
	}
	m.orient, m.moving = true, true
	switch m.asked = a.text("targets"); m.asked {
	case "", "turn":
	case "keep":
		m.upright = true
	default:
		return nil, fmt.Errorf("targets=%s: want turn or keep", m.asked)
	}
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
		q := s.orient(p, o)
		if s.moved = moves.Oriented(p.w, p.h, o); m.upright {
			s.moved = moves.Oriented(q.w, q.h, 1)
		}
		return q
	default:
		s.lost++
	}
	return p
}

// undecided is the error for targets of an image that is turned, where no setting says for which pixels they were made.
func (m *images) undecided(encoded []byte) error {
	if !m.orient || len(m.targets) == 0 || m.asked != "" || exif.Orientation(encoded) == 1 {
		return nil
	}
	return errUndecided()
}

func errUndecided() error {
	return shardify.Mismatch("the image is stored turned: were masks, boxes and points made for its pixels as stored (--augment 'orient,targets=turn') or for the upright image (--augment 'orient,targets=keep')?")
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
			u, v := moves.Unturned(o, p.w, p.h, x, y)
			from := 3 * (v*p.w + u)
			copy(out.pix[at:at+3], p.pix[from:from+3])
			at += 3
		}
	}
	return out
}
