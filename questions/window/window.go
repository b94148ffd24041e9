package window

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers"
)

// Question is that of windows of rows.
var Question = ask.Question{Name: "window", Keys: []string{"window"}, New: func() ask.Asked { return &windows{} }, Again: again, Record: record, Verify: verifyAll}

type windows struct{ ask.Nothing }

// Check implements ask.Asked.
func (*windows) Check(c *ask.Conversion) error {
	c.Window = value.Trimmed(c.Window)
	c.Once = c.Once || copied(c.Settings)
	return check(c.Settings, c.Draft.Splits.Rule)
}

// Open implements ask.Asked. It makes windows of the rows, if they are copied, and notes how many a view has, if that is
// known beforehand.
func (*windows) Open(ctx context.Context, c *ask.Conversion) error {
	if x := c.Draft.Splits.Rule; x != nil && x.Dirs && c.SplitFrom == "" {
		if err := check(c.Settings, x); err != nil {
			return shardify.Hint(err, "the folders "+strings.Join(splits.Found(format.FoldersOf(c.Opened.Source, c.Opened.Args.Table)), ", ")+" are taken for splits; one set of all: --split-from none")
		}
	}
	if len(c.Window) == 0 || c.Opened.More != nil {
		return nil
	}
	of := c.Draft
	of.Asked.Windowing, of.In.Table = &plan.Windowing{Window: c.Window[0]}, c.Opened.Args.Table
	if x := of.Splits.Rule; x != nil && x.Named() && !x.Objects {
		split := *x
		split.Parts, split.Inputs = slices.Clone(split.Parts), slices.Clone(split.Inputs)
		if err := split.ByInput(format.FoldersOf(c.Opened.Source, of.In.Table)); err != nil {
			return err
		}
		of.Splits.Rule = &split
	}
	open := func(columns []string) (shardify.Source, error) {
		return c.Reopen(ctx, func(a *format.OpenArgs) { a.Columns = columns })
	}
	if !copied(c.Settings) {
		return look(ctx, c, &of, open)
	}
	x, err := Open(ctx, c.Opened.Source, &of, ask.Misused(c.Compile), c.Pool(), open)
	if err != nil {
		return err
	}
	c.Opened.Source, c.Draft.Asked.Windowing = x, of.Asked.Windowing
	return nil
}

