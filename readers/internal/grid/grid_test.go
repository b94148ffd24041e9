package grid

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/readers/internal/cf"
)

// TestPicksKeepTheirPlaces adds random places one by one and takes every n-th.
func TestPicksKeepTheirPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var p Pick
		var want []int64
		for range 1 + r.IntN(12) {
			at := int64(r.IntN(9))
			if len(want) > 0 && r.IntN(3) > 0 {
				at = want[len(want)-1] + int64(1+r.IntN(3))
			}
			p, want = p.add(at), append(want, at)
		}
		var got, some []int64
		p.each(func(at int64) { got = append(got, at) })
		if !slices.Equal(got, want) || p.Len(99) != int64(len(want)) {
			t.Fatalf("%v has %v, want %v", p, got, want)
		}
		n := 1 + r.IntN(3)
		p.every(int64(n)).each(func(at int64) { some = append(some, at) })
		for i, at := range some {
			if at != want[i*n] {
				t.Fatalf("every %d of %v: %v", n, want, some)
			}
		}
		if len(some) != (len(want)+n-1)/n {
			t.Fatalf("every %d of %v: %v", n, want, some)
		}
		slices.Sort(want)
		want = slices.Compact(want)
		p = nil
		for _, at := range want {
			p = p.add(at)
		}
		if err := p.Check(want[len(want)-1] + 1); err != nil {
			t.Fatal(err)
		}
		if p.Check(want[len(want)-1]) == nil {
			t.Fatalf("%v is taken for places of an axis of %d", p, want[len(want)-1])
		}
		blocks := int64(1 + r.IntN(4))
		for _, at := range p.Borders(blocks) {
			if want[at]/blocks == want[at-1]/blocks {
				t.Fatalf("%v: a border before %d, in a block of %d", want, want[at], blocks)
			}
		}
	}
}

// A damaged plan names places that are not there.
func TestPicksOfADamagedPlan(t *testing.T) {
	for _, p := range []Pick{
		{{-1, 1, 1}}, {{0, 0, 1}}, {{0, 2, 0}}, {{10, 1, 1}}, {{0, 11, 1}}, {{9, 2, 1 << 62}}, {{0, 1 << 62, 1}},
		{{0, 10, 1}, {0, 1, 1}},
	} {
		if p.Check(10) == nil {
			t.Errorf("%v is taken for places of an axis of 10", p)
		}
	}
	if err := (Pick{{5, 1, 1}, {2, 1, 1}}).Check(10); err != nil {
		t.Error(err)
	}
}

// TestCoordinatesThatDiffer compares values of several types, and computed in other ways.
func TestCoordinatesThatDiffer(t *testing.T) {
	steps := func(first, step float64, n int, single bool) *Coord {
		c := &Coord{Single: single}
		for i := range n {
			v := first + float64(i)*step
			if single {
				v = float64(float32(v))
			}
			c.Floats = append(c.Floats, v)
		}
		return c
	}
	ints := func(v ...int64) *Coord { return &Coord{Ints: v} }
	texts := func(v ...string) *Coord { return &Coord{Texts: v} }
	times := func(u cf.Unit, v ...int64) *Coord { return &Coord{Ints: v, Time: true, Unit: u} }
	last := func(c *Coord, by float64) *Coord { c.Floats[len(c.Floats)-1] += by; return c }
	for i, c := range []struct {
		a, b       *Coord
		one, other string
	}{
		{steps(90, -0.1, 1801, false), steps(90, -0.1, 1801, true), "", ""},
		{steps(0, 0.1, 3600, true), last(steps(0, 0.1, 3600, true), 3e-5), "", ""},
		{steps(100, 1e-4, 100, false), steps(100, 1e-4, 100, true), "", ""},
		{steps(100, 1e-4, 100, false), steps(100.0001, 1e-4, 100, false), "rises from 100 to 100.0099", "rises from 100.0001 to 100.01"},
		{steps(0, 1, 5, false), ints(0, 1, 2, 3, 4), "", ""},
		{steps(90, -30, 7, true), steps(-90, 30, 7, false), "falls from 90 to -90", "rises from -90 to 90"},
		{steps(0, 30, 12, true), steps(-180, 30, 12, true), "rises from 0 to 330", "rises from -180 to 150"},
		{ints(1000, 850, 500), ints(1000, 700, 500), "has 850 at place 1", "has 700"},
		{ints(500), ints(850), "is 500", "is 850"},
		{ints(1, 1), ints(1, 2), "goes from 1 to 1", "rises from 1 to 2"},
		{&Coord{Floats: []float64{math.NaN(), 1}}, &Coord{Floats: []float64{math.NaN(), 1}}, "", ""},
		{&Coord{Floats: []float64{math.NaN(), 1}}, steps(0, 1, 2, false), "goes from NaN to 1", "rises from 0 to 1"},
		{texts("a", "b"), texts("a", "b"), "", ""},
		{texts("a", "b"), texts("b", "a"), `goes from "a" to "b"`, `goes from "b" to "a"`},
		{texts("1", "2"), ints(1, 2), `goes from "1" to "2"`, "rises from 1 to 2"},
		{times(cf.Seconds, 86400, 90000), times(cf.Nanoseconds, 86400e9, 90000e9), "", ""},
		{times(cf.Seconds, 86400, 90000), times(cf.Nanoseconds, 86400e9, 90001e9), "rises from 1970-01-02T00:00:00 to 1970-01-02T01:00:00", "rises from 1970-01-02T00:00:00 to 1970-01-02T01:00:01"},
		{times(cf.Seconds, 0, 1), ints(0, 1), "rises from 1970-01-01T00:00:00 to 1970-01-01T00:00:01", "rises from 0 to 1"},
		{ints(), ints(), "", ""},
		{ints(5, 6, 7, 8).Taken(Pick{{3, 1, 1}, {0, 2, 2}}), ints(8, 5, 7), "", ""},
		{texts("a", "b").Taken(nil), texts("a", "b").Taken(Pick{{0, 2, 1}}), "", ""},
	} {
		for k, want := range [][2]string{{c.one, c.other}, {c.other, c.one}} {
			a, b := c.a, c.b
			if k == 1 {
				a, b = b, a
			}
			one, other := a.Differ(b)
			if k == 1 && strings.HasPrefix(c.one, "has") {
				want = [2]string{"has 700 at place 1", "has 850"}
			}
			if one != want[0] || other != want[1] {
				t.Errorf("%d: %q, %q; want %q", i, one, other, want)
			}
		}
	}
}
