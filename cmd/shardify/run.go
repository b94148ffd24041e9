package main

import (
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/driver"
	"github.com/spf13/cobra"
)

func runCommand(p *program) *cobra.Command {
	var tasks, atOnce, jobs, tries value.Jobs
	var memory value.Memory
	var engine, grow string
	c := &cobra.Command{
		Use:   "run FOLDER [-- FLAG OF work...]",
		Short: "carry out a plan as processes of this machine, and merge",
		Long: `Starts the tasks of the plan in FOLDER that are not done, each as a process, so that one that is killed costs one task. Tasks that
were stopped or killed (exit codes 75, 130, 137, 143) are run again; those that failed (1, 2, 3) are not. When all are done it merges.
The folder has the state: a run that was itself killed goes on with the same command, and status shows how far it is.

From Python, shardify.run does the same on Dask, Ray, Parsl, MPI and pools of processes. Batch systems: shardify submit.`,
		Example: `shardify run photos-shards
shardify run photos-shards --tasks 8 --at-once 4 --memory 2GiB`,
	}
	fs := c.Flags()
	fs.Var(value.OneOf(&engine, "local"), "engine", "where the tasks run: processes of this machine")
	fs.Var(&tasks, "tasks", "tasks that the plan is divided into; four for each that runs at the same time if left out")
	fs.Var(&atOnce, "at-once", "tasks that run at the same time; one for each core if left out")
	fs.Var(&jobs, "jobs", "cores of a task; an equal part of this machine's if left out")
	fs.Var(&memory, "memory", "memory of a task; an equal part of a quarter of this machine's if left out")
	fs.Var(&tries, "tries", "most tries of a task; 5 if left out")
	fs.Var(value.OneOf(&grow, "none", "double"), "grow", "whether a task that was killed gets twice as much memory at its next try")
	c.RunE = func(c *cobra.Command, args []string) error {
		var work []string
		if n := c.ArgsLenAtDash(); n >= 0 {
			args, work = args[:n], args[n:]
		}
		if err := cli.OneFolder(c, args); err != nil {
			return err
		}
		j := driver.Job{
			Folder: args[0], Tasks: int(tasks), AtOnce: int(atOnce), Jobs: int(jobs), Memory: int64(memory), Work: work, Said: p.Note,
			Rules: driver.Rules{Tries: int(tries), Double: grow == "double"},
		}
		d, err := j.Here(c.Context())
		if err != nil {
			return err
		}
		p.Object("run", d)
		p.Result("done: %s in %s; %s, %d lost", printable.Of(d.Samples, "sample"), d.Output, printable.Of(int64(d.Tries), "attempt"), d.Lost)
		return nil
	}
	return c
}
