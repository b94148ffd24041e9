package index

import (
	"slices"
	"testing"

	"github.com/shardify/shardify/format"
)

// TestJoinedCoordinates: latitudes of f32 and of f64 are of one grid, with the weights of the first
// set; each pair of sets is compared, and what only some have is named.
func TestJoinedCoordinates(t *testing.T) {
	set := func(d string, first float64) *Manifest {
		floats := func(v ...float64) format.Coord { return format.Coord{DType: d, Floats: v} }
		return &Manifest{Coords: map[string]format.Coord{"lat": floats(first, 1, 2), "lat" + format.WeightCos: floats(first, 1.5, 0.5)}}
	}
	join := func(sets ...*Manifest) (map[string]format.Coord, []string, error) {
		var j JoinedCoords
		for _, m := range sets {
			if err := j.Add(m); err != nil {
				return nil, nil, err
			}
		}
		all, lost := j.Of()
		return all, lost, nil
	}
	single, double, other, none := set(format.CoordF32, float64(float32(0.1))), set(format.CoordF64, 0.1), set(format.CoordF64, 0.2), &Manifest{}
	// The cosines of values that are rounded are not of f32.
	w := single.Coords["lat"+format.WeightCos]
	w.DType, w.Floats = format.CoordF64, []float64{0.1 + 1e-5, 1.5, 0.5}
	single.Coords["lat"+format.WeightCos] = w
	all, lost, err := join(double, single)
	if err != nil || lost != nil || len(all) != 2 || all["lat"].DType != format.CoordF64 || all["lat"+format.WeightCos].Floats[0] != 0.1 {
		t.Errorf("%v, %v, %v", all, lost, err)
	}
	if all, lost, err := join(none, double, single); err != nil || all != nil || !slices.Equal(lost, []string{"lat", "lat" + format.WeightCos}) {
		t.Errorf("with a set that has none: %v, %v, %v", all, lost, err)
	}
	if _, _, err := join(none, double, other); err == nil {
		t.Error("two grids behind a set without one")
	}
	delete(single.Coords, "lat")
	if _, _, err := join(double, single); err == nil {
		t.Error("other weights without latitudes")
	}
}
