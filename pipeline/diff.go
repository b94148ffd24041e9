package pipeline

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/diff"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
)

// Comparison says how two sets are compared.
type Comparison struct {
	By      string // the field that finds a sample in the other set; "" takes names, or all values
	Show    int    // how many samples of each kind are named
	Jobs    int
	Memory  int64
	Scratch string // the folder for what Memory does not hold, "" that of the system
	Hooks   Hooks
}

// Difference is how two sets differ.
type Difference = diff.Report

// Diff compares two data sets, or other inputs, sample by sample. Where their ids are equal it
// reads nothing more.
func Diff(ctx context.Context, a, b string, c Comparison) (*Difference, error) {
	jobs, _ := host.This().Jobs(c.Jobs)
	memory, _ := host.This().Budget(c.Memory)
	names := [2]string{a, b}
	var sets [2]diff.Set
	var from [2][]*readers.Opened
	var counts [2]int64
	for side, name := range names {
		id, samples, err := known(ctx, name)
		if err != nil {
			return nil, err
		}
		sets[side], counts[side] = diff.Set{Name: name, ID: id}, samples
	}
	if id := sets[0].ID; id != "" && id == sets[1].ID {
		return &Difference{A: diff.Side{Name: a, ID: id, Samples: counts[0]}, B: diff.Side{Name: b, ID: id, Samples: counts[1]}, Same: true, Equal: counts[0], Fields: []diff.Field{}, Classes: []diff.Class{}, Samples: []diff.Sample{}}, nil
	}
	defer func() {
		for _, o := range slices.Concat(from[0], from[1]) {
			o.Source.Close()
		}
	}()
	for side, name := range names {
		all, splits, err := openedAs(ctx, name, jobs)
		for i, o := range all {
			if o != nil {
				from[side] = append(from[side], o)
				sets[side].Parts = append(sets[side].Parts, diff.Part{Split: splits[i], Source: o.Source, Table: o.Args.Table})
			}
		}
		if _, ok := errors.AsType[*format.Ambiguous](err); ok {
			err = shardify.Annotate(err, "open", name, "") // which of the two
		}
		if err != nil {
			return nil, err
		}
	}
	dir := local.NewDir("", local.SyncNone)
	defer dir.DropScratch()
	scratch := func() (*os.File, error) {
		if err := dir.SetScratch(cmp.Or(c.Scratch, os.TempDir())); err != nil {
			return nil, err
		}
		return dir.Scratch()
	}
	var n diff.Progress
	stop := c.Hooks.follow(func() Progress { return Progress{Samples: n.Samples.Load(), Bytes: n.Bytes.Load()} })
	r, err := diff.Run(ctx, sets[0], sets[1], diff.Options{By: c.By, Jobs: jobs, Memory: memory, Show: c.Show, Scratch: scratch, Progress: &n})
	stop()
	if err != nil {
		return nil, err
	}
	for i := range r.Samples {
		if err := nameSample(ctx, &r.Samples[i], r.By, sets, from); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// known is the id of a set and its samples; "" of inputs that are no set with a manifest.
func known(ctx context.Context, name string) (string, int64, error) {
	id, err := ID(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	_, m, err := ManifestOf(name)
	if err != nil {
		return "", 0, err
	}
	return id, m.Samples, nil
}

// nameSample reads what a sample is called, and the values that changed.
func nameSample(ctx context.Context, s *diff.Sample, by string, sets [2]diff.Set, from [2][]*readers.Opened) error {
	var shown [2]*inspect.Shown
	for side, at := range [2]struct {
		split string
		n     int64
	}{{s.SplitA, s.A}, {s.SplitB, s.B}} {
		if at.n < 0 {
			continue
		}
		k := slices.IndexFunc(sets[side].Parts, func(p diff.Part) bool { return p.Split == at.split })
		var err error
		if shown[side], err = inspect.Sample(ctx, from[side][k].Source, from[side][k].Args.Table, at.n); err != nil {
			return err
		}
	}
	text := func(side int, field string) string {
		i := slices.IndexFunc(shown[side].Values, func(v inspect.Value) bool { return v.Field == field })
		if i < 0 {
			return ""
		}
		return shown[side].Values[i].Text
	}
	side := 0
	if shown[0] == nil {
		side = 1
	}
	switch by {
	case diff.ByName:
		s.Key = shown[side].Key
	case diff.ByContents:
	default:
		s.Key = text(side, by)
	}
	for _, f := range s.Fields {
		if f == diff.SplitField {
			s.Values = append(s.Values, [2]string{s.SplitA, s.SplitB})
			continue
		}
		s.Values = append(s.Values, [2]string{text(0, f), text(1, f)})
	}
	return nil
}
