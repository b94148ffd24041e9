package survey_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows/rowstest"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// on is an input with the field x on a grid.
func on(name string, lat ...float64) rowstest.Made {
	m := rowstest.File(name, rowstest.Field("x", shardify.F32, len(lat)))
	m.Facts.Coords = []survey.Coord{{Field: "x", Name: "lat", Values: &grid.Coord{Floats: lat}}}
	return m
}

func TestInputsOfOtherGridsDiffer(t *testing.T) {
	rising, falling, mixed := []float64{-90, 0, 90}, []float64{90, 0, -90}, []float64{-90, 10, 90}
	for _, c := range []struct {
		files []rowstest.Made
		err   string
	}{
		{[]rowstest.Made{on("a", rising...), on("b", rising...)}, ""},
		{[]rowstest.Made{on("a", rising...), rowstest.File("b", rowstest.Field("x", shardify.F32, 3))}, ""}, // says nothing of it
		{[]rowstest.Made{on("a", rising...), on("b", rising...), on("c", falling...), on("d", mixed...)},
			"field x: the coordinate lat rises from -90 to 90 in a, falls from 90 to -90 in c"},
		{[]rowstest.Made{on("d", falling...), on("c", mixed...), on("b", mixed...), on("a", rising...)},
			"the coordinate lat falls from 90 to -90 in d, rises from -90 to 90 in c"},
		{[]rowstest.Made{on("a", rising...), on("b", mixed...)}, "the coordinate lat has 0 at place 1 in a, has 10 in b"},
	} {
		for range 20 { // the order of the looks does not count
			_, err := rowstest.Open(c.files, survey.Fail)
			if c.err == "" && err != nil || c.err != "" && (!errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
		}
	}
}

// Inputs that are left out, or have no samples, have no say; nor do fields that are left out.
func TestGridsThatDoNotCount(t *testing.T) {
	a, b := on("a", -90, 0, 90), on("b", 90, 0, -90)
	a.Facts.Fields = append(a.Facts.Fields, rowstest.Field("y", shardify.F32))
	if s, err := rowstest.Open([]rowstest.Made{a, b}, survey.Drop); err != nil || s.Samples() != 10 {
		t.Errorf("of a dropped input: %v", err)
	}
	if _, err := rowstest.Open([]rowstest.Made{a, b}, survey.Fill); err == nil {
		t.Error("of a filled input: no error")
	}
	empty := on("c", 90, 0, -90)
	empty.Facts.Samples = 0
	if _, err := rowstest.Open([]rowstest.Made{a, empty}, survey.Fail); err != nil {
		t.Errorf("of an empty input: %v", err)
	}
	z := rowstest.Field("z", shardify.F32)
	a.Facts.Fields, b.Facts.Fields = append(a.Facts.Fields, z), append(b.Facts.Fields, z)
	if _, err := rowstest.Open([]rowstest.Made{a, b}, survey.Fail, "z"); err != nil {
		t.Errorf("of a field that is not wanted: %v", err)
	}
	files := []rowstest.Made{on("a", 1, 2), on("b", 1, 2, 3), on("c", 2, 1)}
	f := rowstest.FormatOf(files)
	f.Ragged = true
	s, err := rowstest.OpenAs(f, files, survey.Fail)
	if err != nil || !strings.Contains(strings.Join(s.Notes(), " "), "shapes that differ") {
		t.Errorf("of lengths that differ: %v", err)
	}
}
