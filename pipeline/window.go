package pipeline

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/window"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
)

// checkWindow refuses windows that other settings leave no rows in order for.
func (s *Settings) checkWindow(split *plan.Split) error {
	s.Window = value.Trimmed(s.Window)
	specs, err := view.ParseAll(s.Window)
	if err != nil {
		return shardify.Usage("--%v", err)
	}
	if len(specs) == 0 {
		return nil
	}
	if s.Copies > 1 {
		return shardify.Usage("--window and --copies exclude each other: the copies of a row stand at the same place")
	}
	if s.Shuffle != "" && s.Shuffle != plan.ShuffleNone {
		return shardify.Usage("--window and --shuffle %s exclude each other: a window is of rows in order; the loader shuffles windows", s.Shuffle)
	}
	if split != nil && !split.Named() && split.GroupBy == "" {
		return shardify.Hint(shardify.Usage("--window and --split %s: rows drawn at random leave no windows, and neighbours on both sides", s.Split),
			"split by inputs (--split-from 'train=*2018*,val=*2019*'), or keep longer stretches together: --group-by FIELD")
	}
	if len(s.Patch) > 0 {
		return shardify.Usage("--window and --patch exclude each other: the patches of a row have the same time")
	}
	for i := range specs {
		if specs[i].Axis != "" {
			continue
		}
		if name := s.moves(split); name != "" {
			return shardify.Usage("--window %s with --%s: rows that are left out or moved change the numbers of others; choose rows by a field, such as time=%s", specs[i].Text, name, specs[i].Text)
		}
	}
	return nil
}

// moves is the first setting that leaves rows out or moves them, "" if there is none.
func (s *Settings) moves(split *plan.Split) string {
	for _, x := range []struct {
		name string
		on   bool
	}{
		{"split", split != nil}, {"where", len(s.Where) > 0}, {"fraction", len(s.Fraction) > 0}, {"augment", len(s.Augment) > 0},
		{"join ... missing=drop", drops(s.Join)}, {"nan drop", drops(s.NaN)}, {"tokenize ... empty=drop", drops(s.Tokenize)},
		{"on-error skip", s.OnError == plan.OnErrorSkip}, {"group-rows", s.GroupRows != ""}, {"samples-from", s.SamplesFrom != ""},
	} {
		if x.on {
			return x.name
		}
	}
	return ""
}

// drops tells whether operations may leave samples out.
func drops(texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,=", r) }), func(word string) bool { return word == "drop" })
	})
}

// checkAxes refuses windows by fields that the plan's samples do not have.
func checkAxes(p *plan.Plan, sink *format.Output) error {
	specs, err := window.Specs(p)
	if err != nil || len(specs) == 0 {
		return err
	}
	if !sink.Views {
		return shardify.Unsupported("windows of rows in shards of %s: want mmap", p.Output)
	}
	for i := range specs {
		if err := specs[i].Fits(p.Schema); err != nil {
			return err
		}
	}
	return nil
}
