package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/storage/local"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// workFlags are the flags of work.
type workFlags struct {
	task                cli.NumberValue
	tasks, stride, jobs cli.CountValue
	memory              cli.MemoryValue
	sync, stage         cli.EnumValue
	requeue             bool
	scratch             string
}

func workCommand(p *program) *cobra.Command {
	f := &workFlags{stage: cli.EnumValue{Values: []string{stageAll, stageScatter, stageGather}, Value: stageAll}}
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
	c.Flags().Var(&f.stage, "stage", "of a global shuffle: one stage alone")
	group(c.Flags(), "Running", func(fs *pflag.FlagSet) {
		addRunning(fs, &f.jobs, &f.memory, &f.sync)
		fs.StringVar(&f.scratch, "scratch", "", "`FOLDER` on a disk of this node for shards in the making; they are copied out in one go when they are complete")
		fs.BoolVar(&f.requeue, "requeue", false, "in a Slurm job: when stopped before the time limit, have the job queued again")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := f.share(c.Flags())
		if err != nil {
			return err
		}
		return p.workOn(c.Context(), args[0], f, s)
	}
	return c
}

func (p *program) workOn(ctx context.Context, folder string, f *workFlags, s share) error {
	x, err := cli.Reopen(folder, local.Sync(f.sync.Value), int(f.jobs), int64(f.memory), p.machine)
	if err != nil {
		return err
	}
	if f.requeue { // the last thing of all: Slurm then ends the job
		p.atEnd(func(code int) { p.requeue(ctx, code, x) })
	}
	p.attempt(x, cluster.Attempt{Command: "work", Stage: stageOf(f.stage.Value), Task: s.task, Tasks: s.tasks, Stride: s.stride})
	if err := x.OpenSource(ctx); err != nil {
		return err
	}
	defer x.Job.Source.Close()
	x.Local = f.scratch
	if err := x.Clear(); err != nil {
		return err
	}
	defer p.begin(ctx, x)()
	units := s.units(x.Plan)
	p.Note("%s (%s): %s, jobs %d (%s), memory %s (%s)", s, s.from, cli.Of(int64(len(units)), "unit"), x.Jobs, x.JobsWhy, cli.Size(x.Memory), x.MemoryWhy)
	stop := p.Watch(x.Plan, units, &x.Job.Progress)
	err = p.work(ctx, x, f.stage.Value, s, units)
	stop()
	if err != nil {
		return x.Removed(hintWaiting(err, x, s))
	}
	p.workDone(x, s, len(units))
	return nil
}

// share is the tasks that one process does: task, task+stride, ... below tasks; one task
// for stride 0.
type share struct {
	task, tasks, stride int
	from                string // who says so
}

// share finds out what this process is to do.
func (f *workFlags) share(flags *pflag.FlagSet) (share, error) {
	s := share{int(f.task), int(f.tasks), int(f.stride), "--task"}
	if s.tasks > cluster.MaxTasks {
		return s, cli.Usage("--tasks %d: that many there cannot be", s.tasks)
	}
	if !flags.Changed("task") {
		place, ok, err := cluster.Locate(os.Getenv, s.tasks)
		var m *cluster.Misplaced
		switch {
		case errors.As(err, &m):
			return s, cli.Hint(cli.Usage("%v", m), m.Cure)
		case err != nil:
			return s, err
		case ok:
			s.task, s.tasks, s.from = place.Task, place.Tasks, place.From
		case s.tasks > 1:
			return s, cli.Usage("--tasks %d without --task: which of them is this?", s.tasks)
		default:
			s.from = "no batch system says otherwise"
		}
	}
	s.tasks = max(s.tasks, 1)
	if s.task >= s.tasks {
		return s, cli.Usage("--task %d of --tasks %d: tasks are counted from 0", s.task, s.tasks)
	}
	return s, nil
}

// String names the tasks as "task 3 of 16" or "tasks 3, 19, ... of 64".
func (s share) String() string {
	if s.stride == 0 || s.task+s.stride >= s.tasks {
		return fmt.Sprintf("task %d of %d", s.task, s.tasks)
	}
	return fmt.Sprintf("tasks %d, %d, ... of %d", s.task, s.task+s.stride, s.tasks)
}

// flags is the share for a command line.
func (s share) flags() string {
	out := fmt.Sprintf("--task %d --tasks %d", s.task, s.tasks)
	if s.stride > 0 {
		out += fmt.Sprintf(" --stride %d", s.stride)
	}
	return out
}

// has tells whether the share includes a task.
func (s share) has(task int) bool {
	return task == s.task || s.stride > 0 && task > s.task && (task-s.task)%s.stride == 0
}

// units is the units to do, the largest first.
func (s share) units(p *convert.Plan) []int {
	if s.stride == 0 || s.task+s.stride >= s.tasks {
		return p.Task(s.task, s.tasks)
	}
	var mine []int
	for u, t := range p.TasksOf(s.tasks) {
		if s.has(int(t)) {
			mine = append(mine, u)
		}
	}
	slices.SortStableFunc(mine, func(a, b int) int { return cmp.Compare(p.UnitBytes(b), p.UnitBytes(a)) })
	return mine
}

// gathers is the shards of a global shuffle to make.
func (s share) gathers(p *convert.Plan) (shards []int) {
	for k := range p.Gathers {
		if s.has(k % s.tasks) {
			shards = append(shards, k)
		}
	}
	return shards
}

// The choices of --stage.
const (
	stageAll     = "all"
	stageScatter = "scatter"
	stageGather  = "gather"
)

func (p *program) work(ctx context.Context, x *cli.Prepared, stage string, s share, units []int) error {
	if stage != stageAll && x.Plan.Shuffle != convert.ShuffleGlobal {
		return cli.Usage("--stage %s: the plan has no global shuffle, and so no stages", stage)
	}
	switch stage {
	case stageScatter:
		return x.Job.Work(ctx, units)
	case stageGather:
		return x.Job.Gather(ctx, s.gathers(x.Plan))
	}
	return x.Job.Share(ctx, units, s.gathers(x.Plan))
}

// hintWaiting tells what to do about the tasks that a shuffle waits for.
func hintWaiting(err error, x *cli.Prepared, s share) error {
	var w *convert.Waiting
	if !errors.As(err, &w) {
		return err
	}
	missing := map[int]bool{}
	for _, i := range w.Portions {
		missing[i] = true
	}
	others := map[int]bool{}
	for u, t := range x.Plan.TasksOf(s.tasks) {
		if missing[x.Plan.Units[u].Lo] {
			others[int(t)] = true
		}
	}
	var list []string
	for t := range s.tasks {
		if others[t] {
			list = append(list, strconv.Itoa(t))
		}
	}
	return cli.Hint(err, fmt.Sprintf("the first stage of task %s of %d is not done; what this task has scattered stays", cli.Few(list), s.tasks),
		fmt.Sprintf("when it is, run this again: shardify work %s %s", cli.Quote(x.Output), s.flags()))
}

func (p *program) workDone(x *cli.Prepared, s share, units int) {
	skipped := x.Job.Progress.Skipped.Load()
	p.Object("work", struct {
		Output  string `json:"output"`
		Task    int    `json:"task"`
		Tasks   int    `json:"tasks"`
		Stride  int    `json:"stride,omitempty"`
		Units   int    `json:"units"`
		Shards  int64  `json:"shards"`
		Samples int64  `json:"samples"`
		Skipped int64  `json:"skipped"`
	}{x.Output, s.task, s.tasks, s.stride, units, x.Job.Progress.Shards.Load(), x.Job.Progress.Samples.Load(), skipped})
	if skipped > 0 {
		p.Note("skipped %s", cli.Of(skipped, "sample"))
	}
	p.Result("done: %s, %s", s, cli.Of(x.Job.Progress.Shards.Load(), "shard"))
	p.Result("next: shardify merge %s, when all tasks are done", cli.Quote(x.Output))
}

func oneFolder(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Hint(cli.Usage("want one folder, not %d", len(args)), "see: "+c.CommandPath()+" --help")
	}
	return nil
}