// Planned implements ask.Asked. It refuses windows by fields that the plan's samples do not have.
func (*windows) Planned(_ context.Context, _ *ask.Conversion, p *plan.Plan, sink *format.Output) error {
	specs, err := Specs(p)
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

// again makes windows of rows as the plan says.
func again(a *ask.Again) {
	open := a.Open
	a.Open = func(ctx context.Context, p *plan.Plan) (shardify.Source, error) {
		if p.Asked.Windowing == nil {
			return open(ctx, p)
		}
		of := *p
		var err error
		if of.In.State, err = Inner(p.In.State); err != nil {
			return nil, err
		}
		rows, err := open(ctx, &of)
		if err != nil {
			return nil, err
		}
		of.In.State, of.In.Table = p.In.State, a.Table
		s, err := Open(ctx, rows, &of, a.Compile, nil, nil)
		if err != nil {
			rows.Close()
			return nil, err
		}
		return s, nil
	}
}

func record(_ context.Context, p *plan.Plan, _, store storage.Store, m *index.Manifest) error {
	return Views(p, store, m)
}

func verifyAll(store storage.Store, m *index.Manifest, wrong func(what string)) error {
	if len(m.Windows) == 0 {
		return nil
	}
	err := Verify(store, m, func(name, what string) { wrong("window " + name + ": " + what) })
	if err != nil {
		err = fmt.Errorf("windows: %w", err)
	}
	return err
}

// check refuses windows together with settings that do not keep rows in order.
func check(s *settings.Settings, split *splits.Rule) error {
	specs, err := view.ParseAll(s.Window)
	if err != nil {
		return shardify.Usage("--%v", err)
	}
	if len(specs) == 0 {
		return nil
	}
	if s.Shuffle != "" && s.Shuffle != plan.ShuffleNone && !copied(s) {
		return shardify.Usage("--window and --shuffle %s exclude each other: a window is of rows in order; the loader shuffles windows", s.Shuffle)
	}
	if split != nil && !split.Named() && !split.ByValue() && split.GroupBy == "" {
		return shardify.Hint(shardify.Usage("--window and --split %s: rows drawn at random leave no windows, and neighbours on both sides", s.Split),
			"split by inputs (--split-from 'train=*2018*,val=*2019*') or by time (--split 'train=time < \"2019-01-01\"; val=rest'), or keep longer stretches together: --group-by FIELD")
	}
	if copied(s) {
		return checkCopied(s, specs, split)
	}
	for i := range specs {
		if specs[i].Axis != "" {
			continue
		}
		if name := moves(s, split); name != "" {
			err := shardify.Usage("--window %s with --%s: rows that are left out or moved change the numbers of others", specs[i].Text, name)
			hint := fmt.Sprintf("count by the values of a field in place of rows, as in --window time=%s", specs[i].Text)
			if split != nil && split.Named() && !split.Objects && s.Moving("window") == "" && len(specs) == 1 {
				hint = fmt.Sprintf("--format %s copies each window, of the rows of one split; or %s", copying(), hint)
			}
			return shardify.Hint(err, hint)
		}
	}
	return nil
}

// moves is the first setting that leaves rows out or moves them, "" without one.
func moves(s *settings.Settings, split *splits.Rule) string {
	switch {
	case split != nil && s.Split == "":
		return format.SplitFrom
	case split != nil:
		return "split"
	}
	return s.Moving("window")
}

// copying is the first output format whose shards have windows as samples.
func copying() string {
	for _, f := range writers.Formats {
		if !f.Views {
			return f.Name
		}
	}
	return ""
}

// copied reports whether rows are copied into windows: views need shards whose rows can be
// addressed.
func copied(s *settings.Settings) bool {
	sink, ok := writers.Lookup(s.Format)
	return ok && !sink.Views && len(s.Window) > 0
}

// look notes how many windows there are, where the axis can be read by itself and
// nothing that happens to rows changes it.
func look(ctx context.Context, c *ask.Conversion, of *plan.Plan, open func([]string) (shardify.Source, error)) error {
	rows := c.Opened.Source
	_, apart := rows.(format.Ranger)
	grids := slices.ContainsFunc(rows.Schema(), func(f shardify.Field) bool { return f.Dims() != nil }) // of a table the axis is all of the text, perhaps
	if !apart || !grids || len(of.Steps.Ops) > 0 || len(of.Steps.Helpers) > 0 || c.Draft.Splits.Rule != nil && of.Splits.Rule == c.Draft.Splits.Rule || c.Draft.Asked.Grouping != nil || c.OnError == plan.OnErrorSkip || c.Limit > 0 || c.Range != (settings.Range{}) {
		return nil
	}
	for _, text := range c.Window {
		spec, err := view.Parse(text)
		if err != nil || spec.Axis == "" {
			continue
		}
		found, err := Look(ctx, rows, of, spec, c.Pool(), open)
		if err != nil {
			return err
		}
		c.Note(found.Note(&spec))
	}
	return nil
}

// checkCopied refuses settings with which rows cannot be copied into windows.
func checkCopied(s *settings.Settings, specs []view.Spec, split *splits.Rule) error {
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
	case moves(s, named) != "":
		reason = "--" + moves(s, named) + " may leave rows out or move them, which is known when they are read"
	}
	if reason == "" {
		return nil
	}
	err := shardify.Usage("--window %s with --format %s: %s", text, s.Format, reason)
	if named != nil && named.ByValue() && s.Split != "" && len(specs) == 1 {
		if specs[0].Axis == "" {
			text = "time=" + text
			err = shardify.Usage("--window %s with --format %s: %s; windows by the values of a field, such as time, are of one split", specs[0].Text, s.Format, reason)
		}
		return shardify.Hint(err, fmt.Sprintf("in two steps: shardify convert INPUT -o ROWS --format mmap --window %s --split %s; then of each split: shardify convert ROWS/SPLIT -o OUT/SPLIT --format %s --view %s",
			text, printable.Quote(s.Split), s.Format, specs[0].Name))
	}
	return shardify.Hint(err,
		fmt.Sprintf("in two steps: shardify convert INPUT -o ROWS --format mmap --window %s; shardify convert ROWS -o OUT --format %s --view %s", text, s.Format, specs[0].Name))
}
