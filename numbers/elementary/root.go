package elementary

import "math"

// Hypot is the length of (x, y), without overflow or underflow on the way.
func Hypot(x, y float64) float64 {
	x, y = abs(x), abs(y)
	if x < y {
		x, y = y, x
	}
	// Now x is the larger one, if none is NaN.
	if !(x < 0x1p500 && y > 0x1p-450) {
		return hypotFar(x, y)
	}
	return hypot(x, y)
}

func hypot(x, y float64) float64 {
	a, b := head(x), head(y)
	s := float64(x*x) + float64(y*y)
	h := math.Sqrt(s)
	c := head(h)
	// What the square of h lacks. The heads' squares are exact, and so is what nearly
	// cancels.
	d := (float64(a*a) - float64(c*c)) + float64(b*b)
	d += float64((x-a)*(x+a)) - float64((h-c)*(h+c)) + float64((y-b)*(y+b))
	return h + float64(float64(d*(0.5/s))*h) // d/(2h), without waiting for h
}

func hypotFar(x, y float64) float64 {
	switch {
	case x == inf || y == inf:
		return inf
	case isNaN(x) || isNaN(y):
		return nan
	case y == 0 || float64(x*0x1p-60) >= y:
		return x + y
	case x >= 0x1p500:
		return hypot(x*0x1p-600, y*0x1p-600) * 0x1p600
	case x < 0x1p-380:
		return hypot(x*0x1p600, y*0x1p600) * 0x1p-600
	}
	return hypot(x, y)
}

// Cbrt is the cube root.
func Cbrt(x float64) float64 {
	a := abs(x)
	if x == 0 || !(a < inf) {
		return x
	}
	n := 0
	if a < 0x1p-1022 {
		a, n = a*0x1p54, -54
	}
	b := math.Float64bits(a)
	n += int(b>>52) - 1023
	z := math.Float64frombits(b&(1<<52-1) | 1023<<52) // in [1, 2)
	third := (n + 3*400) / 3
	left := n + 3*400 - 3*third
	third -= 400

	// A root of 17 bits: its cube is exact, and what it lacks is a short series.
	c, w := &cbrtPoly, float64(z*z)
	y := madd(z, c[1], c[0]) + float64(w*(madd(z, c[3], c[2])+float64(w*(madd(z, c[5], c[4])+float64(w*c[6])))))
	switch left {
	case 1:
		y, z = y*cbrt2, z*2
	case 2:
		y, z = y*cbrt4, z*4
	}
	y = math.Float64frombits((math.Float64bits(y) + 1<<35) &^ (1<<36 - 1))
	cube := float64(float64(y*y) * y)
	e := (z - cube) / cube
	e = float64(e * (1.0/3 - float64(e*(1.0/9-float64(e*(5.0/81-float64(e*(10.0/243))))))))
	return withSign(float64((y+float64(y*e))*power2(third)), x)
}
