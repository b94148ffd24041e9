package augment

import (
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/exif"
	"github.com/shardify/shardify/images/moves"
)

// Chain is operations on images, one after the other, for a loader, which has single images.
type Chain struct {
	ops      []*images
	w, h     int
	same     bool
	followed bool
}

// Follow says that masks, boxes or points follow the images.
func (c *Chain) Follow() { c.followed = true }

// NewChain makes the operations of specs as --augment has them, without splits and fields.
func NewChain(specs []string) (*Chain, error) {
	c := &Chain{same: true}
	for i, text := range specs {
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		t, err := s.New(Env{})
		if err != nil {
			return nil, err
		}
		op, ok := t.(*images)
		switch {
		case !ok || s.Op.Effect != rawEffect:
			return nil, s.wrong("a loader does what makes pixels of images: %s", strings.Join(pixelOps(), ", "))
		case s.Splits != nil:
			return nil, s.wrong("a loader reads one split: leave out what is in front of the colon")
		case op.upper:
			return nil, s.wrong("a loader does not decode images of 16 bits: leave out bits16=upper")
		case op.glob != "*":
			return nil, s.wrong("decode= names the field")
		case op.orient && i > 0:
			return nil, s.wrong("orient comes before all others")
		}
		if c.ops = append(c.ops, op); !op.same {
			c.w, c.h, c.same = op.w, op.h, false
		}
	}
	return c, nil
}

// pixelOps are the names of the operations that a chain may have.
func pixelOps() []string {
	var out []string
	for i := range imageOps {
		if imageOps[i].Effect == rawEffect {
			out = append(out, imageOps[i].Name)
		}
	}
	return out
}

// Size is that of what a chain makes of w x h pixels, if it makes one size of all; of pixels of any size,
// w is 0.
func (c *Chain) Size(w, h int) (int, int) {
	if c.same {
		return w, h
	}
	return c.w, c.h
}

// Canvas is the memory of one goroutine, reused from image to image.
type Canvas struct {
	s     buffers
	moves []moves.Move // what the operations did to the last image
	turns [2][]byte    // masks on their way
}

// JPEG makes the pixels of a file, of which only what is shown is decoded. They are RGB, row by row, and good
// until the canvas is used again. What is random follows from the seed alone.
func (c *Chain) JPEG(k *Canvas, file []byte, seed uint64) (pix []byte, w, h int, err error) {
	s, ops := &k.s, c.ops
	s.decoding = decoding{}
	if len(ops) > 0 {
		s.decoding = ops[0].decoding
	}
	var p picture
	if len(ops) > 0 && ops[0].cut != nil {
		p, err = ops[0].cutJPEG(file, operation(seed, 0), s)
		k.Did(s.moved)
		return c.rest(p, err, 1, seed, k)
	}
	p, err = s.decode(file)
	s.moved = moves.Oriented(p.w, p.h, 1)
	if err == nil && len(ops) > 0 && ops[0].orient {
		if ops[0].asked == "" && c.followed && exif.Orientation(file) != 1 {
			return nil, 0, 0, errUndecided()
		}
		p = ops[0].turned(p, file, s)
		k.Did(s.moved)
		return c.rest(p, nil, 1, seed, k)
	}
	return c.rest(p, err, 0, seed, k)
}

// Pixels changes pixels, which it may overwrite.
func (c *Chain) Pixels(k *Canvas, pix []byte, w, h int, seed uint64) ([]byte, int, int, error) {
	return c.rest(picture{w, h, pix}, nil, 0, seed, k)
}

// rest makes the operations from one on.
func (c *Chain) rest(p picture, err error, from int, seed uint64, k *Canvas) ([]byte, int, int, error) {
	s := &k.s
	for i := from; i < len(c.ops) && err == nil; i++ {
		op, r := c.ops[i], operation(seed, i)
		s.moved = moves.Oriented(p.w, p.h, 1)
		if op.cut == nil {
			p, err = op.do(p, r, s)
		} else {
			var to cut
			if to, err = op.cut(p.w, p.h, r); err == nil {
				s.moved = moves.Cut(p.w, p.h, to.x, to.y, to.w, to.h, to.size.W, to.size.H)
				p, err = s.cut(p, to)
			}
		}
		if op.moving {
			k.Did(s.moved)
		}
	}
	if len(k.moves) == 0 {
		k.Did(moves.Oriented(p.w, p.h, 1)) // masks have the size of the image, whatever becomes of it
	}
	return p.pix, p.w, p.h, err
}

// operation is the numbers of operation i.
func operation(seed uint64, i int) *source {
	return &source{shardify.Mix(seed + uint64(i))}
}
