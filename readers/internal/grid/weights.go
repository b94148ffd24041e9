package grid

import (
	"math"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/numbers/elementary"
)

// north reports whether units are those of latitudes.
func north(units string) bool {
	switch strings.ToLower(strings.TrimSpace(units)) {
	case "degrees_north", "degree_north", "degrees_n", "degree_n", "degreesn", "degreen":
		return true
	}
	return false
}

// Weights are those of the rows of a map, by format.WeightCos and format.WeightArea; nil where the
// values are not latitudes that rise or fall all along.
func (c *Coord) Weights() map[string]format.Coord {
	v := c.numbers()
	if c.Texts != nil || c.Time || !north(c.Units) || len(v) < 2 || !c.monotone() {
		return nil
	}
	cos, area := make([]float64, len(v)), make([]float64, len(v))
	for i, lat := range v {
		if math.IsNaN(lat) || math.Abs(lat) > 90 {
			return nil
		}
		if math.Abs(lat) < 90 { // the pole has no width
			cos[i] = elementary.Cos(radians(lat))
		}
		area[i] = math.Abs(elementary.Sin(radians(edge(v, i))) - elementary.Sin(radians(edge(v, i+1))))
	}
	out := map[string]format.Coord{}
	for suffix, w := range map[string][]float64{format.WeightCos: cos, format.WeightArea: area} {
		k := format.Coord{DType: format.CoordF64, Floats: meanOne(w)}
		if k.Floats != nil && k.Check() == nil {
			out[suffix] = k
		}
	}
	return out
}

func radians(deg float64) float64 { return float64(deg * (math.Pi / 180)) }

// edge is where the cell of row i begins, between it and the one before, no farther than a pole.
func edge(v []float64, i int) float64 {
	e := 0.0
	switch {
	case i == 0:
		e = v[0] - float64((v[1]-v[0])/2)
	case i == len(v):
		e = v[i-1] + float64((v[i-1]-v[i-2])/2)
	default:
		e = (v[i-1] + v[i]) / 2
	}
	return min(max(e, -90), 90)
}

// meanOne divides weights by their mean; nil where that is 0.
func meanOne(w []float64) []float64 {
	sum := 0.0
	for _, x := range w {
		sum += x
	}
	if sum <= 0 {
		return nil
	}
	mean := sum / float64(len(w))
	for i := range w {
		w[i] /= mean
	}
	return w
}
