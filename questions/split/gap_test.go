package split

import (
	"testing"

	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/transform/expr"
)

// FuzzGap: what a split with a gap leaves out is made of conditions that can be parsed, and the
// split as it is recorded means the same.
func FuzzGap(f *testing.F) {
	for _, s := range []string{
		`val=time >= "2019-01-01"; train=rest; gap=24h`, `a=x < 3; gap=.5;b=not (x <= 7 or x > 1e300)`, `a=-2 <= x < "2019-01-01T00:00Z"; gap=1us`,
		`gap=gap > 3; gap=7`, `a=field("x y") > --3.5; b=rest; gap=0.000000001`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := splits.Parse(text)
		if err != nil || findGap(r) != nil {
			return
		}
		again, err := splits.Parse(r.String())
		if err != nil || again.Gap != r.Gap || findGap(again) != nil || len(again.Near) != len(r.Near) {
			t.Fatalf("%q is recorded as %q: %v", text, r, err)
		}
		if r.Gap == "" {
			return
		}
		for _, text := range r.Tests() {
			if text == "" {
				continue
			}
			if _, err := expr.Parse(text); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
}
