package view

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
)

// Bounds of a picture of an array, and of what its range of values is found from.
const (
	mostSide    = 1024
	mostSampled = 1 << 16
)

// values reads single values of an array as float64.
type values struct {
	t        shardify.DType
	data     []byte // aligned to the type
	from, by int    // value 0, and the distance of values; by 0 is 1
	one      [1]float64
}

func (v *values) at(i int) float64 {
	size := v.t.Size()
	i = v.from + i*max(v.by, 1)
	numeric.Convert(shardify.Bytes(v.one[:]), shardify.F64, v.data[i*size:(i+1)*size], v.t)
	return v.one[0]
}

// whole is a value of integers and bools: two's complement, and exact.
func (v *values) whole(i int) uint64 {
	var one [1]int64
	size := v.t.Size()
	i = v.from + i*max(v.by, 1)
	numeric.Convert(shardify.Bytes(one[:]), shardify.I64, v.data[i*size:(i+1)*size], v.t)
	return uint64(one[0])
}

// text is a value for people; integers have all of their digits.
func (v *values) text(i int) string {
	switch {
	case v.t.IsFloat():
		return strconv.FormatFloat(v.at(i), 'g', 6, 64)
	case v.t == shardify.U64:
		return strconv.FormatUint(v.whole(i), 10)
	}
	return strconv.FormatInt(int64(v.whole(i)), 10)
}

// rank is a number that has the order of a value; false for what is no number.
func (v *values) rank(i int) (uint64, bool) {
	const sign = 1 << 63
	switch {
	case v.t == shardify.U64:
		return v.whole(i), true
	case !v.t.IsFloat():
		return v.whole(i) ^ sign, true
	}
	x := v.at(i) + 0 // -0 is 0
	bits := math.Float64bits(x)
	if bits&sign != 0 {
		return ^bits, !math.IsNaN(x)
	}
	return bits | sign, !math.IsNaN(x)
}

func (v *values) len() int { return len(v.data) / v.t.Size() }

// span is the range that a picture shows: all values but for one in a hundred at either end.
func (v *values) span() (lo, hi float64) {
	step := max(v.len()/mostSampled, 1)
	var some []float64
	for i := 0; i < v.len(); i += step {
		if x := v.at(i); !math.IsNaN(x) && !math.IsInf(x, 0) {
			some = append(some, x)
		}
	}
	if len(some) == 0 {
		return 0, 0
	}
	slices.Sort(some)
	return some[len(some)/100], some[len(some)-1-len(some)/100]
}

// draw makes a PNG of the slice of an array at some places of the axes with a slider.
func draw(v *values, fr *frame, at []int) ([]byte, error) {
	from, dy, dx, dc := fr.offset(at)
	rows, columns := fr.shape[fr.y], fr.shape[fr.x]
	thin := max((rows+mostSide-1)/mostSide, (columns+mostSide-1)/mostSide)
	h, w := (rows+thin-1)/thin, (columns+thin-1)/thin
	im := image.NewNRGBA(image.Rect(0, 0, w, h))
	lo, hi := 0.0, 255.0
	if v.t != shardify.U8 {
		lo, hi = v.span()
	}
	for y := range h {
		row := y
		if fr.down {
			row = h - 1 - y
		}
		for x := range w {
			i := from + row*thin*dy + x*thin*dx
			c := color.NRGBA{A: 255}
			switch {
			case fr.c >= 0:
				c.R, c.G, c.B = byte(v.at(i)), byte(v.at(i+dc)), byte(v.at(i+2*dc))
				if fr.shape[fr.c] == 4 {
					c.A = byte(v.at(i + 3*dc))
				}
			case fr.grid != nil:
				c = heat(share(v.at(i), lo, hi))
			default:
				g := share(v.at(i), lo, hi)
				if math.IsNaN(g) {
					c.A = 0
					g = 0
				}
				c.R = byte(float64(255*g) + 0.5)
				c.G, c.B = c.R, c.R
			}
			im.SetNRGBA(x, y, c)
		}
	}
	var out bytes.Buffer
	err := png.Encode(&out, im)
	return out.Bytes(), err
}

// share is where a value is between two others, from 0 to 1; NaN for one that is no number.
func share(x, lo, hi float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	if hi <= lo {
		return 0.5
	}
	return max(0, min((x-lo)/(hi-lo), 1))
}

// heats are colours of maps, from low to high: readable in grey, and to people who see few colours (viridis).
var heats = [...][3]float64{{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}

// heat is a colour of a map; clear where there is no value.
func heat(s float64) color.NRGBA {
	if math.IsNaN(s) {
		return color.NRGBA{}
	}
	p := float64(s * float64(len(heats)-1))
	i := min(int(p), len(heats)-2)
	mix := func(k int) byte { return byte(heats[i][k] + float64((p-float64(i))*(heats[i+1][k]-heats[i][k])) + 0.5) }
	return color.NRGBA{mix(0), mix(1), mix(2), 255}
}
