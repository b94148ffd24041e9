package transform

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/transform/op"
)

// AssignInputs is a split whose parts are given by globs, with the part of each input.
func AssignInputs(split *splits.Rule, src shardify.Source, table *format.Table) (*splits.Rule, error) {
	if split == nil || len(split.Parts) == 0 || split.Parts[0].Glob == "" {
		return split, nil
	}
	var globs []string
	for _, p := range split.Parts {
		globs = append(globs, p.Glob)
	}
	in, err := op.ByGlobs(table, globs, false)
	if err != nil {
		return nil, fmt.Errorf("--split-from: %w", err)
	}
	rules := make([]int, 0, table.Len())
	for _, r := range in {
		for len(rules) < int(r.End) {
			rules = append(rules, r.Rule)
		}
	}
	if f, ok := src.(format.Foldered); ok && f.Folders() != nil {
		if err := together(rules, f, table); err != nil {
			return nil, err
		}
	}
	s := *split
	s.Inputs = nil
	var none []int
	for i, rule := range rules {
		if rule < 0 {
			none = append(none, i)
		} else if n := len(s.Inputs); n > 0 && s.Inputs[n-1].Part == rule {
			s.Inputs[n-1].End = uint32(i + 1)
		} else {
			s.Inputs = append(s.Inputs, splits.InputPart{End: uint32(i + 1), Part: rule})
		}
	}
	if len(none) > 0 {
		return nil, shardify.Mismatch("--split-from: no glob takes %s, the first is %s", printable.Of(int64(len(none)), "input"), table.Name(none[0]))
	}
	return &s, nil
}

// together makes the rule of one file of a sample that of all, where files in several folders are
// one sample. Files of no sample take that of the file before them.
func together(rules []int, f format.Foldered, table *format.Table) error {
	first := map[string]int{} // a file of each sample, with a rule
	for i, rule := range rules {
		name, ok := f.Named(i)
		if !ok || rule < 0 {
			continue
		}
		if k, ok := first[name]; !ok {
			first[name] = i
		} else if rules[k] != rule {
			return shardify.Mismatch("--split-from: %s and %s are files of one sample, and in two splits", table.Name(k), table.Name(i))
		}
	}
	for i, rule := range rules {
		name, ok := f.Named(i)
		k, found := first[name]
		switch {
		case ok && rule < 0 && found:
			rules[i] = rules[k]
		case !ok && rule < 0:
			rules[i] = max(rules[max(i-1, 0)], 0)
		}
	}
	return nil
}
