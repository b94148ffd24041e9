package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/window"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

// checkWindow refuses windows together with settings that do not keep rows in order.
func (s *Settings) checkWindow(split *splits.Rule) error {
	s.Window = value.Trimmed(s.Window)
	specs, err := view.ParseAll(s.Window)
	if err != nil {
		return shardify.Usage("--%v", err)
	}
	if len(specs) == 0 {
		return nil
	}
	if s.Shuffle != "" && s.Shuffle != plan.ShuffleNone && !s.copied() {
		return shardify.Usage("--window and --shuffle %s exclude each other: a window is of rows in order; the loader shuffles windows", s.Shuffle)
	}
	if split != nil && !split.Named() && split.GroupBy == "" {
		return shardify.Hint(shardify.Usage("--window and --split %s: rows drawn at random leave no windows, and neighbours on both sides", s.Split),
			"split by inputs (--split-from 'train=*2018*,val=*2019*'), or keep longer stretches together: --group-by FIELD")
	}
	if s.copied() {
		return s.checkCopied(specs, split)
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

// moves is the first setting that leaves rows out or moves them, "" without one.
func (s *Settings) moves(split *splits.Rule) string {
	for _, x := range []struct {
		name string
		on   bool
	}{
		{"split", split != nil}, {"where", len(s.Where) > 0}, {"fraction", len(s.Fraction) > 0}, {"drop-duplicates", len(s.DropDuplicates) > 0}, {"augment", len(s.Augment) > 0},
		{"join ... missing=drop", drops(s.Join)}, {"nan drop", drops(s.NaN)}, {"tokenize ... empty=drop", drops(s.Tokenize)},
		{"on-error skip", s.OnError == plan.OnErrorSkip}, {"group-rows", s.GroupRows != ""}, {"samples-from", s.SamplesFrom != ""},
	} {
		if x.on {
			return x.name
		}
	}
	return ""
}

// drops reports whether operations may leave samples out.
func drops(texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return slices.ContainsFunc(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,=", r) }), func(word string) bool { return word == "drop" })
	})
}

// checkAxes refuses windows by fields that the plan's samples do not have.
func checkAxes(p *plan.Plan, sink *format.Output) error {
	specs, err := window.Specs(p)
	if err != nil || len(specs) == 0 || p.Asked.Windowing != nil {
		return err
	}
	if !sink.Views {
		return shardify.Hint(shardify.Unsupported("windows of rows in shards of %s", p.Out.Format), "--format "+p.Out.Format+" copies rows into each window; --format mmap stores them once")
	}
	for i := range specs {
		if err := specs[i].Fits(p.Sample.Schema); err != nil {
			return err
		}
	}
	return nil
}

// copied reports whether rows are copied into windows: views need shards whose rows can be
// addressed.
func (s *Settings) copied() bool {
	sink, ok := writers.Lookup(s.Format)
	return ok && !sink.Views && len(s.Window) > 0
}

// windows makes windows of the rows that were opened, if they are copied, and returns how many a
// view has, if that is known beforehand.
func (s *Settings) windows(ctx context.Context, p *Prepared, src format.Input, o *readers.Opened, list []plan.Op) (*plan.Windowing, error) {
	if len(s.Window) == 0 || o.More != nil {
		return nil, nil
	}
	of := &plan.Plan{Asked: plan.Asked{Windowing: &plan.Windowing{Window: s.Window[0]}}, Steps: plan.Steps{Ops: list, Helpers: p.helpers}, Seed: s.Seed, Splits: plan.Splits{Rule: s.split}, In: plan.Inputs{Table: o.Args.Table}}
	if s.split != nil && s.split.Named() && !s.split.Objects {
		split := *s.split
		split.Parts, split.Inputs = slices.Clone(split.Parts), slices.Clone(split.Inputs)
		if err := split.ByInput(o.Args.Table); err != nil {
			return nil, err
		}
		of.Splits.Rule = &split
	}
	open := func(columns []string) (shardify.Source, error) {
		a := o.Args
		a.Columns = columns
		axis, err := src.Open(ctx, a)
		return axis, a.Table.Locate(err)
	}
	pool := shardify.NewPool(poolLimit(p.Memory))
	if !s.copied() {
		return nil, s.lookAtWindows(ctx, o.Source, of, pool, open)
	}
	x, err := window.Open(ctx, o.Source, of, misused(s.compiler()), pool, open)
	if err != nil {
		return nil, err
	}
	o.Source, p.Job.Source = x, x
	return of.Asked.Windowing, nil
}

// lookAtWindows notes how many windows there are, where the axis can be read by itself and
// nothing that happens to rows changes it.
func (s *Settings) lookAtWindows(ctx context.Context, rows shardify.Source, of *plan.Plan, pool *shardify.Pool, open func([]string) (shardify.Source, error)) error {
	_, apart := rows.(format.Ranger)
	grids := slices.ContainsFunc(rows.Schema(), func(f shardify.Field) bool { return f.Dims() != nil }) // of a table the axis is all of the text, perhaps
	if !apart || !grids || len(of.Steps.Ops) > 0 || len(of.Steps.Helpers) > 0 || s.split != nil && of.Splits.Rule == s.split || s.grouping != nil || s.OnError == plan.OnErrorSkip || s.Limit > 0 || s.Range != (Range{}) {
		return nil
	}
	for _, text := range s.Window {
		spec, err := view.Parse(text)
		if err != nil || spec.Axis == "" {
			continue
		}
		found, err := window.Look(ctx, rows, of, spec, pool, open)
		if err != nil {
			return err
		}
		s.beside.notes = append(s.beside.notes, found.Note(&spec))
	}
	return nil
}

// checkCopied refuses settings with which rows cannot be copied into windows.
func (s *Settings) checkCopied(specs []view.Spec, split *splits.Rule) error {
	text := specs[0].Text
	named := split
	if split != nil && split.Named() && !split.Objects {
		named = nil
	}
	reason := ""
	switch {
	case len(specs) > 1:
		reason = "samples are the windows of one --window"
	case named != nil:
		reason = "only --split-from by input gives the split of a row before it is read"
	case s.moves(named) != "":
		reason = "--" + s.moves(named) + " may leave rows out or move them, which is known when they are read"
	}
	if reason == "" {
		return nil
	}
	return shardify.Hint(shardify.Usage("--window %s with --format %s: %s", text, s.Format, reason),
		fmt.Sprintf("in two steps: shardify convert INPUT -o ROWS --format mmap --window %s; shardify convert ROWS -o OUT --format %s --view %s", text, s.Format, specs[0].Name))
}
