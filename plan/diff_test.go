package plan

import (
	"slices"
	"testing"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan/splits"
)

// TestDiffNamesEachSettingThatDiffers: a line for each, and one where only the files do.
func TestDiffNamesEachSettingThatDiffers(t *testing.T) {
	base := func() *Plan {
		return &Plan{
			In:  Inputs{Format: "npz", Listed: &index.Inputs{Count: 2, Bytes: 30}},
			Out: Output{Format: "mmap", Options: map[string]string{"level": "3"}}, OnError: OnErrorFail,
			Pack: Packing{Samples: 4}, stored: stored{digest: "a"}, Recipe: map[string]string{"shard-size": "1"},
		}
	}
	for want, change := range map[string]func(*Plan){
		"input format: npz / root":     func(p *Plan) { p.In.Format = "root" },
		"output format: mmap / wds":    func(p *Plan) { p.Out.Format = "wds" },
		"columns: [] / [x y]":          func(p *Plan) { p.In.Columns = []string{"x", "y"} },
		"on-error: fail / skip":        func(p *Plan) { p.OnError = OnErrorSkip },
		"operations:  / --where x > 1": func(p *Plan) { p.Steps.Ops = []Op{{"where", "x > 1"}} },
		"shuffle: none / global":       func(p *Plan) { p.Order.Shuffle = ShuffleGlobal },
		"split:  / a=0.5,b=rest --group-by run": func(p *Plan) {
			p.Splits.Rule = &splits.Rule{Parts: []splits.Part{{Name: "a", Share: 0.5}, {Name: "b", Rest: true}}, GroupBy: "run"}
		},
		"provenance: false / true": func(p *Plan) { p.Asked.Provenance = true },
		"shard-size: 1 / 2":        func(p *Plan) { p.Recipe = map[string]string{"shard-size": "2"} },
		"level: 3 / ":              func(p *Plan) { p.Out.Options = nil },
		"object:  / Events":        func(p *Plan) { p.In.Options = map[string]string{"object": "Events"} },
		"inputs: 2 files, 30 bytes / 3 files, 30 bytes": func(p *Plan) { p.In.Listed = &index.Inputs{Count: 3, Bytes: 30} },
		"samples: 4 / 5": func(p *Plan) { p.Pack.Samples = 5 },
		"the input files: names, sizes or layout have changed": func(p *Plan) { p.stored.digest = "b" },
	} {
		q := base()
		change(q)
		if got := Diff(base(), q); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	p, q := base(), base()
	p.Steps.Ops, q.Steps.Ops = []Op{{"sort", "x"}}, []Op{{"sort", "x"}} // the seed counts where it decides something
	q.Seed = 7
	if got := Diff(p, q); !slices.Equal(got, []string{"seed: 0 / 7"}) {
		t.Errorf("%q", got)
	}
	if got := Diff(base(), base()); got != nil {
		t.Errorf("equal plans differ: %q", got)
	}
}
