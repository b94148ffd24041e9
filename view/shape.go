package view

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// leastSide is the shortest side of what is a picture and not a table of numbers.
const leastSide = 8

// frame is which axes of an array are a picture.
type frame struct {
	shape   []int
	y, x, c int   // axes; c is that of red, green, blue and perhaps opacity, -1 without
	steps   []int // the other axes that are longer than 1, each with a slider
	down    bool  // row 0 is at the bottom
	grid    *grid
}

// grid is the coordinates at the sides of a map.
type grid struct {
	Lat [2]float64 `json:"lat"` // at the bottom and at the top
	Lon [2]float64 `json:"lon"`
}

// frameOf finds the picture in an array; nil if it has no picture.
func frameOf(f *shardify.Field, shape []int, coords map[string]format.Coord) *frame {
	var long []int
	for i, n := range shape {
		if n > 1 {
			long = append(long, i)
		}
	}
	if len(long) < 2 {
		return nil
	}
	fr := &frame{shape: shape, c: -1, y: long[len(long)-2], x: long[len(long)-1]}
	colour := func(axis int) bool { return f.DType == shardify.U8 && (shape[axis] == 3 || shape[axis] == 4) }
	if n := len(long); n >= 3 && colour(long[n-1]) {
		fr.y, fr.x, fr.c = long[n-3], long[n-2], long[n-1]
	} else if n >= 3 && colour(long[n-3]) && len(f.Attrs["image"]) > 0 {
		fr.c = long[n-3]
	} else if n == 3 && colour(long[0]) {
		fr.c = long[0]
	}
	if fr.c < 0 && shape[fr.x] < leastSide && len(long) > 2 { // volumes of few columns
		fr.y, fr.x = long[len(long)-3], long[len(long)-2]
	}
	fr.onMap(f, coords)
	if shape[fr.y] < leastSide || shape[fr.x] < leastSide {
		return nil
	}
	for _, a := range long {
		if a != fr.y && a != fr.x && a != fr.c {
			fr.steps = append(fr.steps, a)
		}
	}
	return fr
}

// onMap turns arrays with latitudes and longitudes so that north is up and east on the right.
func (fr *frame) onMap(f *shardify.Field, coords map[string]format.Coord) {
	dims := f.Dims()
	if len(dims) != len(fr.shape) {
		return
	}
	lat, lon := -1, -1
	var g grid
	for i, name := range dims {
		c, ok := coords[format.CoordOf(f.Name, name)]
		if !ok {
			c, ok = coords[name]
		}
		if !ok || c.Len() != fr.shape[i] || c.Len() < 2 || len(c.Floats) == 0 {
			continue
		}
		v := c.Floats
		switch kind := strings.ToLower(name); {
		case strings.HasPrefix(c.Attrs["unit"], "degrees_n") || strings.HasPrefix(kind, "lat"):
			lat, g.Lat = i, [2]float64{min(v[0], v[len(v)-1]), max(v[0], v[len(v)-1])}
			fr.down = v[0] < v[len(v)-1]
		case strings.HasPrefix(c.Attrs["unit"], "degrees_e") || strings.HasPrefix(kind, "lon"):
			lon, g.Lon = i, [2]float64{v[0], v[len(v)-1]}
		}
	}
	if lat >= 0 && lon >= 0 {
		fr.y, fr.x, fr.c, fr.grid = lat, lon, -1, &g
	} else {
		fr.down = false
	}
}

// depths are the lengths of the axes with a slider.
func (fr *frame) depths() []int {
	out := make([]int, len(fr.steps))
	for i, a := range fr.steps {
		out[i] = fr.shape[a]
	}
	return out
}

// offset is the first value of a slice, and the distances of values along y, x and c.
func (fr *frame) offset(at []int) (from, dy, dx, dc int) {
	step := 1
	for i, n := range slices.Backward(fr.shape) {
		switch i {
		case fr.y:
			dy = step
		case fr.x:
			dx = step
		case fr.c:
			dc = step
		default:
			if k := slices.Index(fr.steps, i); k >= 0 {
				from += at[k] * step
			}
		}
		step *= n
	}
	return from, dy, dx, dc
}
