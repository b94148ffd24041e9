package pipeline

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/dataset/stats"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/storage"
)

// StatsSettings say what a pass over all data looks for.
type StatsSettings struct {
	Jobs       int
	Memory     int64
	Duplicates bool // samples that occur more than once
	Thumbnails int  // images of a field that the report has
	Hooks      Hooks
	// Opened is called when the inputs are open, with the memory to stay under.
	Opened func(memory int64)
}

// Statistics is what a pass over all data has found.
type Statistics = stats.Report

// Stats reads everything once.
func Stats(ctx context.Context, r Inspection, s StatsSettings) (*Statistics, error) {
	jobs, _ := host.This().Jobs(s.Jobs)
	memory, _ := host.This().Budget(s.Memory)
	o, err := opened(ctx, r, jobs)
	if err != nil {
		return nil, err
	}
	defer o.Source.Close()
	if s.Opened != nil {
		s.Opened(memory)
	}
	want := stats.Options{Thumbnails: s.Thumbnails}
	if s.Duplicates {
		want.Duplicates = memory / 2
		for _, field := range o.Source.Schema() {
			if inspect.IsOrigin(&field) { // copies of one sample have an origin each
				want.Aside = append(want.Aside, field.Name)
			}
		}
	}
	var c stats.Progress
	stop := s.Hooks.follow(func() Progress { return Progress{Samples: c.Samples.Load(), Bytes: c.Bytes.Load()} })
	set, err := stats.Run(ctx, o.Source, shardify.NewPool(memory/4), jobs, want, &c)
	stop()
	if errors.Is(err, stats.ErrTooMany) {
		return nil, shardify.Hint(err, "give it more: --memory, or leave --duplicates out")
	}
	if err != nil {
		return nil, err
	}
	rep := set.Report()
	inspect.NameTypes(rep)
	return rep, nil
}

// SplitStats is what StatsOf found in a split, or in data without splits.
type SplitStats = inspect.SplitReport

// StatsOf reads everything once; of a set of splits, each split by itself, in the order of their
// names. empty are the splits without samples.
func StatsOf(ctx context.Context, r Inspection, s StatsSettings) (all []SplitStats, empty []string, err error) {
	rep, err := Stats(ctx, r, s)
	set, ok := errors.AsType[*dataset.SplitSet](err)
	switch {
	case err == nil:
		return []SplitStats{{Report: rep}}, nil, nil
	case !ok || len(r.Inputs) != 1 || len(set.Names) == 0:
		return nil, nil, err
	}
	for _, name := range set.Names {
		r.Inputs = []string{storage.Join(set.Folder, name)}
		if rep, err = Stats(ctx, r, s); err != nil {
			return nil, nil, err
		}
		all = append(all, SplitStats{Split: name, Report: rep})
	}
	return all, set.Empty, nil
}
