package cluster

import (
	"slices"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
)

// Report is the state of a data set that is being made: what `status --json` prints. Fields are
// added over time; none changes its meaning.
type Report struct {
	Output string `json:"output"`
	// State is the one word: StatusNone, ...
	State string `json:"state"`
	Plan  string `json:"plan,omitempty"` // its digest
	// Stages are the parts of the work, one after the other: work, or of a global shuffle
	// scatter and gather.
	Stages []Stage `json:"stages"`
	// Tasks are those of Tasks.Of that are running, or that ended without being done, in order;
	// those that no attempt has started are only in Missing.
	Tasks []Task `json:"tasks"`
	// Merge is the latest merge, if it has not succeeded.
	Merge *Task `json:"merge,omitempty"`

	Samples      int64 `json:"samples"`       // in shards that are done, as far as known
	TotalSamples int64 `json:"total_samples"` // of the inputs
	Bytes        int64 `json:"bytes"`         // of shards that are done: exact if Exact
	TotalBytes   int64 `json:"total_bytes"`   // of all shards, an estimate until the set is complete
	Skipped      int64 `json:"skipped"`       // input samples left out because they cannot be read
	// Dropped is the samples of the inputs that options exclude from all outputs, and Reasons
	// why, of which an unfinished set knows only those of the plan.
	Dropped int64            `json:"dropped"`
	Reasons []shardify.Count `json:"reasons,omitempty"`
	// Exact: every receipt was read. Otherwise samples, bytes and skipped are estimates
	// of names and attempts alone.
	Exact bool `json:"exact"`
	// Damaged is the shards whose receipts are damaged; they will be made again.
	Damaged []int `json:"damaged"`

	Rate float64 `json:"bytes_per_second"` // of the inputs, decoded, by all that run
	ETA  float64 `json:"seconds_left"`     // at the rates of what runs; 0 is unknown
	Free int64   `json:"free_bytes"`       // where the data set is; -1 unknown

	Todo *Todo `json:"todo,omitempty"` // with Options.Todo, of a set that has a plan

	Attempts   int      `json:"attempts"`
	Unreadable []string `json:"unreadable,omitempty"` // records of attempts that are damaged
	// Next is the commands that go on, in order.
	Next []string  `json:"next"`
	Time time.Time `json:"time"`
}

// States of a data set.
const (
	StatusNone     = "none"     // no plan, and no process makes one
	StatusPlanning = "planning" // a process writes a plan
	StatusPlanned  = "planned"  // no task has started
	StatusRunning  = "running"
	StatusPartial  = "incomplete" // started, and no attempt runs
	StatusUnmerged = "unmerged"   // all shards are there
	StatusMerging  = "merging"
	StatusComplete = "complete"
)

// Counts parts something into what is done and what is not. The four add up to Total.
type Counts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"` // by the latest attempt: failed or killed
	Missing int `json:"missing"`
}

// Stage is one stage of the work.
type Stage struct {
	Name   string `json:"stage"` // work, scatter, gather
	Units  Counts `json:"units"`
	Shards Counts `json:"shards"` // portions of a scatter stage
	// Tasks counts the tasks of the latest attempts' number of tasks; Total 0 if no attempt has
	// started.
	Tasks Counts `json:"tasks"`
	// Failed and Missing list tasks as for --array: "3,17-19".
	Failed  string `json:"failed_tasks"`
	Missing string `json:"missing_tasks"`

	failed, missing []int
	remaining       float64 // bytes, of a gather stage samples
	rate            float64
}

// ToDo lists the tasks that no attempt works on, as for --array; "" without such tasks, or if there
// is but one task.
func (s *Stage) ToDo() string {
	if s.Tasks.Total <= 1 {
		return ""
	}
	list := slices.Concat(s.failed, s.missing)
	slices.Sort(list)
	return plan.Ranges(list)
}

// Task is the latest attempt at a task that is not done.
type Task struct {
	Stage    string    `json:"stage"`
	Task     int       `json:"task"`
	Tasks    int       `json:"tasks"`
	Stride   int       `json:"stride,omitempty"`
	State    string    `json:"state"` // running, failed, killed, stopped, waiting
	Attempts int       `json:"attempts"`
	Host     string    `json:"host"`
	PID      int       `json:"pid"`
	Job      string    `json:"job,omitempty"`
	Start    time.Time `json:"start"`
	Updated  time.Time `json:"updated"`
	Code     int       `json:"code"`
	Error    string    `json:"error,omitempty"`
	// Cure is what to do about it.
	Cure string `json:"cure,omitempty"`
	Peak int64  `json:"peak_memory"`
	// Limit is the memory that the machine or the allocation gave; 0 is unknown.
	Limit   int64 `json:"memory_limit"`
	Samples int64 `json:"samples"`
	Bytes   int64 `json:"bytes"`
}
