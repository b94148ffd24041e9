package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func workCommand(p *program) *cobra.Command {
	var task, tasks, jobs cli.CountValue
	var memory cli.SizeValue
	var sync cli.EnumValue
	stage := cli.EnumValue{Values: []string{stageAll, stageScatter, stageGather}, Value: stageAll}
	c := &cobra.Command{
		Use:   "work FOLDER [--task I --tasks T]",
		Short: "carry out one task of a plan",
		Long: `Task I of T, counted from 0, is a fixed part of the plan's units. Tasks may run at the same time, on several machines, again,
and in any order; what is done already is not done again.

A plan with --shuffle global has two stages: scatter reads the inputs, gather writes the shards and needs what all tasks have
scattered. Without --stage a task does what it can: run every task twice, or run the stages one after the other. Exit code 3 says
that other tasks are not through with the first stage.`,
		Example: "shardify work photos-shards --task 3 --tasks 16",
		Args:    oneFolder,
	}
	c.Flags().Var(&task, "task", "number of this task, from 0; the whole plan is task 0 of 1")
	c.Flags().Var(&tasks, "tasks", "number of tasks; 1 if left out")
	c.Flags().Var(&stage, "stage", "of a global shuffle: one stage alone")
	group(c.Flags(), "Running", func(fs *pflag.FlagSet) { addRunning(fs, &jobs, &memory, &sync) })
	c.RunE = func(c *cobra.Command, args []string) error {
		n := max(int(tasks), 1)
		if n > 1 && !c.Flags().Changed("task") {
			return cli.Usage("--tasks %d without --task: which of them is this?", n)
		}
		if int(task) >= n {
			return cli.Usage("--task %d of --tasks %d: tasks are counted from 0", task, n)
		}
		x, err := cli.Reopen(args[0], store.Sync(sync.Value), int(jobs), int64(memory), p.machine)
		if err != nil {
			return err
		}
		if err := x.OpenSource(c.Context()); err != nil {
			return err
		}
		defer x.Job.Source.Close()
		if err := x.Clear(); err != nil {
			return err
		}
		limitMemory(x.Memory)
		units := x.Plan.Task(int(task), n)
		p.Note("task %d of %d: %s, jobs %d (%s), memory %s (%s)", task, n, cli.Of(int64(len(units)), "unit"), x.Jobs, x.JobsWhy, cli.Size(x.Memory), x.MemoryWhy)
		stop := p.Watch(x.Plan, units, &x.Job.Progress)
		err = p.work(c.Context(), x, stage.Value, int(task), n)
		stop()
		if err != nil {
			return hintWaiting(err, x, int(task), n)
		}
		p.workDone(x, int(task), n, len(units))
		return nil
	}
	return c
}

// The choices of --stage.
const (
	stageAll     = "all"
	stageScatter = "scatter"
	stageGather  = "gather"
)

func (p *program) work(ctx context.Context, x *cli.Prepared, stage string, task, tasks int) error {
	if stage != stageAll && x.Plan.Shuffle != convert.ShuffleGlobal {
		return cli.Usage("--stage %s: the plan has no global shuffle, and so no stages", stage)
	}
	switch stage {
	case stageScatter:
		return x.Job.Work(ctx, x.Plan.Task(task, tasks))
	case stageGather:
		return x.Job.Gather(ctx, x.Plan.GatherTask(task, tasks))
	}
	return x.Job.Task(ctx, task, tasks)
}

// hintWaiting tells what to do about the tasks that a shuffle waits for.
func hintWaiting(err error, x *cli.Prepared, task, tasks int) error {
	var w *convert.Waiting
	if !errors.As(err, &w) {
		return err
	}
	missing := map[int]bool{}
	for _, i := range w.Portions {
		missing[i] = true
	}
	var others []string
	for t := range tasks {
		for _, u := range x.Plan.Task(t, tasks) {
			if x := x.Plan.Units[u]; missing[x.Lo] {
				others = append(others, strconv.Itoa(t))
				break
			}
		}
	}
	return cli.Hint(err, fmt.Sprintf("the first stage of task %s of %d is not done; what this task has scattered stays", cli.Few(others), tasks),
		fmt.Sprintf("when it is, run this again: shardify work %s --task %d --tasks %d", cli.Quote(x.Output), task, tasks))
}

func (p *program) workDone(x *cli.Prepared, task, tasks, units int) {
	skipped := x.Job.Progress.Skipped.Load()
	p.Object("work", struct {
		Output  string `json:"output"`
		Task    int    `json:"task"`
		Tasks   int    `json:"tasks"`
		Units   int    `json:"units"`
		Shards  int64  `json:"shards"`
		Samples int64  `json:"samples"`
		Skipped int64  `json:"skipped"`
	}{x.Output, task, tasks, units, x.Job.Progress.Shards.Load(), x.Job.Progress.Samples.Load(), skipped})
	if skipped > 0 {
		p.Note("skipped %s", cli.Of(skipped, "sample"))
	}
	p.Result("done: task %d of %d, %s", task, tasks, cli.Of(x.Job.Progress.Shards.Load(), "shard"))
	p.Result("next: shardify merge %s, when all tasks are done", cli.Quote(x.Output))
}

func oneFolder(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usage("want one folder, not %d", len(args))
	}
	return nil
}
