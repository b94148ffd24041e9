package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
)

// SubmitDir is where the scripts of a submission are, below the data set's folder.
const SubmitDir = ".shardify/submit"

// next finds the commands that go on.
func (l *look) next() {
	r := l.r
	merges := false
	// Where a set has had versions, its plan is not that of the last one.
	if changed, err := index.Changed(l.store); r.State != StatusComplete && (changed || err != nil) {
		r.Next = append(r.Next, "shardify verify "+printable.Quote(r.Output))
		return
	}
	switch r.State {
	case StatusComplete:
		r.Next = append(r.Next, "shardify verify "+printable.Quote(r.Output))
		return
	case StatusUnmerged:
		if g := l.merger(true); g != nil && g.Latest.Command == "convert" {
			r.Next, merges = l.whole()
		}
	case StatusPlanned, StatusPartial, StatusRunning:
		for i := range r.Stages {
			if r.Stages[i].Units.Done == r.Stages[i].Units.Total {
				continue
			}
			var lines []string
			lines, merges = l.again(&r.Stages[i])
			r.Next = append(r.Next, lines...)
		}
		r.Next = slices.Compact(r.Next)
		if len(r.Next) == 0 {
			return // all that is left is running, or queued
		}
	default:
		return
	}
	if !merges {
		r.Next = append(r.Next, "shardify merge "+printable.Quote(r.Output))
	}
}

// again returns the commands that do the missing tasks of a stage on which no attempt works, and
// whether they merge too.
func (l *look) again(s *Stage) (lines []string, merges bool) {
	last := l.last(s.Name)
	tasks := slices.Concat(s.failed, s.missing)
	todo := s.Units.Failed + s.Units.Missing
	if last != nil && last.Engine != "" && l.r.State == StatusRunning {
		tasks, todo = s.failed, s.Units.Failed // the others are in the queue
	}
	slices.Sort(tasks)
	switch {
	case todo == 0:
		return nil, false
	case last != nil && last.Engine == "slurm":
		return l.resubmit(last, tasks)
	case last == nil || last.Tasks == 1:
		return l.whole()
	}
	stage := ""
	if last.Stage != "" {
		stage = " --stage " + s.Name
	}
	work := "shardify work " + printable.Quote(l.r.Output) + stage
	switch {
	case len(tasks) == 0: // what is missing belongs to another number of tasks
		return []string{work}, false
	case len(tasks) <= 3:
		for _, t := range tasks {
			lines = append(lines, fmt.Sprintf("%s --task %d --tasks %d", work, t, last.Tasks))
		}
		return lines, false
	}
	return []string{fmt.Sprintf("for i in %s; do %s --task $i --tasks %d; done", words(tasks), work, last.Tasks)}, false
}

// words writes numbers for a loop of the shell.
func words(n []int) string {
	var out []string
	for i := 0; i < len(n); {
		k := i
		for k+1 < len(n) && n[k+1] == n[k]+1 {
			k++
		}
		if k-i < 3 {
			out = append(out, fmt.Sprint(n[i]))
			i++
			continue
		}
		out = append(out, fmt.Sprintf("$(seq %d %d)", n[i], n[k]))
		i = k + 1
	}
	return strings.Join(out, " ")
}

// resubmit has the elements of an array that have something left to do queued again.
// What submit has queued it queues again, with a merge behind it.
func (l *look) resubmit(last *Attempt, tasks []int) (lines []string, merges bool) {
	if _, err := os.Stat(filepath.Join(l.r.Output, filepath.FromSlash(SubmitDir))); err == nil || len(tasks) == 0 || last.Element == "" {
		return []string{fmt.Sprintf("shardify submit slurm %s --missing --now", printable.Quote(l.r.Output))}, true
	}
	return []string{fmt.Sprintf("sbatch --array=%s SCRIPT, that of job %s", plan.Ranges(elements(tasks, last)), last.Job)}, false
}

// elements are the elements of an array that do the tasks: element k does k, k+stride, ...
func elements(tasks []int, last *Attempt) []int {
	var out []int
	for _, t := range tasks {
		if last.Stride > 0 {
			t %= last.Stride
		}
		out = append(out, t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// whole is the command that does all that is left in one process.
func (l *look) whole() (lines []string, merges bool) {
	var last *Attempt
	for _, g := range l.groups {
		if g.Latest.Command != "merge" {
			last = g.Latest
		}
	}
	if last == nil || last.Command != "convert" || len(last.Args) == 0 || elsewhere(last, l.r.Output) {
		return []string{"shardify work " + printable.Quote(l.r.Output)}, false
	}
	var words []string
	for _, a := range last.Args {
		if a != "--fresh" { // it would start over
			words = append(words, printable.Quote(a))
		}
	}
	line := strings.Join(words, " ")
	if here, err := os.Getwd(); err == nil && here != last.Dir && last.Dir != "" {
		line = "cd " + printable.Quote(last.Dir) + " && " + line
	}
	return []string{line}, true
}

// elsewhere reports whether the command of an attempt writes to another folder than this: the data
// set was moved or copied since.
func elsewhere(a *Attempt, folder string) bool {
	for i, w := range a.Args {
		out := ""
		switch {
		case (w == "-o" || w == "--output") && i+1 < len(a.Args):
			out = a.Args[i+1]
		case strings.HasPrefix(w, "--output="):
			out = strings.TrimPrefix(w, "--output=")
		case strings.HasPrefix(w, "-o") && len(w) > 2:
			out = strings.TrimPrefix(w[2:], "=")
		default:
			continue
		}
		if !filepath.IsAbs(out) {
			out = filepath.Join(a.Dir, out)
		}
		here, err := os.Stat(folder)
		there, e := os.Stat(out)
		return err == nil && (e != nil || !os.SameFile(here, there))
	}
	return false
}

// last is the latest attempt at a stage.
func (l *look) last(stage string) *Attempt {
	_, n := l.numbers(stage)
	for i := len(l.groups) - 1; i >= 0; i-- {
		if a := l.groups[i].Latest; a.takesPart(stage) && a.Tasks == n {
			return a
		}
	}
	return nil
}
