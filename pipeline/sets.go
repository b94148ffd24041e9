package pipeline

import (
	"cmp"
	"context"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/pipeline/internal/sets"
	"github.com/shardify/shardify/storage/local"
)

// MergeSettings say how data sets become one.
type MergeSettings struct {
	Inputs    []string // folders of data sets, in the order of their samples
	Output    string
	Link      bool // hard links to the shards instead of copies
	Unchecked bool // do not read the inputs for damage first
	Jobs      int
	Sync      string
	// Planned is called when it is known what is to be done.
	Planned func(SetsPlan)
	Hooks   Hooks
}

// SetsPlan is what MergeSets does.
type SetsPlan = sets.MergePlan

// MergeSets makes one data set of several, without converting again.
func MergeSets(ctx context.Context, s MergeSettings) (*Result, error) {
	start := time.Now()
	switch {
	case len(s.Inputs) < 2:
		return nil, shardify.Hint(shardify.Usage("want two or more data sets, not %d", len(s.Inputs)), "for example: shardify merge-sets A B -o C")
	case s.Output == "":
		return nil, shardify.Hint(shardify.Usage("no output folder"), "say where the shards go: -o FOLDER")
	}
	o := sets.MergeOptions{Inputs: s.Inputs, Output: s.Output, Link: s.Link, Unchecked: s.Unchecked, Sync: local.Sync(cmp.Or(s.Sync, string(local.SyncShard))), Steps: new(stall.Board)}
	o.Jobs, _ = host.This().Jobs(s.Jobs)
	defer s.Hooks.watch(o.Steps.Watch)()
	x, err := sets.PlanMerge(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.Planned != nil {
		s.Planned(x.Plan())
	}
	m, err := x.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &Result{Output: s.Output, Manifest: m, Already: x.Plan().Complete, Took: time.Since(start)}, nil
}
