package augment

import (
	"math"

	"github.com/shardify/shardify"
)

// move is what an operation did to the places of one image: masks, boxes and points follow it. Places
// are measured from the upper left corner, so that the middle of the first pixel is (0.5, 0.5).
type move struct {
	w, h, newW, newH int
	how              turning
	cut              cut     // of cutting
	orient           int     // of turning by quarters, as EXIF numbers them
	sin, cos         float64 // of turning by any angle
	// A place (x, y) becomes (a(x-ox) + b(y-oy) + c, d(x-ox) + e(y-oy) + f).
	ox, oy, a, b, c, d, e, f float64
}

type turning byte

const (
	quarters turning = iota
	cutting
	anyAngle
)

// oriented is the move of an EXIF orientation: 1 changes nothing, 2 swaps left and right, 4 top and bottom.
func oriented(w, h, o int) move {
	m := move{w: w, h: h, newW: w, newH: h, orient: o}
	x, y := float64(w), float64(h)
	switch o {
	case 2:
		m.a, m.c, m.e = -1, x, 1
	case 3:
		m.a, m.c, m.e, m.f = -1, x, -1, y
	case 4:
		m.a, m.e, m.f = 1, -1, y
	case 5:
		m.b, m.d = 1, 1
	case 6:
		m.b, m.c, m.d = -1, y, 1
	case 7:
		m.b, m.c, m.d, m.f = -1, y, -1, x
	case 8:
		m.b, m.d, m.f = 1, -1, x
	default:
		m.a, m.e = 1, 1
	}
	if o >= 5 {
		m.newW, m.newH = h, w
	}
	return m
}

func cutOut(w, h int, c cut) move {
	return move{w: w, h: h, newW: c.size.W, newH: c.size.H, how: cutting, cut: c, ox: float64(c.x), oy: float64(c.y),
		a: float64(c.size.W) / float64(max(c.w, 1)), e: float64(c.size.H) / float64(max(c.h, 1))}
}

func turnedBy(w, h int, sin, cos float64) move {
	x, y := float64(w)/2, float64(h)/2
	return move{w: w, h: h, newW: w, newH: h, how: anyAngle, sin: sin, cos: cos, ox: x, oy: y, a: cos, b: sin, c: x, d: -sin, e: cos, f: y}
}

// place is where (x, y) comes to lie.
func (m *move) place(x, y float64) (float64, float64) {
	x, y = x-m.ox, y-m.oy
	return float64(m.a*x) + float64(m.b*y) + m.c, float64(m.d*x) + float64(m.e*y) + m.f
}

// nearest is the column of the mask that column x of what comes out shows; rows likewise.
func nearest(x, from, part, size int) int {
	return from + int((2*int64(x)+1)*int64(part)/(2*int64(size)))
}

// mask makes the mask that follows the image: each pixel is that of src which is nearest, or fill.
func (m *move) mask(dst, src []byte, size int, fill uint64) {
	at := 0
	put := func(u, v int) {
		to := dst[at : at+size]
		if at += size; u < 0 || v < 0 || u >= m.w || v >= m.h {
			for i := range to {
				to[i] = byte(fill >> (8 * i))
			}
			return
		}
		copy(to, src[(v*m.w+u)*size:][:size])
	}
	for y := range m.newH {
		switch m.how {
		case quarters:
			for x := range m.newW {
				put(unturned(m.orient, m.w, m.h, x, y))
			}
		case cutting:
			v := nearest(y, m.cut.y, m.cut.h, m.newH)
			for x := range m.newW {
				put(nearest(x, m.cut.x, m.cut.w, m.newW), v)
			}
		case anyAngle:
			for x := range m.newW {
				u, v := turnedFrom(m.w, m.h, x, y, m.sin, m.cos)
				put(int(math.Floor(u+0.5)), int(math.Floor(v+0.5)))
			}
		}
	}
}

// Forms of boxes, as the attribute of the field names them.
var boxForms = []string{"xyxy", "xywh", "cxcywh", "cxcywhn"}

// box moves a box of a form. What leaves the image is cut off, and seen is the share of the area that
// stays. Of a turned box it is the smallest upright box around it.
func (m *move) box(v [4]float64, form string) (out [4]float64, seen float64, err error) {
	x, y := 1.0, 1.0
	if form == "cxcywhn" {
		x, y = float64(m.w), float64(m.h)
	}
	x0, y0, x1, y1 := float64(v[0]*x), float64(v[1]*y), float64(v[2]*x), float64(v[3]*y)
	switch form {
	case "xywh":
		x1, y1 = x0+x1, y0+y1
	case "cxcywh", "cxcywhn":
		x1, y1 = float64(x1/2), float64(y1/2)
		x0, y0, x1, y1 = x0-x1, y0-y1, x0+x1, y0+y1
	}
	if !(x1 >= x0 && y1 >= y0) || x1-x0+(y1-y0) > math.MaxFloat32 {
		return out, 0, shardify.Corrupt(-1, "box %v (%s) has no width and height", v, form)
	}
	left, top, right, low := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range [4][2]float64{{x0, y0}, {x1, y0}, {x0, y1}, {x1, y1}} {
		a, b := m.place(p[0], p[1])
		left, top, right, low = min(left, a), min(top, b), max(right, a), max(low, b)
	}
	w, h := float64(m.newW), float64(m.newH)
	area := float64((right - left) * (low - top))
	inside := right >= 0 && left <= w && low >= 0 && top <= h
	left, top, right, low = min(max(left, 0), w), min(max(top, 0), h), min(max(right, 0), w), min(max(low, 0), h)
	switch {
	case area > 0:
		seen = float64((right-left)*(low-top)) / area
	case inside:
		seen = 1
	}
	switch out = [4]float64{left, top, right, low}; form {
	case "xywh":
		out = [4]float64{left, top, right - left, low - top}
	case "cxcywh":
		out = [4]float64{(left + right) / 2, (top + low) / 2, right - left, low - top}
	case "cxcywhn":
		out = [4]float64{(left + right) / 2 / w, (top + low) / 2 / h, (right - left) / w, (low - top) / h}
	}
	return out, seen, nil
}
