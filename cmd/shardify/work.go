package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// workFlags are the flags of work.
type workFlags struct {
	s             pipeline.Settings
	task          value.Number
	tasks, stride value.Count
	stage         string
	requeue       bool
}

func workCommand(p *program) *cobra.Command {
	f := &workFlags{}
	c := &cobra.Command{
		Use:   "work FOLDER [--task I --tasks T]",
		Short: "carry out one task of a plan",
		Long: `Task I of T, counted from 0, is a fixed part of the plan's units. Tasks may run at the same time, on several machines, again,
and in any order; what is done already is not done again.

Without --task the number comes from what has started the process: an array of Slurm, PBS, LSF, Grid Engine, Kubernetes (indexed
job), AWS or Google, and inside it the rank of MPI, srun, Flux or torchrun. What was found is printed. Engines that number their
processes but do not say how many there are want --tasks, and so does a Slurm array with gaps.

A plan with --shuffle global has two stages: scatter reads the inputs, gather writes the shards and needs what all tasks have
scattered. Without --stage a task does what it can: run every task twice, or run the stages one after the other. Exit code 3 says
that other tasks are not through with the first stage.`,
		Example: `shardify work photos-shards --task 3 --tasks 16
srun shardify work photos-shards`,
		Args: oneFolder,
	}
	c.Flags().Var(&f.task, "task", "number of this task, from 0; from the batch system if left out, else the whole plan")
	c.Flags().Var(&f.tasks, "tasks", "number of tasks; from the batch system if left out, else 1")
	c.Flags().Var(&f.stride, "stride", "do the tasks I, I+N, I+2N, ... instead of one")
	c.Flags().Var(value.OneOf(&f.stage, pipeline.StageAll, pipeline.StageScatter, pipeline.StageGather), "stage", "of a global shuffle: one stage alone")
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		addRunning(fs, &f.s)
		fs.StringVar(&f.s.Scratch, "scratch", "", "`FOLDER` on a disk of this node for shards in the making; they are copied out in one go when they are complete")
		fs.BoolVar(&f.requeue, "requeue", false, "in a Slurm job: when stopped before the time limit, have the job queued again")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		task := -1
		if c.Flags().Changed("task") {
			task = int(f.task)
		}
		t, err := pipeline.Locate(task, int(f.tasks), int(f.stride))
		if err != nil {
			return err
		}
		t.Stage = f.stage
		return p.workOn(c.Context(), args[0], f, t)
	}
	return c
}

func (p *program) workOn(ctx context.Context, folder string, f *workFlags, t pipeline.Task) error {
	s := f.s
	s.IgnoreTimes = p.anyTime
	s.Hooks = p.hooks(ctx, &cluster.Attempt{Command: "work", Stage: stageOf(t.Stage), Task: t.Task, Tasks: t.Tasks, Stride: t.Stride})
	begin := s.Hooks.Begin
	s.Hooks.Begin = func(x *pipeline.Prepared, units []int) func() {
		if f.requeue { // the last thing of all: Slurm then ends the job
			p.atEnd(func(code int) { p.requeue(ctx, code, x) })
		}
		end := begin(x, units)
		p.Note("%s (%s): %s, jobs %d (%s), memory %s (%s)", t, t.From, printable.Of(int64(len(units)), "unit"), x.Jobs, x.JobsWhy, shardify.FormatSize(x.Memory), x.MemoryWhy)
		return end
	}
	w, err := pipeline.Work(ctx, folder, t, s)
	if err != nil {
		return err
	}
	p.Object("work", struct {
		Output  string `json:"output"`
		Task    int    `json:"task"`
		Tasks   int    `json:"tasks"`
		Stride  int    `json:"stride,omitempty"`
		Units   int    `json:"units"`
		Shards  int64  `json:"shards"`
		Samples int64  `json:"samples"`
		Skipped int64  `json:"skipped"`
	}{w.Output, t.Task, t.Tasks, t.Stride, w.Units, w.Shards, w.Samples, w.Skipped})
	if w.Skipped > 0 {
		p.Note("skipped %s", printable.Of(w.Skipped, "sample"))
	}
	p.Result("done: %s, %s", t, printable.Of(w.Shards, "shard"))
	p.Result("next: shardify merge %s, when all tasks are done", printable.Quote(w.Output))
	return nil
}

func oneFolder(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return shardify.Hint(shardify.Usage("want one folder, not %d", len(args)), "see: "+c.CommandPath()+" --help")
	}
	return nil
}
