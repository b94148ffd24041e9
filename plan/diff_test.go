package plan

import (
	"slices"
	"testing"

	"github.com/shardify/shardify/index"
)

// TestDiffNamesEachSettingThatDiffers: a line for each, and one where only the files do.
func TestDiffNamesEachSettingThatDiffers(t *testing.T) {
	base := func() *Plan {
		return &Plan{
			Input: "npz", Output: "mmap", OnError: OnErrorFail, Samples: 4, digest: "a", Listed: &index.Inputs{Count: 2, Bytes: 30},
			Recipe: map[string]string{"shard-size": "1"}, OutputOptions: map[string]string{"level": "3"},
		}
	}
	for want, change := range map[string]func(*Plan){
		"input format: npz / root":     func(p *Plan) { p.Input = "root" },
		"output format: mmap / wds":    func(p *Plan) { p.Output = "wds" },
		"columns: [] / [x y]":          func(p *Plan) { p.Columns = []string{"x", "y"} },
		"on-error: fail / skip":        func(p *Plan) { p.OnError = OnErrorSkip },
		"operations:  / --where x > 1": func(p *Plan) { p.Ops = []Op{{"where", "x > 1"}} },
		"shuffle: none / global":       func(p *Plan) { p.Shuffle = ShuffleGlobal },
		"split:  / a=0.5,b=rest --group-by run": func(p *Plan) {
			p.Split = &Split{Parts: []Part{{Name: "a", Share: 0.5}, {Name: "b", Rest: true}}, GroupBy: "run"}
		},
		"provenance: false / true": func(p *Plan) { p.Provenance = true },
		"shard-size: 1 / 2":        func(p *Plan) { p.Recipe = map[string]string{"shard-size": "2"} },
		"level: 3 / ":              func(p *Plan) { p.OutputOptions = nil },
		"object:  / Events":        func(p *Plan) { p.InputOptions = map[string]string{"object": "Events"} },
		"inputs: 2 files, 30 bytes / 3 files, 30 bytes": func(p *Plan) { p.Listed = &index.Inputs{Count: 3, Bytes: 30} },
		"samples: 4 / 5": func(p *Plan) { p.Samples = 5 },
		"the input files: names, sizes or layout have changed": func(p *Plan) { p.digest = "b" },
	} {
		q := base()
		change(q)
		if got := base().Diff(q); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	p, q := base(), base()
	p.Ops, q.Ops = []Op{{"sort", "x"}}, []Op{{"sort", "x"}} // the seed counts where it decides something
	q.Seed = 7
	if got := p.Diff(q); !slices.Equal(got, []string{"seed: 0 / 7"}) {
		t.Errorf("%q", got)
	}
	if got := base().Diff(base()); got != nil {
		t.Errorf("equal plans differ: %q", got)
	}
}
