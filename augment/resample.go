package augment

import (
	"math"

	"github.com/shardify/shardify/internal/elementary"
)

// filter is a kernel of resampling: its half width at scale 1, and its weight at x.
type filter struct {
	support float64
	at      func(x float64) float64
}

var filters = map[string]filter{
	"box": {0.5, func(x float64) float64 {
		if x > -0.5 && x <= 0.5 {
			return 1
		}
		return 0
	}},
	"bilinear": {1, func(x float64) float64 { return max(0, 1-math.Abs(x)) }},
	"bicubic": {2, func(x float64) float64 {
		const a = -0.5
		switch x = math.Abs(x); {
		case x < 1:
			return float64((float64((a+2)*x)-(a+3))*x*x) + 1
		case x < 2:
			return (float64((float64((x-5)*x)+8)*x) - 4) * a
		}
		return 0
	}},
	"lanczos": {3, func(x float64) float64 {
		if x <= -3 || x >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}},
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return elementary.Sin(math.Pi*x) / (math.Pi * x)
}

const precision = 32 - 8 - 2 // bits behind the point of weights

// kernel is the weights of one axis: output k is made of taps inputs from lo[k] on.
type kernel struct {
	in, out  int
	from, to float64
	name     string
	taps     int
	lo       []int32
	weights  []int32
}

// set computes the weights that bring the part [from, to) of in pixels to out pixels.
// When it shrinks, the kernel is as wide as what one pixel stands for, so that nothing
// aliases.
func (k *kernel) set(in, out int, from, to float64, name string) {
	if k.in == in && k.out == out && k.from == from && k.to == to && k.name == name {
		return
	}
	f := filters[name]
	scale := (to - from) / float64(out)
	wide := max(scale, 1)
	support := float64(f.support * wide)
	k.in, k.out, k.from, k.to, k.name = in, out, from, to, name
	k.taps = int(math.Ceil(support))*2 + 1
	k.lo = make([]int32, out)
	k.weights = make([]int32, out*k.taps)
	one := make([]float64, k.taps)
	for o := range out {
		centre := from + float64((float64(o)+0.5)*scale)
		lo := max(int(centre-support+0.5), 0)
		hi := min(int(centre+support+0.5), in)
		sum := 0.0
		for i := lo; i < hi; i++ {
			w := f.at((float64(i) - centre + 0.5) / wide)
			one[i-lo] = w
			sum += w
		}
		row := k.weights[o*k.taps : (o+1)*k.taps]
		for i := lo; i < hi && sum != 0; i++ {
			row[i-lo] = int32(math.Copysign(0.5, one[i-lo]/sum) + float64(one[i-lo]/sum*(1<<precision)))
		}
		// All rows have the same number of taps; the last ones must not leave the input.
		if over := lo + k.taps - in; over > 0 && lo > 0 {
			by := min(over, lo)
			copy(row[by:], row[:k.taps-by])
			clear(row[:by])
			lo -= by
		}
		k.lo[o] = int32(lo)
	}
}

// resize brings the part [x0, x1) x [y0, y1) of a picture to w x h: first along rows,
// then along columns, rounding to bytes in between.
func (s *buffers) resize(p picture, x0, y0, x1, y1 float64, w, h int, name string) picture {
	across, down := &s.coefs[0], &s.coefs[1]
	across.set(p.w, w, x0, x1, name)
	down.set(p.h, h, y0, y1, name)
	// Only the rows that the second pass looks at.
	first, last := int(down.lo[0]), min(int(down.lo[h-1])+down.taps, p.h)
	rows := grow(&s.rows, 3*w*(last-first))
	for y := first; y < last; y++ {
		alongRow(rows[3*w*(y-first):3*w*(y-first+1)], p.pix[3*p.w*y:3*p.w*(y+1)], across)
	}
	out := picture{w, h, grow(s.other(p), 3*w*h)}
	for y := range h {
		lo := int(down.lo[y])
		taps := min(down.taps, p.h-lo)
		alongColumns(out.pix[3*w*y:3*w*(y+1)], rows[3*w*(lo-first):], 3*w, down.weights[y*down.taps:y*down.taps+taps])
	}
	return out
}

// other is the buffer that does not hold p.
func (s *buffers) other(p picture) *[]byte {
	if len(p.pix) > 0 && len(s.one) > 0 && &p.pix[0] == &s.one[0] {
		return &s.two
	}
	return &s.one
}

func alongRow(dst, src []byte, k *kernel) {
	n := len(src) / 3
	for o := range k.out {
		lo := int(k.lo[o])
		weights := k.weights[o*k.taps : o*k.taps+min(k.taps, n-lo)]
		in := src[3*lo : 3*lo+3*len(weights)]
		r, g, b := int32(1<<(precision-1)), int32(1<<(precision-1)), int32(1<<(precision-1))
		for _, w := range weights {
			if len(in) < 3 {
				break
			}
			r += w * int32(in[0])
			g += w * int32(in[1])
			b += w * int32(in[2])
			in = in[3:]
		}
		out := dst[3*o : 3*o+3 : 3*o+3]
		out[0], out[1], out[2] = clamp(r>>precision), clamp(g>>precision), clamp(b>>precision)
	}
}

// alongColumns makes eight values at a time: the weights are looked at once for all.
func alongColumns(dst, rows []byte, stride int, weights []int32) {
	const half = 1 << (precision - 1)
	x := 0
	for ; x+8 <= len(dst); x += 8 {
		var a, b, c, d, e, f, g, h int32 = half, half, half, half, half, half, half, half
		at := x
		for _, w := range weights {
			p := rows[at : at+8 : at+8]
			a += w * int32(p[0])
			b += w * int32(p[1])
			c += w * int32(p[2])
			d += w * int32(p[3])
			e += w * int32(p[4])
			f += w * int32(p[5])
			g += w * int32(p[6])
			h += w * int32(p[7])
			at += stride
		}
		out := dst[x : x+8 : x+8]
		out[0], out[1], out[2], out[3] = clamp(a>>precision), clamp(b>>precision), clamp(c>>precision), clamp(d>>precision)
		out[4], out[5], out[6], out[7] = clamp(e>>precision), clamp(f>>precision), clamp(g>>precision), clamp(h>>precision)
	}
	for ; x < len(dst); x++ {
		v := int32(half)
		at := x
		for _, w := range weights {
			v += w * int32(rows[at])
			at += stride
		}
		dst[x] = clamp(v >> precision)
	}
}

// crop is a part of a picture.
func (s *buffers) crop(p picture, x, y, w, h int) picture {
	out := picture{w, h, grow(s.other(p), 3*w*h)}
	for k := range h {
		copy(out.pix[3*w*k:3*w*(k+1)], p.pix[3*(p.w*(y+k)+x):])
	}
	return out
}

// rotate turns a picture about its centre by an angle (counter-clockwise), keeping its
// size; what comes in from outside is fill.
func (s *buffers) rotate(p picture, angle float64, fill byte) picture {
	out := picture{p.w, p.h, grow(s.other(p), len(p.pix))}
	sin, cos := elementary.Sincos(angle)
	cx, cy := float64(float64(p.w)/2), float64(float64(p.h)/2)
	for y := range p.h {
		for x := range p.w {
			dx, dy := float64(x)+0.5-cx, float64(y)+0.5-cy
			u, v := float64(dx*cos)-float64(dy*sin)+cx-0.5, float64(dx*sin)+float64(dy*cos)+cy-0.5
			pixel(out.pix[3*(y*p.w+x):][:3], p, u, v, fill)
		}
	}
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
