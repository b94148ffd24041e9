package set_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/rowstest"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// oneColumn is a file of 8-byte samples.
func oneColumn(samples int64, b set.Borders) rowstest.Made {
	m := rowstest.File("a", rowstest.Field("x", shardify.F64))
	m.Facts.Samples, m.Facts.Borders = samples, b
	return m
}

func TestSpansAreCutAtTheNearestBorder(t *testing.T) {
	for _, c := range []struct {
		samples int64
		b       set.Borders
		target  int64 // in samples
		want    []int64
	}{
		{100, set.Borders{}, 10, []int64{100}},
		{100, set.Borders{Every: 1}, 25, []int64{25, 50, 75, 100}},
		{100, set.Borders{Every: 1}, 30, []int64{25, 50, 75, 100}},
		{100, set.Borders{Every: 30}, 25, []int64{30, 60, 90, 100}},
		{100, set.Borders{Every: 30}, 50, []int64{60, 100}},
		{100, set.Borders{Every: 30, First: 5}, 50, []int64{35, 100}},
		{100, set.Borders{Every: 30, First: 70}, 10, []int64{70, 100}},
		{100, set.Borders{Every: 1000}, 10, []int64{100}},
		{100, set.Borders{At: []int64{40, 48, 90}}, 50, []int64{48, 100}},
		{100, set.Borders{At: []int64{0, 0, 10, 90, 90, 100, 200}}, 10, []int64{10, 90, 100}},
		{100, set.Borders{At: []int64{1, 2, 3}}, 1, []int64{1, 2, 3, 100}},
		// A unit of four targets is whole, a longer one is cut inside.
		{100, set.Borders{Every: 40, Inside: 7}, 10, []int64{14, 28, 40, 54, 68, 80, 100}},
		{100, set.Borders{Every: 39, Inside: 7}, 10, []int64{39, 78, 100}},
		{100, set.Borders{Inside: 50}, 10, []int64{50, 100}},
		{100, set.Borders{Inside: 1}, 10, []int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}},
		{3, set.Borders{Every: 1}, 1, []int64{1, 2, 3}},
	} {
		s, err := rowstest.Open([]rowstest.Made{oneColumn(c.samples, c.b)}, survey.Fail)
		if err != nil {
			t.Fatal(err)
		}
		var ends []int64
		for _, sp := range rowstest.Spans(t, s, c.target*8) {
			ends = append(ends, sp.Hi)
			if sp.Bytes != sp.Samples()*8 {
				t.Errorf("span of %d samples has %d bytes", sp.Samples(), sp.Bytes)
			}
		}
		if !slices.Equal(ends, c.want) {
			t.Errorf("%d samples, %+v, target %d: cut at %v, want %v", c.samples, c.b, c.target, ends, c.want)
		}
	}
}

// TestSpansKeepToBorders compares random cuts with the definition.
func TestSpansKeepToBorders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		n := 1 + rng.Int64N(400)
		var b set.Borders
		at := map[int64]bool{0: true, n: true}
		if rng.IntN(2) == 0 {
			b.Every = 1 + rng.Int64N(60)
			b.First = rng.Int64N(80)
			first := b.First
			if first == 0 {
				first = b.Every
			}
			for x := first; x < n; x += b.Every {
				at[x] = true
			}
		} else {
			for x := rng.Int64N(50); x < n+20; x += rng.Int64N(50) {
				b.At = append(b.At, x)
				at[x] = true
			}
		}
		if rng.IntN(2) == 0 {
			b.Inside = 1 + rng.Int64N(10)
		}
		s, err := rowstest.Open([]rowstest.Made{oneColumn(n, b)}, survey.Fail)
		if err != nil {
			t.Fatal(err)
		}
		target := 1 + rng.Int64N(100)
		for _, sp := range rowstest.Spans(t, s, target*8) {
			if at[sp.Hi] {
				continue
			}
			lo, hi := sp.Hi, sp.Hi
			for !at[lo] {
				lo--
			}
			for !at[hi] {
				hi++
			}
			if b.Inside == 0 || (hi-lo)/4 < target || (sp.Hi-lo)%b.Inside != 0 {
				t.Fatalf("%d samples, %+v, target %d: span %+v in unit [%d, %d)", n, b, target, sp, lo, hi)
			}
		}
	}
}

