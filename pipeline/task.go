package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// Stages of a task.
const (
	StageAll     = "all" // what can be done
	StageScatter = "scatter"
	StageGather  = "gather"
)

// Task is what one process does of a plan: the tasks Task, Task+Stride, ... of Tasks; one
// task if Stride is 0.
type Task struct {
	Task, Tasks, Stride int
	Stage               string // StageAll if empty
	From                string // the source of the numbers
}

// Locate finds out which task this process does. One that is not given (below 0) is that of
// the batch system, else the whole plan.
func Locate(task, tasks, stride int) (Task, error) {
	t := Task{Task: task, Tasks: tasks, Stride: stride, From: "--task"}
	if t.Tasks > cluster.MaxTasks {
		return t, shardify.Usage("--tasks %d: that many there cannot be", t.Tasks)
	}
	if t.Task < 0 {
		t.Task = 0
		place, ok, err := cluster.Locate(os.Getenv, t.Tasks)
		var m *cluster.Misplaced
		switch {
		case errors.As(err, &m):
			return t, shardify.Hint(shardify.Usage("%v", m), m.Cure)
		case err != nil:
			return t, err
		case ok:
			t.Task, t.Tasks, t.From = place.Task, place.Tasks, place.From
		case t.Tasks > 1:
			return t, shardify.Usage("--tasks %d without --task: which of them is this?", t.Tasks)
		default:
			t.From = "no batch system says otherwise"
		}
	}
	t.Tasks = max(t.Tasks, 1)
	return t, t.check()
}

func (t *Task) check() error {
	if t.Task < 0 || t.Task >= t.Tasks {
		return shardify.Usage("--task %d of --tasks %d: tasks are counted from 0", t.Task, t.Tasks)
	}
	if t.Stride > 0 && t.Tasks == 1 {
		return shardify.Hint(shardify.Usage("--stride %d has no effect: there is one task", t.Stride), "leave --stride out, or say how many there are: --tasks T")
	}
	return nil
}

// String names the tasks as "task 3 of 16" or "tasks 3, 19, ... of 64".
func (t Task) String() string {
	if t.single() {
		return fmt.Sprintf("task %d of %d", t.Task, t.Tasks)
	}
	return fmt.Sprintf("tasks %d, %d, ... of %d", t.Task, t.Task+t.Stride, t.Tasks)
}

func (t Task) single() bool { return t.Stride == 0 || t.Task+t.Stride >= t.Tasks }

// flags is the task for a command line.
func (t Task) flags() string {
	out := fmt.Sprintf("--task %d --tasks %d", t.Task, t.Tasks)
	if t.Stride > 0 {
		out += fmt.Sprintf(" --stride %d", t.Stride)
	}
	return out
}

// has reports whether a task is one of these.
func (t Task) has(task int) bool {
	return task == t.Task || t.Stride > 0 && task > t.Task && (task-t.Task)%t.Stride == 0
}

// units is the units to do, the largest first.
func (t Task) units(p *plan.Plan) []int {
	if t.single() {
		return p.Pack.Task(t.Task, t.Tasks)
	}
	var mine []int
	for u, of := range p.Pack.TasksOf(t.Tasks) {
		if t.has(int(of)) {
			mine = append(mine, u)
		}
	}
	slices.SortStableFunc(mine, func(a, b int) int { return cmp.Compare(p.Pack.UnitBytes(b), p.Pack.UnitBytes(a)) })
	return mine
}

// gathers is the shards of a global shuffle to make.
func (t Task) gathers(p *plan.Plan) (shards []int) {
	for k := range p.Order.Gathers {
		if t.has(k % t.Tasks) {
			shards = append(shards, k)
		}
	}
	return shards
}

// Worked is what a task has done.
type Worked struct {
	Output                   string
	Task                     Task
	Units                    int
	Shards, Samples, Skipped int64
}

// Work does a task of the plan in a folder. Of the settings those count that say how to run.
func Work(ctx context.Context, folder string, t Task, s Settings) (*Worked, error) {
	p, err := Reopen(ctx, folder, s)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	p.planned()
	return p.do(ctx, t)
}

