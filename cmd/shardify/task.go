package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/cluster"
)

// workOn does a task: the one that is given, else that of the batch system.
func (p *program) workOn(ctx context.Context, folder string, f *workFlags, given bool) error {
	task := -1
	if given {
		task = int(f.task)
	}
	t, err := pipeline.Locate(task, int(f.tasks), int(f.stride))
	if err != nil {
		return err
	}
	t.Stage = f.stage
	s := f.s
	s.IgnoreTimes = p.anyTime
	hooks := p.hooks(ctx, &cluster.Attempt{Command: "work", Stage: stageOf(t.Stage), Task: t.Task, Tasks: t.Tasks, Stride: t.Stride})
	begin := hooks.Begin
	hooks.Begin = func(x *pipeline.Prepared, units []int) func() {
		if f.requeue { // the last thing of all: Slurm then ends the job
			p.atEnd(func(code int) { p.requeue(ctx, code, x) })
		}
		end := begin(x, units)
		p.Note("%s (%s): %s, jobs %d (%s), memory %s (%s)", t, t.From, printable.Of(int64(len(units)), "unit"), x.Jobs, x.JobsWhy, shardify.FormatSize(x.Memory), x.MemoryWhy)
		return end
	}
	w, err := pipeline.Work(pipeline.WithHooks(ctx, hooks), folder, t, s)
	if err != nil {
		return err
	}
	p.Worked(w)
	return nil
}
