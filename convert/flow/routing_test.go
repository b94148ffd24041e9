package flow

import (
	"fmt"
	"math"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow/route"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
)

// idsOf splits n samples of each input by identity alone.
func idsOf(t *testing.T, text string, seed uint64, inputs []string, n int64) map[string]map[string]bool {
	t.Helper()
	table := &format.Table{Roots: []string{"in"}}
	for _, name := range inputs {
		table.Append(0, name, 1, 1)
	}
	p := &plan.Plan{In: plan.Inputs{Table: table}, Seed: seed, Splits: plan.Splits{Rule: parsed(t, text)}}
	r, err := route.New(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]bool{}
	for i, name := range inputs {
		b := &shardify.Batch{Samples: int(n), First: shardify.ID{Input: uint32(i)}}
		to := make([]uint16, n)
		if err := r.Route(b, to); err != nil {
			t.Fatal(err)
		}
		for k, part := range to {
			name := fmt.Sprintf("%s %d", name, k)
			split := p.Splits.Rule.Parts[part].Name
			if out[split] == nil {
				out[split] = map[string]bool{}
			}
			out[split][name] = true
		}
	}
	return out
}

// TestShareOfEachSplitIsBinomial: over many seeds the counts scatter as those of coin
// tosses, neither more nor less.
func TestShareOfEachSplitIsBinomial(t *testing.T) {
	const n, seeds = 4000, 300
	shares := map[string]float64{"train": 0.8, "val": 0.15, "test": 0.05}
	sum := map[string]float64{}
	worst := 0.0
	for seed := range uint64(seeds) {
		for name, ids := range idsOf(t, "train=0.8,val=0.15,test=0.05", seed, []string{"a", "b"}, n/2) {
			p := shares[name]
			z := (float64(len(ids)) - n*p) / math.Sqrt(n*p*(1-p))
			worst = max(worst, math.Abs(z))
			sum[name] += z * z
		}
	}
	for name, s := range sum {
		// Chi-square with as many degrees of freedom as seeds.
		if z := (s - seeds) / math.Sqrt(2*seeds); math.Abs(z) > 4.5 {
			t.Errorf("%s: the counts over %d seeds scatter by %+.1f sigma from what chance does", name, seeds, z)
		}
	}
	if worst > 5 {
		t.Errorf("one count is %.1f sigma off", worst)
	}
}

func TestSplitStaysWhenInputsAreAdded(t *testing.T) {
	few := idsOf(t, "train=0.8,val=0.2", 3, []string{"b/x", "b/y"}, 1000)
	many := idsOf(t, "train=0.8,val=0.2", 3, []string{"a/x", "b/x", "b/xx", "b/y", "c"}, 1000)
	for name, ids := range few {
		for id := range ids {
			if !many[name][id] {
				t.Fatalf("%s left %s when inputs were added", id, name)
			}
		}
	}
	for _, id := range []string{"a/x", "c"} {
		in := 0
		for k := range 1000 {
			if many["val"][fmt.Sprintf("%s %d", id, k)] != many["val"][fmt.Sprintf("b/x %d", k)] {
				in++
			}
		}
		if in < 200 { // of 320 that two independent draws give
			t.Errorf("the samples of %s go where those of b/x go: %d of 1000 differ", id, in)
		}
	}
}

// TestExactNumbersHoldForFilesOfOneName: two folders with the same file names.
func TestExactNumbersHoldForFilesOfOneName(t *testing.T) {
	table := &format.Table{Roots: []string{"sig", "bg"}}
	table.Append(0, "a", 1, 1)
	table.Append(1, "a", 1, 1)
	p := &plan.Plan{In: plan.Inputs{Table: table}, Splits: plan.Splits{Rule: parsed(t, "train=rest,val=7")}, Pack: plan.Packing{Spans: []shardify.Span{{Hi: 50}, {Input: 1, Hi: 50}}}}
	fl := &Flow{plan: p}
	if err := fl.count(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	for input := range uint32(2) {
		to := make([]uint16, 50)
		if err := fl.router.Route(&shardify.Batch{Samples: 50, First: shardify.ID{Input: input}}, to); err != nil {
			t.Fatal(err)
		}
		for _, part := range to {
			n += int(part)
		}
	}
	if n != 7 {
		t.Fatalf("val has %d samples", n)
	}
}

// TestStratifyOfNoSamples: a selection may leave no samples, and then there are no classes.
func TestStratifyOfNoSamples(t *testing.T) {
	s := parsed(t, "train=0.8,val=0.2")
	s.Stratify = "y"
	cuts, err := (&ranker{field: "y"}).cuts(s, &ranker{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := route.New((&plan.Plan{In: plan.Inputs{Table: &format.Table{}}, Splits: plan.Splits{Rule: s, Cuts: cuts}}), nil); err != nil {
		t.Fatal(err)
	}
}

// TestExactNumbersHoldForManySamples goes through the second pass over the hashes.
func TestExactNumbersHoldForManySamples(t *testing.T) {
	p := &plan.Plan{In: plan.Inputs{Table: &format.Table{}}, Splits: plan.Splits{Rule: parsed(t, "train=rest,val=123456,test=7")}, Pack: plan.Packing{Spans: []shardify.Span{{Hi: 2_300_000}}}}
	fl := &Flow{plan: p}
	if err := fl.count(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	var counts [3]int
	b := &shardify.Batch{Samples: 2_300_000}
	to := make([]uint16, b.Samples)
	if err := fl.router.Route(b, to); err != nil {
		t.Fatal(err)
	}
	for _, k := range to {
		counts[k]++
	}
	if counts != [3]int{2_300_000 - 123456 - 7, 123456, 7} {
		t.Fatalf("%v", counts)
	}
}

func parsed(t *testing.T, text string) *splits.Rule {
	t.Helper()
	s, err := splits.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOperationsHaveSeedsOfTheirOwn(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(20) {
		p := &plan.Plan{Seed: seed}
		for op := range 20 {
			s := opSeed(p, op)
			if seen[s] {
				t.Fatalf("operation %d of seed %d has the seed of another", op, seed)
			}
			seen[s] = true
		}
	}
}