func TestBytesOfASpanCountWhatABatchHolds(t *testing.T) {
	a := rowstest.File("a", rowstest.Field("x", shardify.F32, 3), rowstest.Jagged("j", shardify.F32, 400), rowstest.Jagged("k", shardify.F32, 400), rowstest.Jagged("own", shardify.I16, 20))
	a.Facts.Fields[1].Counter, a.Facts.Fields[2].Counter = "n", "n"
	b := rowstest.File("b", rowstest.Field("x", shardify.F64, 3))
	s, err := rowstest.Open([]rowstest.Made{a, b}, survey.Fill)
	if err != nil {
		t.Fatal(err)
	}
	got := rowstest.Spans(t, s, 1<<30)
	// 24 and, before they are widened, 12; offsets; jagged values.
	if want := int64(10*(24+12+8*3) + 400 + 400 + 20); got[0].Bytes != want {
		t.Errorf("%d bytes, want %d", got[0].Bytes, want)
	}
	// Offsets and marks of three filled columns.
	if want := int64(10 * (24 + 8*3 + 3)); got[1].Bytes != want {
		t.Errorf("%d bytes, want %d", got[1].Bytes, want)
	}
	if s, err = rowstest.Open([]rowstest.Made{a}, survey.Fail); err != nil {
		t.Fatal(err)
	}
	if got, want := rowstest.Spans(t, s, 1<<30)[0].Bytes, int64(10*(12+8*2)+820); got != want { // one of two share their offsets
		t.Errorf("%d bytes, want %d", got, want)
	}
	if s, err = rowstest.Open([]rowstest.Made{a, rowstest.File("b", rowstest.Field("x", shardify.F32, 3))}, survey.Intersect); err != nil {
		t.Fatal(err)
	}
	if got, want := rowstest.Spans(t, s, 1<<30)[0].Bytes, int64(120); got != want {
		t.Errorf("without the jagged fields %d bytes, want %d", got, want)
	}
}

func TestHugeInputsAreCutInNoTime(t *testing.T) {
	m := rowstest.File("a", rowstest.Field("x", shardify.U8, 0))
	m.Facts.Samples, m.Facts.Borders = 1<<45, set.Borders{Every: 1 << 20}
	s, err := rowstest.Open([]rowstest.Made{m}, survey.Fail)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(rowstest.Spans(t, s, 1<<30)); n != 1<<15 {
		t.Errorf("%d spans", n)
	}
	// Pieces of a byte each, but one border only.
	m.Facts.Borders = set.Borders{At: []int64{1 << 40}}
	if s, err = rowstest.Open([]rowstest.Made{m}, survey.Fail); err != nil {
		t.Fatal(err)
	}
	if n := len(rowstest.Spans(t, s, 1)); n != 2 {
		t.Errorf("%d spans", n)
	}
}

func TestSpansOfACancelledContextEndWithItsError(t *testing.T) {
	s, err := rowstest.Open([]rowstest.Made{oneColumn(1<<20, set.Borders{Every: 1})}, survey.Fail)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n, failed := 0, false
	for _, err := range s.Spans(ctx, 8) {
		if n++; n == 10 {
			cancel()
		}
		failed = err != nil
	}
	if !failed || n != 11 {
		t.Errorf("%d spans, failed %v", n, failed)
	}
}

func BenchmarkSpans(b *testing.B) {
	var files []rowstest.Made
	for i := range 1000 {
		m := rowstest.File(fmt.Sprint(i), rowstest.Field("x", shardify.F64))
		for k := range int64(1000) {
			m.Facts.Borders.At = append(m.Facts.Borders.At, (k+1)*100)
		}
		m.Facts.Samples = 100_000
		files = append(files, m)
	}
	s, err := rowstest.Open(files, survey.Fail)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		rowstest.Spans(b, s, 64<<10)
	}
}
