package rows

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

func spans(t testing.TB, s *Set, target int64) []shardify.Span {
	t.Helper()
	var all []shardify.Span
	next := map[uint32]int64{}
	for sp, err := range s.Spans(context.Background(), target) {
		if err != nil {
			t.Fatal(err)
		}
		if sp.Lo != next[sp.Input] || sp.Hi <= sp.Lo {
			t.Fatalf("target %d: span %+v follows %d", target, sp, next[sp.Input])
		}
		next[sp.Input] = sp.Hi
		all = append(all, sp)
	}
	for in := range s.Inputs() {
		if next[in.Index] != in.Samples {
			t.Fatalf("target %d: input %s of %d samples ends at %d", target, in.Name(), in.Samples, next[in.Index])
		}
	}
	return all
}

// oneColumn is a file of 8-byte samples.
func oneColumn(samples int64, b Borders) made {
	m := file("a", field("x", shardify.F64))
	m.f.Samples, m.f.Borders = samples, b
	return m
}

func TestSpansAreCutAtTheNearestBorder(t *testing.T) {
	for _, c := range []struct {
		samples int64
		b       Borders
		target  int64 // in samples
		want    []int64
	}{
		{100, Borders{}, 10, []int64{100}},
		{100, Borders{Every: 1}, 25, []int64{25, 50, 75, 100}},
		{100, Borders{Every: 1}, 30, []int64{25, 50, 75, 100}},
		{100, Borders{Every: 30}, 25, []int64{30, 60, 90, 100}},
		{100, Borders{Every: 30}, 50, []int64{60, 100}},
		{100, Borders{Every: 30, First: 5}, 50, []int64{35, 100}},
		{100, Borders{Every: 30, First: 70}, 10, []int64{70, 100}},
		{100, Borders{Every: 1000}, 10, []int64{100}},
		{100, Borders{At: []int64{40, 48, 90}}, 50, []int64{48, 100}},
		{100, Borders{At: []int64{0, 0, 10, 90, 90, 100, 200}}, 10, []int64{10, 90, 100}},
		{100, Borders{At: []int64{1, 2, 3}}, 1, []int64{1, 2, 3, 100}},
		// A unit of four targets is whole, a longer one is cut inside.
		{100, Borders{Every: 40, Inside: 7}, 10, []int64{14, 28, 40, 54, 68, 80, 100}},
		{100, Borders{Every: 39, Inside: 7}, 10, []int64{39, 78, 100}},
		{100, Borders{Inside: 50}, 10, []int64{50, 100}},
		{100, Borders{Inside: 1}, 10, []int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}},
		{3, Borders{Every: 1}, 1, []int64{1, 2, 3}},
	} {
		s, err := openMade([]made{oneColumn(c.samples, c.b)}, Fail)
		if err != nil {
			t.Fatal(err)
		}
		var ends []int64
		for _, sp := range spans(t, s, c.target*8) {
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
		var b Borders
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
		s, err := openMade([]made{oneColumn(n, b)}, Fail)
		if err != nil {
			t.Fatal(err)
		}
		target := 1 + rng.Int64N(100)
		for _, sp := range spans(t, s, target*8) {
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
	a := file("a", field("x", shardify.F32, 3), jagged("j", shardify.F32, 400), jagged("k", shardify.F32, 400), jagged("own", shardify.I16, 20))
	a.f.Fields[1].Counter, a.f.Fields[2].Counter = "n", "n"
	b := file("b", field("x", shardify.F64, 3))
	s, err := openMade([]made{a, b}, Fill)
	if err != nil {
		t.Fatal(err)
	}
	got := spans(t, s, 1<<30)
	// 24 and, before they are widened, 12; offsets; jagged values.
	if want := int64(10*(24+12+8*3) + 400 + 400 + 20); got[0].Bytes != want {
		t.Errorf("%d bytes, want %d", got[0].Bytes, want)
	}
	// Offsets and marks of three filled columns.
	if want := int64(10 * (24 + 8*3 + 3)); got[1].Bytes != want {
		t.Errorf("%d bytes, want %d", got[1].Bytes, want)
	}
	if s, err = openMade([]made{a}, Fail); err != nil {
		t.Fatal(err)
	}
	if got, want := spans(t, s, 1<<30)[0].Bytes, int64(10*(12+8*2)+820); got != want { // one of two share their offsets
		t.Errorf("%d bytes, want %d", got, want)
	}
	if s, err = openMade([]made{a, file("b", field("x", shardify.F32, 3))}, Intersect); err != nil {
		t.Fatal(err)
	}
	if got, want := spans(t, s, 1<<30)[0].Bytes, int64(120); got != want {
		t.Errorf("without the jagged fields %d bytes, want %d", got, want)
	}
}

func TestHugeInputsAreCutInNoTime(t *testing.T) {
	m := file("a", field("x", shardify.U8, 0))
	m.f.Samples, m.f.Borders = 1<<45, Borders{Every: 1 << 20}
	s, err := openMade([]made{m}, Fail)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(spans(t, s, 1<<30)); n != 1<<15 {
		t.Errorf("%d spans", n)
	}
	// Pieces of a byte each, but one border only.
	m.f.Borders = Borders{At: []int64{1 << 40}}
	if s, err = openMade([]made{m}, Fail); err != nil {
		t.Fatal(err)
	}
	if n := len(spans(t, s, 1)); n != 2 {
		t.Errorf("%d spans", n)
	}
}

func TestSpansOfACancelledContextEndWithItsError(t *testing.T) {
	s, err := openMade([]made{oneColumn(1<<20, Borders{Every: 1})}, Fail)
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
	var files []made
	for i := range 1000 {
		m := file(fmt.Sprint(i), field("x", shardify.F64))
		for k := range int64(1000) {
			m.f.Borders.At = append(m.f.Borders.At, (k+1)*100)
		}
		m.f.Samples = 100_000
		files = append(files, m)
	}
	s, err := openMade(files, Fail)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		spans(b, s, 64<<10)
	}
}
