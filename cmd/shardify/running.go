package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
)

// hooks are what this process does while a conversion runs: it shows how far it is, keeps
// within its memory, ends when nothing moves, and leaves a record, if there is one.
func (p *program) hooks(ctx context.Context, record *cluster.Attempt) pipeline.Hooks {
	bar := p.NewBar()
	h := pipeline.Hooks{Chosen: limitMemory, Every: bar.Every(), Stall: p.stall, Stalled: func(err error) { os.Exit(p.end(p.Report(ctx, "shardify", err))) }}
	if !p.Quiet {
		h.Progress = bar.Converting
	}
	h.Begin = func(x *pipeline.Prepared, _ []int) func() {
		if record != nil {
			p.attempt(x, *record)
		}
		p.Begun.Store(true)
		limitMemory(x.Memory)
		if host.This().Login {
			runtime.GOMAXPROCS(min(runtime.GOMAXPROCS(0), max(x.Jobs, host.LoginJobs)))
		}
		return bar.Clear
	}
	return h
}

// limitMemory asks the runtime to collect garbage rather than to grow past the budget,
// unless the user has said what it should do.
func limitMemory(budget int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(budget)
	}
}
