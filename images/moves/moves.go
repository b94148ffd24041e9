// Package moves is what operations do to the places of images: masks of class numbers, boxes and points follow it.
package moves

import (
	"math"

	"github.com/shardify/shardify"
)

// Move is what an operation did to the places of one image: masks, boxes and points follow it. Places
// are measured from the upper left corner, so that the middle of the first pixel is (0.5, 0.5).
type Move struct {
	W, H, NewW, NewH int
	how              turning
	x, y, cutW, cutH int     // the part, of cutting
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

// Oriented is the move of an EXIF orientation: 1 changes nothing, 2 swaps left and right, 4 top and bottom.
func Oriented(w, h, o int) Move {
	m := Move{W: w, H: h, NewW: w, NewH: h, orient: o}
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
		m.NewW, m.NewH = h, w
	}
	return m
}

// Cut is what makes toW x toH pixels of the part of partW x partH pixels at (x, y).
func Cut(w, h, x, y, partW, partH, toW, toH int) Move {
	return Move{W: w, H: h, NewW: toW, NewH: toH, how: cutting, x: x, y: y, cutW: partW, cutH: partH, ox: float64(x), oy: float64(y),
		a: float64(toW) / float64(max(partW, 1)), e: float64(toH) / float64(max(partH, 1))}
}

// Turned is a turn about the centre.
func Turned(w, h int, sin, cos float64) Move {
	x, y := float64(w)/2, float64(h)/2
	return Move{W: w, H: h, NewW: w, NewH: h, how: anyAngle, sin: sin, cos: cos, ox: x, oy: y, a: cos, b: sin, c: x, d: -sin, e: cos, f: y}
}

// Place is where (x, y) comes to lie.
func (m *Move) Place(x, y float64) (float64, float64) {
	x, y = x-m.ox, y-m.oy
	return float64(m.a*x) + float64(m.b*y) + m.c, float64(m.d*x) + float64(m.e*y) + m.f
}

// nearest is the column of the mask that column x of what comes out shows; rows likewise.
func nearest(x, from, part, size int) int {
	return from + int((2*int64(x)+1)*int64(part)/(2*int64(size)))
}

// Mask makes the mask that follows the image: each pixel is that of src which is nearest, or fill.
func (m *Move) Mask(dst, src []byte, size int, fill uint64) {
	at := 0
	put := func(u, v int) {
		to := dst[at : at+size]
		if at += size; u < 0 || v < 0 || u >= m.W || v >= m.H {
			for i := range to {
				to[i] = byte(fill >> (8 * i))
			}
			return
		}
		copy(to, src[(v*m.W+u)*size:][:size])
	}
	for y := range m.NewH {
		switch m.how {
		case quarters:
			for x := range m.NewW {
				put(Unturned(m.orient, m.W, m.H, x, y))
			}
		case cutting:
			v := nearest(y, m.y, m.cutH, m.NewH)
			for x := range m.NewW {
				put(nearest(x, m.x, m.cutW, m.NewW), v)
			}
		case anyAngle:
			for x := range m.NewW {
				u, v := TurnedFrom(m.W, m.H, x, y, m.sin, m.cos)
				put(int(math.Floor(u+0.5)), int(math.Floor(v+0.5)))
			}
		}
	}
}

// Forms are those of boxes, as the attribute of the field names them.
var Forms = []string{"xyxy", "xywh", "cxcywh", "cxcywhn"}

// Box moves a box of a form. What leaves the image is cut off, and seen is the share of the area that
// stays. Of a turned box it is the smallest upright box around it.
func (m *Move) Box(v [4]float64, form string) (out [4]float64, seen float64, err error) {
	x, y := 1.0, 1.0
	if form == "cxcywhn" {
		x, y = float64(m.W), float64(m.H)
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
		a, b := m.Place(p[0], p[1])
		left, top, right, low = min(left, a), min(top, b), max(right, a), max(low, b)
	}
	w, h := float64(m.NewW), float64(m.NewH)
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

// Unturned is the pixel of an image of w x h pixels that an orientation brings to (x, y).
func Unturned(o, w, h, x, y int) (u, v int) {
	switch o {
	case 2:
		return w - 1 - x, y
	case 3:
		return w - 1 - x, h - 1 - y
	case 4:
		return x, h - 1 - y
	case 5:
		return y, x
	case 6:
		return y, h - 1 - x
	case 7:
		return w - 1 - y, h - 1 - x
	case 8:
		return w - 1 - y, x
	}
	return x, y
}

// TurnedFrom is the place, counted in pixels, that comes to pixel (x, y).
func TurnedFrom(w, h, x, y int, sin, cos float64) (u, v float64) {
	cx, cy := float64(float64(w)/2), float64(float64(h)/2)
	dx, dy := float64(x)+0.5-cx, float64(y)+0.5-cy
	return float64(dx*cos) - float64(dy*sin) + cx - 0.5, float64(dx*sin) + float64(dy*cos) + cy - 0.5
}

// Numbers is how many numbers a move is written as.
const Numbers = 20

func (m *Move) ints() [9]*int {
	return [...]*int{&m.W, &m.H, &m.NewW, &m.NewH, &m.x, &m.y, &m.cutW, &m.cutH, &m.orient}
}

func (m *Move) floats() [10]*float64 {
	return [...]*float64{&m.sin, &m.cos, &m.ox, &m.oy, &m.a, &m.b, &m.c, &m.d, &m.e, &m.f}
}

// Of is the move that was written to x.
func Of(x []float64) (m Move) {
	m.how = turning(x[0])
	for k, p := range m.ints() {
		*p = int(x[1+k])
	}
	for k, p := range m.floats() {
		*p = x[10+k]
	}
	return m
}

// Write writes a move as numbers.
func (m *Move) Write(x []float64) {
	x[0] = float64(m.how)
	for k, p := range m.ints() {
		x[1+k] = float64(*p)
	}
	for k, p := range m.floats() {
		x[10+k] = *p
	}
}