func (p *Prepared) do(ctx context.Context, t Task) (*Worked, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	units, gathers := t.units(p.Plan), t.gathers(p.Plan)
	switch t.Stage {
	case StageScatter:
		gathers = nil
	case StageGather:
		units = nil
	}
	storage.EndWrites(ctx, p.Store)
	defer p.begin(units, len(gathers))()
	defer p.dropScratch()
	if err := p.OpenSource(ctx); err != nil {
		return nil, err
	}
	if err := p.Clear(); err != nil {
		return nil, err
	}
	if err := p.work(ctx, t, units); err != nil {
		return nil, p.removed(p.hintWaiting(err, t))
	}
	c := &p.Job.Progress
	return &Worked{p.Output, t, len(units), c.Shards.Load() + c.Gathers.Load(), c.Samples.Load(), c.Skipped.Load()}, nil
}

func (p *Prepared) work(ctx context.Context, t Task, units []int) error {
	stage := cmp.Or(t.Stage, StageAll)
	if stage != StageAll && p.Plan.Order.Shuffle != plan.ShuffleGlobal {
		return shardify.Usage("--stage %s: the plan has no global shuffle, and so no stages", stage)
	}
	switch stage {
	case StageScatter:
		return p.Job.Work(ctx, units)
	case StageGather:
		return p.Job.Gather(ctx, t.gathers(p.Plan))
	}
	return p.Job.Share(ctx, units, t.gathers(p.Plan))
}

// hintWaiting says what to do about the tasks that a shuffle waits for.
func (p *Prepared) hintWaiting(err error, t Task) error {
	var w *convert.Waiting
	if !errors.As(err, &w) {
		return err
	}
	missing := map[int]bool{}
	for _, i := range w.Portions {
		missing[i] = true
	}
	others := map[int]bool{}
	for u, of := range p.Plan.Pack.TasksOf(t.Tasks) {
		if missing[p.Plan.Pack.Units[u].Lo] {
			others[int(of)] = true
		}
	}
	var list []string
	for k := range t.Tasks {
		if others[k] {
			list = append(list, strconv.Itoa(k))
		}
	}
	return shardify.Hint(err, fmt.Sprintf("the first stage of task %s of %d is not done; what this task has scattered is kept", printable.Few(list), t.Tasks),
		fmt.Sprintf("when it is, run this again: shardify work %s %s", printable.Quote(p.Output), t.flags()))
}

// Merge completes a data set whose tasks are done.
func Merge(ctx context.Context, folder string, s Settings) (*Result, error) {
	p, err := Reopen(ctx, folder, s)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	p.planned()
	return p.merge(ctx)
}

func (p *Prepared) merge(ctx context.Context) (*Result, error) {
	start := time.Now()
	storage.EndWrites(ctx, p.Store)
	if err := p.Clear(); err != nil {
		return nil, err
	}
	defer p.dropScratch()
	defer p.begin(nil, 0)()
	m, err := p.Job.Merge(ctx)
	if errors.Is(err, shardify.ErrCorrupt) && p.OpenSource(ctx) == nil {
		// The inputs help to name a damaged object; otherwise merge needs none.
		m, err = p.Job.Merge(ctx)
	}
	if err != nil {
		return nil, p.hintMissing(ctx, err)
	}
	if err := p.Tidy(); err != nil {
		return nil, err
	}
	return &Result{Output: p.Output, Manifest: m, Took: time.Since(start)}, nil
}

// hintMissing says how to make the shards that merge misses, as status does.
func (p *Prepared) hintMissing(ctx context.Context, err error) error {
	var m *convert.Missing
	if !errors.As(err, &m) {
		return err
	}
	r, e := cluster.Status(ctx, p.Output)
	if e != nil || len(r.Next) == 0 {
		return shardify.Hint(err, "see: shardify status "+printable.Quote(p.Output))
	}
	var hints []string
	for _, s := range r.Stages {
		if list := s.ToDo(); list != "" {
			hints = append(hints, fmt.Sprintf("run again the tasks %s of %d (%s), as --array=%s", list, s.Tasks.Total, s.Name, list))
		}
	}
	for i, line := range r.Next {
		switch {
		case i == len(r.Next)-1 && i > 0:
			line = "then " + line
		case i == 0:
			line += " (what is done is not done again)"
		}
		hints = append(hints, line)
	}
	return shardify.Hint(err, hints...)
}
