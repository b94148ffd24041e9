package main

import (
	"os"

	"github.com/shardify/shardify/cmd/internal/cli"
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
		Long: `Task I of T, counted from 0, is a fixed part of the plan's units. Tasks may run at the same time, on several machines,
repeatedly and in any order; finished work is not repeated.

Without --task the number comes from the system that started the process: an array of Slurm, PBS, LSF, Grid Engine, Kubernetes (indexed
job), AWS or Google, and inside it the rank of MPI, srun, Flux or torchrun. What was found is printed. Engines that number their
processes but do not say how many there are need --tasks, and so does a Slurm array with gaps.

A plan with --shuffle global has two stages: scatter reads the inputs, gather writes the shards and needs what all tasks have
scattered. Without --stage a task does what it can: run every task twice, or run the stages one after the other. Exit code 3 says
that other tasks have not finished the first stage.`,
		Example: `shardify work photos-shards --task 3 --tasks 16
srun shardify work photos-shards`,
		Args: cli.OneFolder,
	}
	c.Flags().Var(&f.task, "task", "number of this task, from 0; from the batch system if left out, else the whole plan")
	c.Flags().Var(&f.tasks, "tasks", "number of tasks; from the batch system if left out, else 1")
	c.Flags().Var(&f.stride, "stride", "do the tasks I, I+N, I+2N, ... instead of one")
	c.Flags().Var(value.OneOf(&f.stage, pipeline.StageAll, pipeline.StageScatter, pipeline.StageGather), "stage", "of a global shuffle: one stage alone")
	cli.Grouped(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		addRunning(fs, &f.s)
		fs.StringVar(&f.s.Scratch, "scratch", "", "`FOLDER` on a disk of this node for unfinished shards; each is copied to the output when it is complete")
		fs.BoolVar(&f.requeue, "requeue", false, "in a Slurm job: when stopped before the time limit, have the job queued again")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		return p.workOn(c.Context(), args[0], f, c.Flags().Changed("task"))
	}
	cli.AddEffects(c, cli.Effects{
		"requeue": cli.If(func() bool { return os.Getenv("SLURM_JOB_ID") == "" }, "this is no job of Slurm"),
		"task":    nil, "tasks": nil, "stride": nil, "stage": nil, "jobs": nil, "memory": nil, "sync": nil, "scratch": nil,
	})
	return c
}
