package samples

import (
	"math"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/transformtest"
)

func files(names ...string) *format.Table {
	t := &format.Table{Roots: []string{"/data/run", ""}}
	for _, n := range names {
		t.Append(0, n, 1, 0)
	}
	return t
}

// TestFractionIsStable: the share is right, smaller ones are parts of larger ones,
// another seed takes others, and further inputs change nothing.
func TestFractionIsStable(t *testing.T) {
	const n = 20000
	keep := func(text string, seed uint64, table *format.Table, input uint32) map[int64]bool {
		b := &shardify.Batch{Samples: n}
		b.First.Input = input
		f := transformtest.Made[*sampleFraction](t)(newFraction(&op.Env{Table: table}, text))
		if _, err := f.Schema(nil); err != nil {
			t.Fatal(err)
		}
		out, err := f.Apply(b, seed, transformtest.Arena(t))
		if err != nil {
			t.Fatal(err)
		}
		m := map[int64]bool{}
		for i := range out.Samples {
			m[out.ID(i).Sample] = true
		}
		return m
	}
	one := files("bg/a.root")
	half, tenth := keep("bg/=0.5", 1, one, 0), keep("bg/=0.1", 1, one, 0)
	if math.Abs(float64(len(half))-n/2) > 300 || math.Abs(float64(len(tenth))-n/10) > 200 {
		t.Errorf("%d and %d of %d", len(half), len(tenth), n)
	}
	for s := range tenth {
		if !half[s] {
			t.Fatalf("sample %d is in a tenth and not in the half", s)
		}
	}
	again := keep("bg/=0.5", 1, files("aa/new.root", "bg/a.root"), 1)
	other := keep("bg/=0.5", 2, one, 0)
	same := 0
	for s := range half {
		if !again[s] {
			t.Fatal("a further input changed the choice")
		}
		if other[s] {
			same++
		}
	}
	if math.Abs(float64(same)-n/4) > 300 {
		t.Errorf("two seeds have %d of %d in common", same, len(half))
	}
	if all := keep("bg/=1", 1, one, 0); len(all) != n {
		t.Errorf("%d of all", len(all))
	}
	if none := keep("bg/=0", 1, one, 0); len(none) != 0 {
		t.Errorf("%d of none", len(none))
	}
	for _, bad := range []string{"1.5", "x", "bg/=-1", "bg/=NaN", "q/=0.5"} {
		if _, err := newFraction(&op.Env{Table: one}, bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
