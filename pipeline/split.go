package pipeline

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
)

// parseSplit makes a split of the settings; nil if there is none.
func (s *Settings) parseSplit() (x *plan.Split, err error) {
	switch {
	case s.Split != "" && s.SplitFrom != "":
		return nil, shardify.Usage("--split and --split-from exclude each other")
	case s.Split != "":
		x, err = plan.ParseSplit(s.Split)
	case s.SplitFrom != "":
		x, err = plan.ParseSplitFrom(s.SplitFrom)
	case len(s.Identity) > 0 || s.Stratify != "" || s.GroupBy != "":
		return nil, shardify.Usage("--identity, --stratify and --group-by go with --split")
	default:
		return nil, nil
	}
	if err != nil {
		return nil, shardify.Usage("%s", format.Reason(err))
	}
	x.Identity, x.Stratify, x.GroupBy = value.Trimmed(s.Identity), s.Stratify, s.GroupBy
	return x, nil
}

// splitFields are the fields of the inputs that the split goes by; --set may have made
// others.
func (s *Settings) splitFields() (out []string) {
	if s.split == nil {
		return nil
	}
	var made []string
	for _, t := range s.Set {
		name, _, _ := strings.Cut(t, "=")
		name, _, _ = strings.Cut(name, ":")
		made = append(made, strings.TrimSpace(name))
	}
	for _, n := range s.split.Needs() {
		if !slices.Contains(made, n) {
			out = append(out, n)
		}
	}
	return out
}
