package transform

import (
	"fmt"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/transform/op"
)

// AssignInputs is a split whose parts are given by globs, with the part of each input.
func AssignInputs(split *splits.Rule, table *format.Table) (*splits.Rule, error) {
	if split == nil || len(split.Parts) == 0 || split.Parts[0].Glob == "" {
		return split, nil
	}
	var globs []string
	for _, p := range split.Parts {
		globs = append(globs, p.Glob)
	}
	in, err := op.ByGlobs(table, globs, true)
	if err != nil {
		return nil, fmt.Errorf("--split-from: %w", err)
	}
	s := *split
	s.Inputs = nil
	for _, r := range in {
		s.Inputs = append(s.Inputs, splits.InputPart{End: r.End, Part: r.Rule})
	}
	return &s, nil
}
