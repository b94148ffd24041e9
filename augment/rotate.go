package augment

import (
	"github.com/shardify/shardify/images/moves"
	"math"

	"github.com/shardify/shardify/numbers/elementary"
)

// other is the buffer that does not hold p.
func (s *buffers) other(p picture) *[]byte {
	if len(p.pix) > 0 && len(s.one) > 0 && &p.pix[0] == &s.one[0] {
		return &s.two
	}
	return &s.one
}

// rotate turns a picture about its centre by an angle (counter-clockwise), keeping its
// size; what comes in from outside is fill.
func (s *buffers) rotate(p picture, angle float64, fill byte) picture {
	out := picture{p.w, p.h, grow(s.other(p), len(p.pix))}
	sin, cos := elementary.Sincos(angle)
	for y := range p.h {
		for x := range p.w {
			u, v := moves.TurnedFrom(p.w, p.h, x, y, sin, cos)
			pixel(out.pix[3*(y*p.w+x):][:3], p, u, v, fill)
		}
	}
	s.moved = moves.Turned(p.w, p.h, sin, cos)
	return out
}

// pixel interpolates between four neighbours.
func pixel(dst []byte, p picture, u, v float64, fill byte) {
	fu, fv := math.Floor(u), math.Floor(v)
	x, y := int(fu), int(fv)
	a, b := int32(float64((u-fu)*256)+0.5), int32(float64((v-fv)*256)+0.5)
	at := func(x, y, c int) int32 {
		if x < 0 || y < 0 || x >= p.w || y >= p.h {
			return int32(fill)
		}
		return int32(p.pix[3*(y*p.w+x)+c])
	}
	for c := range 3 {
		top := at(x, y, c)*(256-a) + at(x+1, y, c)*a
		low := at(x, y+1, c)*(256-a) + at(x+1, y+1, c)*a
		dst[c] = byte((top*(256-b) + low*b + 1<<15) >> 16)
	}
}

// mirror swaps left and right, or top and bottom, in place.
func mirror(p picture, vertical bool) {
	if vertical {
		row := 3 * p.w
		for y := range p.h / 2 {
			a, b := p.pix[row*y:row*(y+1)], p.pix[row*(p.h-1-y):row*(p.h-y)]
			for i := range a {
				a[i], b[i] = b[i], a[i]
			}
		}
		return
	}
	for y := range p.h {
		row := p.pix[3*p.w*y : 3*p.w*(y+1)]
		for l, r := 0, len(row)-3; l < r; l, r = l+3, r-3 {
			row[l], row[r] = row[r], row[l]
			row[l+1], row[r+1] = row[r+1], row[l+1]
			row[l+2], row[r+2] = row[r+2], row[l+2]
		}
	}
}
