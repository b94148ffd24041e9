package images

import "math"

const precision = 32 - 8 - 2 // bits behind the point of weights

// axis is the weights of one axis: output k is made of taps inputs from lo[k] on.
type axis struct {
	taps    int
	lo      []int32
	weights []int32
	one     []float64
}

// set computes the weights that bring the part [from, to) of in pixels to out pixels, as Pillow's
// bilinear filter does: its borders are float32. When it shrinks, the filter is as wide as what one
// pixel stands for.
func (k *axis) set(in, out int, from, to float32) {
	scale := float64(to-from) / float64(out)
	wide := max(scale, 1)
	k.taps = min(int(math.Ceil(wide))*2+1, in)
	k.lo = sized(k.lo, out)
	k.weights = sized(k.weights, out*k.taps)
	k.one = sized(k.one, k.taps)
	clear(k.weights)
	inverse := 1 / wide
	for o := range out {
		centre := float64(from) + float64((float64(o)+0.5)*scale)
		lo, hi := max(int(centre-wide+0.5), 0), min(int(centre+wide+0.5), in)
		sum := 0.0
		for i := lo; i < hi; i++ {
			w := max(1-math.Abs((float64(i)-centre+0.5)*inverse), 0)
			k.one[i-lo] = w
			sum += w
		}
		first := max(min(lo, in-k.taps), 0) // all have the same number of taps
		row := k.weights[o*k.taps+lo-first:]
		for i := lo; i < hi && sum != 0; i++ {
			row[i-lo] = int32(0.5 + float64(k.one[i-lo]/sum*(1<<precision)))
		}
		k.lo[o] = int32(first)
	}
}

// span is the inputs that any output is made of.
func (k *axis) span() (first, end int) {
	return int(k.lo[0]), int(k.lo[len(k.lo)-1]) + k.taps
}

func sized[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}

// alongRow resizes a row of pixels, of which src has those from number from on.
func alongRow(dst, src []byte, k *axis, from, channels int) {
	for o := range k.lo {
		weights := k.weights[o*k.taps : (o+1)*k.taps]
		in := src[(int(k.lo[o])-from)*channels:]
		if channels == 1 {
			v := int32(1 << (precision - 1))
			for i, w := range weights {
				v += w * int32(in[i])
			}
			dst[o] = clamp(v)
			continue
		}
		r, g, b := int32(1<<(precision-1)), int32(1<<(precision-1)), int32(1<<(precision-1))
		in = in[:3*len(weights)]
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
		out[0], out[1], out[2] = clamp(r), clamp(g), clamp(b)
	}
}

// alongColumns makes a row of several.
func alongColumns(dst, rows []byte, weights []int32) {
	const half = 1 << (precision - 1)
	x, stride := 0, len(dst)
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
		out[0], out[1], out[2], out[3] = clamp(a), clamp(b), clamp(c), clamp(d)
		out[4], out[5], out[6], out[7] = clamp(e), clamp(f), clamp(g), clamp(h)
	}
	for ; x < len(dst); x++ {
		v := int32(half)
		at := x
		for _, w := range weights {
			v += w * int32(rows[at])
			at += stride
		}
		dst[x] = clamp(v)
	}
}

func clamp(x int32) byte { return byte(max(0, min(255, x>>precision))) }
