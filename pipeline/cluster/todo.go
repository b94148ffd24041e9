package cluster

import (
	"strconv"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
)

// Todo is which tasks of a plan are not done, for a driver that starts them, and what each needs.
type Todo struct {
	Tasks  int         `json:"tasks"` // that the plan is divided into
	Stages []TodoStage `json:"stages"`

	Cores        int     `json:"cores"` // of a task
	Memory       int64   `json:"memory_bytes"`
	Seconds      float64 `json:"seconds"` // a time limit: several times the estimate
	MergeMemory  int64   `json:"merge_memory_bytes"`
	MergeSeconds float64 `json:"merge_seconds"`
}

// TodoStage is the tasks of a stage that are not done, ascending. A stage needs all tasks of the one
// before it.
type TodoStage struct {
	Stage string `json:"stage"` // work, or scatter and gather
	Tasks []int  `json:"tasks"`
}

// List asks for the tasks that are not done, of a number of tasks, or "auto"; "" asks for none.
func (o *Options) List(tasks string) (err error) {
	if o.Todo = tasks != ""; !o.Todo || tasks == "auto" {
		return nil
	}
	if o.Tasks, err = strconv.Atoi(tasks); err != nil || o.Tasks < 1 || o.Tasks > MaxTasks {
		return shardify.Usage("--tasks %s: want a number, or auto", tasks)
	}
	return nil
}

// todo fills in Report.Todo; tasks 0 divides the plan by its size.
func (l *look) todo(tasks int) {
	load := LoadOf(l.plan)
	t := &Todo{Tasks: tasks, Stages: []TodoStage{}}
	if tasks == 0 {
		t.Tasks = load.Elements(DefaultCPUs(load, Partition{}), DefaultLimits)
	}
	for _, stage := range StagesOf(l.plan) {
		s := TodoStage{Stage: stage, Tasks: []int{}}
		for k, left := range Unfinished(l.plan, l.done, stage, t.Tasks, t.Tasks) {
			if left {
				s.Tasks = append(s.Tasks, k)
			}
		}
		t.Stages = append(t.Stages, s)
	}
	each, _ := load.Resources(Resources{}, t.Tasks, Partition{})
	merge := load.MergeResources(Resources{}, Partition{})
	t.Cores, t.Memory, t.Seconds = each.CPUs, each.Memory, each.Time.Seconds()
	t.MergeMemory, t.MergeSeconds = merge.Memory, merge.Time.Seconds()
	l.r.Todo = t
}

// lines is the tasks for people.
func (t *Todo) lines(line func(label, format string, args ...any)) {
	for _, s := range t.Stages {
		left := "all done"
		if len(s.Tasks) > 0 {
			left = "not done: " + plan.Ranges(s.Tasks)
		}
		line("tasks", "%s of %d: %s", s.Stage, t.Tasks, left)
	}
	line("needs", "%s, %s and at most %s for a task", printable.Of(int64(t.Cores), "core"), shardify.FormatSize(t.Memory), clock(time.Duration(t.Seconds*float64(time.Second))))
}
