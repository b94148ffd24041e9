package images

import (
	"errors"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/resize"
	"github.com/shardify/shardify/numbers/elementary"
)

// shaping is which part of an image is shown, and how large.
type shaping struct {
	Resize  [2]int `json:"resize"`  // width, height; 0: none
	Shorter bool   `json:"shorter"` // Resize[0] is what the shorter side becomes
	Crop    [2]int `json:"crop"`    // width, height; 0: none
	// Anywhere places the crop at random.
	Anywhere bool `json:"anywhere"`
	// Area is the least and the largest share of the area of a random part, whose ratio is 3:4 to 4:3,
	// and which becomes Crop; 0: none.
	Area [2]float64 `json:"area"`
	Flip float64    `json:"flip"` // the chance that an image is mirrored
}

const (
	golden    = 0x9e3779b97f4a7c15
	tries     = 10
	maxPixels = 178_956_970 // Pillow's
	// Purposes of the numbers: docs/design/loader.md, section 2.
	forCut, forAugment = 8, 9
)

// broad is log(4/3).
const broad = 0x1.269621134db92p-2

// chance is the random numbers of one sample.
type chance uint64

func chanceOf(seed, epoch, purpose, sample uint64) chance {
	h := shardify.Mix(seed + golden)
	for _, word := range [...]uint64{epoch, purpose, sample} {
		h = shardify.Mix(h ^ shardify.Mix(word+golden))
	}
	return chance(h)
}

// at is number k, in [0, 1).
func (c chance) at(k int) float64 {
	return float64(shardify.Mix(uint64(c)+uint64(k+1)*golden)>>11) * 0x1p-53
}

// below is number k as one of 0 to n-1.
func (c chance) below(k, n int) int { return int(float64(c.at(k) * float64(n))) }

// none reports whether images stay as they are.
func (s *shaping) none() bool { return s.Resize[0] == 0 && s.Crop[0] == 0 && s.Flip == 0 }

// size is that of every image, 0 if each image decides its own.
func (s *shaping) size() (w, h int) {
	if s.Crop[0] == 0 && s.Shorter {
		return 0, 0
	}
	if s.Crop[0] > 0 {
		return s.Crop[0], s.Crop[1]
	}
	return s.Resize[0], s.Resize[1]
}

// cut is what to do with one image: take a part of it, resize that, show w x h of it from (atX, atY) on.
type cut struct {
	x, y, partW, partH int
	toW, toH           int
	atX, atY           int
	w, h               int
	mirrored           bool
}

// errShape is an image that cannot be shaped as asked.
var errShape = errors.New("the size of the image does not fit the options")

func (s *shaping) cut(width, height int, u chance) (cut, error) {
	c := cut{partW: width, partH: height, toW: width, toH: height}
	switch {
	case s.Area[1] > 0:
		c.toW, c.toH = s.Crop[0], s.Crop[1]
		s.part(&c, width, height, u)
	case s.Resize[0] > 0 && s.Shorter:
		short := s.Resize[0]
		if width <= height {
			c.toW, c.toH = short, short*height/width
		} else {
			c.toW, c.toH = short*width/height, short
		}
	case s.Resize[0] > 0:
		c.toW, c.toH = s.Resize[0], s.Resize[1]
	}
	if c.toW*c.toH > maxPixels {
		return c, errShape
	}
	c.w, c.h = c.toW, c.toH
	if s.Crop[0] > 0 {
		c.w, c.h = s.Crop[0], s.Crop[1]
		spareX, spareY := c.toW-c.w, c.toH-c.h
		if spareX < 0 || spareY < 0 {
			return c, errShape
		}
		c.atX, c.atY = rounded(float64(spareX)/2), rounded(float64(spareY)/2)
		if s.Anywhere {
			c.atX, c.atY = u.below(1, spareX+1), u.below(2, spareY+1)
		}
	}
	c.mirrored = u.at(0) < s.Flip
	return c, nil
}

// part draws a part with a random share of the area and a random ratio, at a random place.
func (s *shaping) part(c *cut, width, height int, u chance) {
	low, high := s.Area[0], s.Area[1]
	for k := range tries {
		area := float64(width*height) * (low + float64(u.at(3+2*k)*(high-low)))
		ratio := elementary.Exp(broad * (float64(2*u.at(4+2*k)) - 1))
		w, h := rounded(math.Sqrt(area*ratio)), rounded(math.Sqrt(area/ratio))
		if 0 < w && w <= width && 0 < h && h <= height {
			c.x, c.y, c.partW, c.partH = u.below(1, width-w+1), u.below(2, height-h+1), w, h
			return
		}
	}
	most := 4.0 / 3 // no such part fits: the largest in the middle
	w, h := min(width, rounded(float64(height)*most)), min(height, rounded(float64(width)*most))
	c.x, c.y, c.partW, c.partH = (width-w)/2, (height-h)/2, w, h
}

func rounded(x float64) int { return int(math.RoundToEven(x)) }

// scale is the fraction 1, 2, 4 or 8 of a JPEG's size that is enough for what is shown.
func (c *cut) scale(width, height int) int {
	over := func(size, to, part int) int {
		least := int(math.Ceil(float64(size*to) / float64(part)))
		return size / max(least, 1)
	}
	most := min(over(width, c.toW, c.partW), over(height, c.toH, c.partH))
	for _, s := range [...]int{8, 4, 2} {
		if most >= s {
			return s
		}
	}
	return 1
}

// exact reports whether pixels are shown as they are.
func (c *cut) exact(by int) bool { return by == 1 && c.toW == c.partW && c.toH == c.partH }

// place is where these are.
func (c *cut) place() (x0, y0, x1, y1 int) {
	x0, y0 = c.x+c.atX, c.y+c.atY
	return x0, y0, x0 + c.w, y0 + c.h
}

// size is what is shown, in an image that is by times smaller and of size w x h.
func (c *cut) size(by, w, h int) resize.Size {
	dx, dy := float64(c.partW)/float64(c.toW), float64(c.partH)/float64(c.toH)
	left, top := float64(c.x)+float64(float64(c.atX)*dx), float64(c.y)+float64(float64(c.atY)*dy)
	right, bottom := left+float64(float64(c.w)*dx), top+float64(float64(c.h)*dy)
	n := float64(by)
	return resize.Size{
		W: c.w, H: c.h,
		Left: float32(left / n), Top: float32(top / n), Right: float32(min(right/n, float64(w))), Bottom: float32(min(bottom/n, float64(h))),
	}
}
