package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers"
)

// Reopen loads the plan in an output folder.
func Reopen(output string, sync local.Sync, jobs int, memory int64, m host.Machine) (*Prepared, error) {
	p := &Prepared{Output: output, Store: local.NewDir(output, sync), Room: room{dir: output, space: host.SpaceOf(output)}, State: StateResume}
	p.choose(jobs, memory, m)
	var err error
	if p.Plan, err = convert.LoadPlan(p.Store); errors.Is(err, fs.ErrNotExist) {
		return nil, Hint(fmt.Errorf("%s holds no plan", output), "make one: shardify plan INPUT... -o "+Quote(output))
	} else if err != nil {
		return nil, err
	}
	sink, ok := writers.Lookup(p.Plan.Output)
	if !ok {
		return nil, shardify.Unsupported("output format %q of the plan", p.Plan.Output)
	}
	p.Job = &convert.Job{Sink: sink}
	if complete(p.Store) {
		p.State = StateComplete
	}
	p.finish()
	return p, nil
}

// OpenSource opens the inputs as the plan knew them. The caller closes
// Job.Source.
func (p *Prepared) OpenSource(ctx context.Context) error {
	src, ok := readers.Lookup(p.Plan.Input)
	if !ok {
		return shardify.Unsupported("input format %q of the plan", p.Plan.Input)
	}
	if p.Plan.InParts() {
		p.Job.Source = convert.NewPartSource(p.Plan, src.Open)
		return nil
	}
	s, err := src.Open(ctx, shardify.OpenArgs{
		Table: p.Plan.Table, Columns: p.Plan.Columns, Options: p.Plan.InputOptions, State: p.Plan.State, Jobs: p.Jobs,
	})
	if err != nil {
		return err
	}
	p.Job.Source = s
	return nil
}
