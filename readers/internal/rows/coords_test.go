package rows

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/grid"
)

// on is an input with the field x on a grid.
func on(name string, lat ...float64) made {
	m := file(name, field("x", shardify.F32, len(lat)))
	m.f.Coords = []Coord{{Field: "x", Name: "lat", Values: &grid.Coord{Floats: lat}}}
	return m
}

func TestInputsOfOtherGridsDiffer(t *testing.T) {
	rising, falling, mixed := []float64{-90, 0, 90}, []float64{90, 0, -90}, []float64{-90, 10, 90}
	for _, c := range []struct {
		files []made
		err   string
	}{
		{[]made{on("a", rising...), on("b", rising...)}, ""},
		{[]made{on("a", rising...), file("b", field("x", shardify.F32, 3))}, ""}, // says nothing of it
		{[]made{on("a", rising...), on("b", rising...), on("c", falling...), on("d", mixed...)},
			"field x: the coordinate lat rises from -90 to 90 in a, falls from 90 to -90 in c"},
		{[]made{on("d", falling...), on("c", mixed...), on("b", mixed...), on("a", rising...)},
			"the coordinate lat falls from 90 to -90 in d, rises from -90 to 90 in c"},
		{[]made{on("a", rising...), on("b", mixed...)}, "the coordinate lat has 0 at place 1 in a, has 10 in b"},
	} {
		for range 20 { // the order of the looks does not count
			_, err := openMade(c.files, Fail)
			if c.err == "" && err != nil || c.err != "" && (!errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
		}
	}
}

// Inputs that are left out, or have no samples, have no say; nor do fields that are left out.
func TestGridsThatDoNotCount(t *testing.T) {
	a, b := on("a", -90, 0, 90), on("b", 90, 0, -90)
	a.f.Fields = append(a.f.Fields, field("y", shardify.F32))
	if s, err := openMade([]made{a, b}, Drop); err != nil || s.Samples() != 10 {
		t.Errorf("of a dropped input: %v", err)
	}
	if _, err := openMade([]made{a, b}, Fill); err == nil {
		t.Error("of a filled input: no error")
	}
	empty := on("c", 90, 0, -90)
	empty.f.Samples = 0
	if _, err := openMade([]made{a, empty}, Fail); err != nil {
		t.Errorf("of an empty input: %v", err)
	}
	z := field("z", shardify.F32)
	a.f.Fields, b.f.Fields = append(a.f.Fields, z), append(b.f.Fields, z)
	if _, err := openMade([]made{a, b}, Fail, "z"); err != nil {
		t.Errorf("of a field that is not wanted: %v", err)
	}
	files := []made{on("a", 1, 2), on("b", 1, 2, 3), on("c", 2, 1)}
	f := formatOf(files)
	f.Ragged = true
	s, err := openAs(f, files, Fail)
	if err != nil || !strings.Contains(strings.Join(s.Notes(), " "), "shapes that differ") {
		t.Errorf("of lengths that differ: %v", err)
	}
}
