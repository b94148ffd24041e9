package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// Reopen loads the plan in an output folder. Of the settings those count that say how to
// run: Jobs, Memory, Sync, Scratch and IgnoreTimes.
func Reopen(ctx context.Context, output string, s Settings) (*Prepared, error) {
	r := newRun(ctx, s, false, nil)
	if err := r.complete(); err != nil {
		return nil, err
	}
	s = *r.Settings
	output = storages.Plain(output)
	store, err := storages.Open(output, storages.Output{Sync: local.Sync(s.Sync)})
	if err != nil {
		return nil, err
	}
	p := &Prepared{Output: output, Store: store, room: room{dir: output, space: spaceOf(output)}, State: StateResume, Local: s.Scratch, hooks: r.hooks}
	p.choose(s.Jobs, s.Memory)
	if p.Plan, err = plan.Load(p.Store); errors.Is(err, fs.ErrNotExist) {
		return nil, shardify.Hint(fmt.Errorf("%s holds no plan", output), "make one: shardify plan INPUT... -o "+printable.Quote(output))
	} else if err != nil {
		return nil, err
	}
	changed, err := index.Changed(p.Store)
	if err != nil {
		return nil, err
	}
	if changed {
		err := shardify.Unsupported("%s has had versions: its plan is that of the first one, whose samples are not made again", output)
		if !hasManifest(p.Store) {
			return nil, shardify.Hint(err, "take "+index.ManifestName+", which is gone, from a copy of the set")
		}
		return nil, shardify.Hint(err, "which there are: shardify log "+printable.Quote(output))
	}
	sink, ok := writers.Lookup(p.Plan.Out.Format)
	if !ok {
		return nil, shardify.Unsupported("output format %q of the plan", p.Plan.Out.Format)
	}
	p.Job = &convert.Job{Sink: sink, IgnoreTimes: s.IgnoreTimes}
	if hasManifest(p.Store) {
		p.State = StateComplete
	}
	p.again = &ask.Again{Plan: p.Plan, Memory: p.Memory, Jobs: p.Jobs}
	questions.Again(p.again, func(ctx context.Context, a format.OpenArgs) (shardify.Source, error) {
		src, ok := readers.Lookup(p.Plan.In.Format)
		if !ok {
			return nil, shardify.Unsupported("input format %q of the plan", p.Plan.In.Format)
		}
		return src.Open(ctx, a)
	})
	p.finish(p.again.Compile)
	return p, nil
}

// OpenSource opens the inputs as the plan knew them. The caller closes
// Job.Source.
func (p *Prepared) OpenSource(ctx context.Context) (err error) {
	if p.Plan.Pack.InParts() {
		src, ok := readers.Lookup(p.Plan.In.Format)
		if !ok {
			return shardify.Unsupported("input format %q of the plan", p.Plan.In.Format)
		}
		p.Job.Source = convert.NewPartSource(p.Plan, src.Open)
		return nil
	}
	p.Plan.In.Table.FS = storage.NewBound(storages.Files)
	p.again.Table = p.Plan.In.Table
	p.Job.Source, err = p.again.Open(ctx, p.Plan)
	return err
}
