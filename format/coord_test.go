package format

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

func TestCoordinatesInJSON(t *testing.T) {
	for _, c := range []Coord{
		{DType: CoordF32, Floats: []float64{90, float64(float32(0.1)), math.NaN()}, Attrs: map[string]string{"unit": "degrees_north"}},
		{DType: CoordF64, Floats: []float64{0.1, 1e300}},
		{DType: CoordI64, Ints: []int64{math.MinInt64, 1<<53 + 1}},
		{DType: CoordText, Texts: []string{"t2m", `z"500`, ""}},
	} {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var d Coord
		if err := json.Unmarshal(b, &d); err != nil || !c.Same(&d) || d.DType != c.DType || d.Attrs["unit"] != c.Attrs["unit"] {
			t.Errorf("%s: %+v, %v", b, d, err)
		}
	}
	for _, text := range []string{`{"dtype":"f32","values":[]}`, `{"dtype":"i64","values":[1.5]}`, `{"dtype":"f9","values":[1]}`, `{"dtype":"txt","values":[1]}`, `{"dtype":"f32","values":{}}`,
		`{"dtype":"i64","values":[1,null]}`, `{"dtype":"txt","values":["a",null]}`, `{"dtype":"f32","values":[1e300]}`,
		`{"dtype":"i64","values":[` + strings.Repeat("1,", MaxCoord) + `1]}`} {
		if err := json.Unmarshal([]byte(text), new(Coord)); err == nil {
			t.Errorf("%.60s is a coordinate", text)
		}
	}
}

func TestKeptCoordinatesAreThoseOfTheFields(t *testing.T) {
	one := Coord{DType: CoordI64, Ints: []int64{1, 2}}
	all := map[string]Coord{"lat": one, "lon": one, "x:lon": {DType: CoordI64, Ints: []int64{3, 4}}}
	x := shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{2, 2}}
	x.NameDims([]string{"lat", "lon"})
	if kept, _ := KeptCoords(all, []shardify.Field{x}); len(kept) != 2 || kept["x:lon"].Ints[0] != 3 || kept["lat"].Ints[0] != 1 {
		t.Errorf("%v", kept)
	}
	if kept, _ := KeptCoords(all, []shardify.Field{{Name: "y", DType: shardify.F32, Shape: []int{2}}}); kept != nil {
		t.Errorf("of a field without names: %v", kept)
	}
}

func TestCoordinatesAreTheSameUpToRounding(t *testing.T) {
	f32, f64, ints := Coord{DType: CoordF32, Floats: []float64{float64(float32(0.1)), 1, 2}}, Coord{DType: CoordF64, Floats: []float64{0.1, 1, 2}}, Coord{DType: CoordI64, Ints: []int64{0, 1, 2}}
	whole, near, far := Coord{DType: CoordF64, Floats: []float64{0, 1, 2}}, Coord{DType: CoordF64, Floats: []float64{0, 1, 2.000001}}, Coord{DType: CoordF64, Floats: []float64{0, 1, 2.01}}
	text := Coord{DType: CoordText, Texts: []string{"0", "1", "2"}}
	for _, x := range []struct {
		a, b *Coord
		same bool
	}{{&f32, &f64, true}, {&ints, &whole, true}, {&ints, &near, true}, {&whole, &far, false}, {&ints, &f64, false}, {&text, &ints, false}, {&text, &whole, false}, {&text, &text, true},
		{&ints, &Coord{DType: CoordI64, Ints: []int64{0, 1}}, false}, {&whole, &Coord{DType: CoordF64, Floats: []float64{0, 1, math.NaN()}}, false}} {
		if x.a.Same(x.b) != x.same || x.b.Same(x.a) != x.same {
			t.Errorf("%+v and %+v: want same %v", x.a, x.b, x.same)
		}
	}
}

// TestTextsOfAllCoordinatesAreBounded: they go into the manifest.
func TestTextsOfAllCoordinatesAreBounded(t *testing.T) {
	all, x := map[string]Coord{}, shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{1, 1, 1}}
	x.NameDims([]string{"a", "b", "c"})
	for _, dim := range x.Dims() {
		all[dim] = Coord{DType: CoordText, Texts: []string{strings.Repeat(dim, MaxCoordText/2)}}
	}
	if kept, left := KeptCoords(all, []shardify.Field{x}); len(kept) != 2 || kept["c"].Texts != nil || len(left) != 1 || left[0].Name != "coordinate c" {
		t.Errorf("%d coordinates are kept", len(kept))
	}
}
