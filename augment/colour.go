package augment

import "math"

// jitter is the factors of one picture: 1, 1, 1 and 0 change nothing.
type jitter struct{ brightness, contrast, saturation, hue float64 }

// apply changes colours in place, in this order.
func (j *jitter) apply(p picture) {
	if j.brightness != 1 {
		blend(p.pix, j.brightness, func(int) float64 { return 0 })
	}
	if j.contrast != 1 {
		mean := 0.0
		for i := 0; i < len(p.pix); i += 3 {
			mean += grey(p.pix[i:])
		}
		mean /= float64(max(len(p.pix)/3, 1))
		blend(p.pix, j.contrast, func(int) float64 { return mean })
	}
	if j.saturation != 1 {
		blend(p.pix, j.saturation, func(i int) float64 { return grey(p.pix[i:]) })
	}
	if j.hue != 0 {
		for i := 0; i < len(p.pix); i += 3 {
			turnHue(p.pix[i:i+3], j.hue)
		}
	}
}

// grey is the luma of ITU-R 601.
func grey(p []byte) float64 {
	return float64((299*int32(p[0]) + 587*int32(p[1]) + 114*int32(p[2]))) / 1000
}

// blend moves values away from (factor > 1) or towards (factor < 1) a grey.
func blend(pix []byte, factor float64, to func(i int) float64) {
	for i := 0; i < len(pix); i += 3 {
		base := to(i)
		for c := range 3 {
			v := base + float64((float64(pix[i+c])-base)*factor)
			pix[i+c] = byte(min(max(math.Floor(v+0.5), 0), 255))
		}
	}
}

// turnHue moves the hue of a pixel by a part of the circle, keeping value and
// saturation.
func turnHue(p []byte, by float64) {
	r, g, b := float64(p[0]), float64(p[1]), float64(p[2])
	top, low := max(r, g, b), min(r, g, b)
	chroma := top - low
	if chroma == 0 {
		return
	}
	var h float64
	switch top {
	case r:
		h = math.Mod((g-b)/chroma+6, 6)
	case g:
		h = (b-r)/chroma + 2
	default:
		h = (r-g)/chroma + 4
	}
	h = math.Mod(h+float64(6*by)+12, 6)
	x := chroma * (1 - math.Abs(math.Mod(h, 2)-1))
	var c [3]float64
	switch int(h) {
	case 0:
		c = [3]float64{chroma, x, 0}
	case 1:
		c = [3]float64{x, chroma, 0}
	case 2:
		c = [3]float64{0, chroma, x}
	case 3:
		c = [3]float64{0, x, chroma}
	case 4:
		c = [3]float64{x, 0, chroma}
	default:
		c = [3]float64{chroma, 0, x}
	}
	for i := range 3 {
		p[i] = byte(min(max(math.Floor(c[i]+low+0.5), 0), 255))
	}
}
