package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/transform"
)

// orderLines prints where samples go, and in which order.
func orderLines(p *pipeline.Prepared, line func(label, format string, args ...any)) {
	x := p.Plan
	for _, f := range x.Steps.Findings {
		line("found", "%s: %s", f.What, shorten(f.Brief()))
	}
	if x.Splits.Rule != nil && len(x.Splits.Rule.Inputs) > 0 {
		line("split", "%s: %s", x.Splits.Rule, strings.Join(x.Splits.Names(), ", "))
	} else if x.Splits.Rule != nil && x.Splits.Rule.ByValue() {
		line("split", "%s", byValue(x.Splits.Rule))
	} else if x.Splits.Rule != nil {
		line("split", "%s%s (seed %d)", x.Splits.Rule, by(x.Splits.Rule), x.Seed)
	}
	switch x.Order.Shuffle {
	case plan.ShuffleGlobal:
		line("shuffle", "global: uniform over all samples (seed %d); about %s of scratch in %s until the end", x.Seed, shardify.FormatSize(plan.ShuffleBytes(x)), p.ScratchFolder())
	case plan.ShuffleBlock:
		line("shuffle", "block: the samples of each shard among themselves (seed %d)", x.Seed)
	default:
		line("shuffle", "none: samples stay in the order of the inputs%s", orderWarning(p))
	}
}

// byValue is a split by the values of samples.
func byValue(s *splits.Rule) string {
	text := s.String()
	switch {
	case s.Column != "":
		var names []string
		for _, p := range s.Parts {
			names = append(names, p.Name)
		}
		text += ": " + strings.Join(names, ", ")
	case !slices.ContainsFunc(s.Parts, func(p splits.Part) bool { return p.Rest }):
		text += "; samples for which no condition holds are dropped"
	}
	if s.Gap != "" {
		text += fmt.Sprintf("; gap: more than %s of %s is between samples of two splits: those of the rest are left out, else those before the border", s.Gap, s.Over)
	}
	if s.GroupBy != "" {
		text += "; samples with one " + s.GroupBy + " are in one split"
	}
	return text
}

func by(s *splits.Rule) string {
	switch {
	case s.GroupBy != "":
		return ", samples with one " + s.GroupBy + " together"
	case s.Stratify != "":
		return ", each " + s.Stratify + " in proportion"
	case len(s.Identity) > 0:
		return ", by " + strings.Join(s.Identity, ",")
	}
	return ""
}

// orderWarning names the cure where the order of the inputs says what the samples are.
func orderWarning(p *pipeline.Prepared) string {
	constant := slices.ContainsFunc(p.Plan.Steps.Ops, func(o plan.Op) bool { return o.Name == transform.Set })
	switch n, _ := p.Plan.In.Total(); {
	case n > 1 && constant:
		return "; the constants of --set say which input a sample is from, and equal ones stand together: --shuffle global mixes them"
	case n > 1:
		return fmt.Sprintf("; those of %s follow each other: --shuffle global mixes them", printable.Of(n, "input"))
	}
	return ""
}

func shorten(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
