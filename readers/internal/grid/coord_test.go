package grid

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// picked are the places that a selection takes of an axis x.
func picked(t *testing.T, sel string, c *Coord) ([]int64, error) {
	t.Helper()
	s, err := Parse("x=" + sel)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.pick(&Axis{Name: "x", N: c.Len(), Coord: func() (*Coord, error) { return c, nil }})
	var at []int64
	p.each(func(i int64) { at = append(at, i) })
	return at, err
}

// A value that is not there takes nothing, however few values there are.
func TestValuesThatAreNotThere(t *testing.T) {
	for _, c := range []*Coord{
		{Floats: []float64{850}}, {Floats: []float64{850, 850}}, {Floats: []float64{math.NaN()}}, {Floats: []float64{1e-9}},
		{Floats: []float64{850, 925}}, {Floats: []float64{}}, {Ints: []int64{850}}, {Floats: []float64{850}, East: true},
	} {
		if at, err := picked(t, "500", c); err == nil {
			t.Errorf("500 of %v: %v, %v", c, at, err)
		}
	}
	for _, v := range []string{"850", "850.0000001"} {
		if at, err := picked(t, v, &Coord{Floats: []float64{850}}); err != nil || !slices.Equal(at, []int64{0}) {
			t.Errorf("%s of one value: %v, %v", v, at, err)
		}
	}
}

func TestEmptyLongitudes(t *testing.T) {
	for _, c := range []*Coord{{Floats: []float64{}, East: true}, {Ints: []int64{}, East: true}} {
		if at, err := picked(t, "0..10", c); err == nil {
			t.Errorf("%v, %v", at, err)
		}
	}
}

// Both ends of a range that goes round are in it, whatever the precision of the longitudes.
func TestLongitudesKeepBothEnds(t *testing.T) {
	for _, single := range []bool{true, false} {
		for _, falling := range []bool{false, true} {
			c := &Coord{East: true, Single: single}
			for i := range 3600 {
				v := float64(i) / 10
				if falling {
					v = float64(3599-i) / 10
				}
				c.Floats = append(c.Floats, c.round(v))
			}
			for k := 1; k < 1800; k += 7 {
				lo, hi := -float64(k)/10, float64(k%50)/10
				f, err := c.between(trim(lo), trim(hi))
				if want := int64(k + k%50 + 1); err != nil || f.Len(0) != want {
					t.Fatalf("single %v, falling %v: %v..%v takes %d, want %d, %v", single, falling, lo, hi, f.Len(0), want, err)
				}
				if f, err = c.value(trim(lo)); err != nil || f.Len(0) != 1 {
					t.Fatalf("single %v, falling %v: %v takes %d, %v", single, falling, lo, f.Len(0), err)
				}
			}
		}
	}
}

func trim(v float64) string { return (&Coord{Floats: []float64{v}, Single: true}).text(0) }

// A place of channels is one place: several would move those behind it.
func TestChannelsTakeOnePlaceEach(t *testing.T) {
	c, err := ParseChannels("x=z@500,z@850")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][]float64{{850, 500}, {850, 500, 500}} {
		p, err := c.pick("z", &Axis{Name: "level", N: int64(len(v)), Coord: func() (*Coord, error) { return &Coord{Floats: v}, nil }})
		if len(v) == 2 && (err != nil || p.Len(0) != 2) || len(v) == 3 && (err == nil || !strings.Contains(err.Error(), "500")) {
			t.Errorf("%v: %v, %v", v, p, err)
		}
	}
}

// A step takes places of an axis without visiting each.
func TestStepsOfLongAxes(t *testing.T) {
	s, err := Parse("x=::4")
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.pick(&Axis{Name: "x", N: 1 << 50})
	if err != nil || p.Len(0) != 1<<48 {
		t.Fatal(p, err)
	}
}
