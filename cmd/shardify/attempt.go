package main

import (
	"os"
	"time"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/version"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/storage/storages"
)

// attempt leaves a record of what this process does with a data set, for `status`. It is
// completed when the process ends, with what was reported then.
func (p *program) attempt(x *pipeline.Prepared, a cluster.Attempt) {
	a.Owner, a.Deadline = cluster.Self(os.Getenv)
	a.Program, a.Args = version.String(), storages.Arguments(append([]string{"shardify"}, os.Args[1:]...))
	a.Dir, _ = os.Getwd()
	a.Plan = x.Plan.Digest()
	a.Jobs, a.Memory = x.Jobs, x.Memory
	a.MemoryLimit, a.LimitFrom = host.This().Memory, host.This().MemoryFrom
	r, err := cluster.Begin(x.Output, a)
	if err != nil {
		p.Note("%-9sno record of this run for `shardify status`: %v", "note", err)
	}
	r.Follow(func() cluster.Work {
		c := &x.Job.Progress
		return cluster.Work{
			Samples: c.Samples.Load(), Bytes: c.Bytes.Load(), Resumed: c.Resumed.Load(), Gathered: c.Gathered.Load(),
			Shards: c.Shards.Load(), Skipped: c.Skipped.Load(),
		}
	})
	p.atEnd(func(code int) {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.End(cli.EndingOf(code, p.Reported()))
		}()
		select {
		case <-ended:
		case <-time.After(500 * time.Millisecond): // a file system that hangs must not keep us
		}
	})
}

// stageOf is the value of --stage as a record has it.
func stageOf(stage string) string {
	if stage == pipeline.StageAll {
		return ""
	}
	return stage
}
