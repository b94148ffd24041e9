package cluster

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
)

// width is that of the terminal lines are made for. Names and commands may be longer.
const width = 80

// mostListed is the most failed tasks that are shown one by one.
const mostListed = 10

// Lines is the report for people.
func (r *Report) Lines() []string {
	var out []string
	line := func(label, format string, args ...any) {
		for i, s := range printable.Wrap(fmt.Sprintf(format, args...), width-9) {
			if i > 0 {
				label = ""
			}
			out = append(out, fmt.Sprintf("%-9s%s", label, s))
		}
	}
	line("state", "%s", r.sentence())
	if r.State == StatusComplete {
		line("set", "%s in %s", printable.Of(r.Samples, "sample"), shardify.FormatSize(r.Bytes))
	} else if len(r.Stages) > 0 {
		out = append(out, r.table()...)
	}
	if r.Todo != nil {
		r.Todo.lines(line)
	}
	r.listed(line)
	if m := r.Merge; m != nil && (m.State == StateFailed || m.State == StateKilled) {
		m.line(line, m.State)
	}
	if n := len(r.Damaged); n > 0 {
		line("damaged", "%s, the first of shard %d; the next run makes this good", printable.Of(int64(n), "receipt"), r.Damaged[0])
	}
	if n := len(r.Unreadable); n > 0 {
		line("note", "records of attempts cannot be read (%d): %s", n, r.Unreadable[0])
	}
	if r.Skipped > 0 {
		line("skipped", "%s%s of the inputs, which cannot be read", about(r.Exact), printable.Of(r.Skipped, "sample"))
	}
	for _, c := range r.Reasons {
		line("dropped", "%s: %s", printable.Of(c.N, "sample"), plan.Reason(c))
	}
	if r.Rate > 0 {
		left := ""
		if r.ETA > 0 {
			left = ", about " + printable.About(r.ETA) + " left"
		}
		line("rate", "%s/s%s", shardify.FormatSize(int64(r.Rate)), left)
	}
	if r.State != StatusComplete && len(r.Stages) > 0 {
		line("space", "%s%s written of about %s%s", about(r.Exact), shardify.FormatSize(r.Bytes), shardify.FormatSize(r.TotalBytes), free(r.Free))
	}
	if r.State == StatusRunning && len(r.Next) == 0 {
		line("next", "nothing to do: the rest runs, or is queued")
	}
	for i, n := range r.Next {
		label := "next"
		if i > 0 {
			label = ""
		}
		out = append(out, fmt.Sprintf("%-9s%s", label, n))
	}
	return out
}

func about(exact bool) string {
	if exact {
		return ""
	}
	return "about "
}

func free(n int64) string {
	if n < 0 {
		return ""
	}
	return ", " + shardify.FormatSize(n) + " free"
}

// sentence is the state in words.
func (r *Report) sentence() string {
	switch r.State {
	case StatusNone:
		return "no plan"
	case StatusPlanning:
		return "a plan is being made"
	case StatusPlanned:
		return "planned, not started"
	case StatusPartial:
		return "not complete, and no task is running"
	case StatusUnmerged:
		return "all shards are there; the merge has not run"
	case StatusMerging:
		return "all shards are there and are being merged"
	}
	return r.State
}

// table is a line for each stage, and one for its tasks if there are several.
func (r *Report) table() []string {
	out := []string{fmt.Sprintf("%-9s%-7s%10s %10s %10s %10s %10s", "", "", "total", "done", "running", "failed", "missing")}
	row := func(label, what string, c Counts) {
		out = append(out, fmt.Sprintf("%-9s%-7s%10d %10d %10d %10d %10d", label, what, c.Total, c.Done, c.Running, c.Failed, c.Missing))
	}
	for _, s := range r.Stages {
		row(s.Name, "units", s.Units)
		if s.Tasks.Total > 1 {
			row("", "tasks", s.Tasks)
		}
	}
	return out
}

// listed prints a line for each task that needs attention.
func (r *Report) listed(line func(label, format string, args ...any)) {
	for _, s := range r.Stages {
		if s.Failed != "" && s.Tasks.Total > 1 {
			line("failed", "%s of %d (%s)", short(s.Failed), s.Tasks.Total, s.Name)
		}
		if s.Missing != "" && s.Missing != s.Failed && s.Tasks.Total > 1 {
			line("missing", "%s of %d (%s)", short(s.Missing), s.Tasks.Total, s.Name)
		}
	}
	shown, more := 0, 0
	for _, t := range r.Tasks {
		if t.State != StateFailed && t.State != StateKilled {
			continue
		}
		if shown++; shown > mostListed {
			more++
			continue
		}
		t.line(line, t.State)
	}
	if more > 0 {
		line("", "and %d more, all with --json", more)
	}
}

func short(list string) string {
	const most = 300
	if len(list) <= most {
		return list
	}
	list = list[:most]
	return list[:strings.LastIndexByte(list, ',')] + ", ..."
}

// line prints a line about one attempt.
func (t *Task) line(line func(label, format string, args ...any), label string) {
	what := t.Stage
	if t.Tasks > 1 {
		what = fmt.Sprintf("task %d of %d", t.Task, t.Tasks)
		if t.Stride > 0 {
			what = fmt.Sprintf("tasks %d, %d, ... of %d", t.Task, t.Task+t.Stride, t.Tasks)
		}
	}
	job := ""
	if t.Job != "" {
		job = ", job " + t.Job
	}
	again := ""
	if t.Attempts > 1 {
		again = fmt.Sprintf(", attempt %d", t.Attempts)
	}
	at := t.Updated.Local().Format("Jan _2 15:04")
	text := fmt.Sprintf("%s on %s%s%s, %s", what, t.Host, job, again, at)
	if t.State == StateRunning {
		text += ": running"
	}
	if t.Error != "" {
		text += ": " + t.Error
	}
	line(label, "%s", text)
	if t.Cure != "" {
		line("", "-> %s", t.Cure)
	}
}
