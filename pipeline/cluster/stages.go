package cluster

import "github.com/shardify/shardify/plan"

// stage is the units of one stage, and the attempts at them.
type stage struct {
	name string
	done []bool
	cost func(unit int) float64
	// of returns which of n tasks each unit belongs to.
	of func(n int) []int32
	// latest is the last attempt at each unit, one that runs before any other.
	latest []*Attempt
}

const (
	// mostTasks bounds the tasks that a record may claim; more are not counted.
	mostTasks = 1 << 24
	// divisions is how many numbers of tasks are considered, those of the latest attempts:
	// users try several, then keep one.
	divisions = 16
)

// stages fills in the report's stages and tasks.
func (l *look) stages() {
	p := l.plan
	bytes := func(u int) float64 { return float64(p.Pack.UnitBytes(u)) }
	if p.Order.Shuffle != plan.ShuffleGlobal {
		l.stage(&stage{name: "work", done: p.Pack.UnitsDone(l.done.Shards), cost: bytes, of: p.Pack.TasksOf}, p.Outputs(), count(l.done.Shards))
	} else {
		gathers := &stage{name: "gather", done: l.done.Shards, cost: func(int) float64 { return float64(p.Pack.Samples) / float64(max(p.Order.Gathers, 1)) }, of: p.Order.GatherTasksOf}
		portions := l.done.Portions
		if count(gathers.done) == len(gathers.done) { // fragments and their receipts may be gone
			for i := range portions {
				portions[i] = true
			}
		}
		l.stage(&stage{name: "scatter", done: p.Pack.UnitsDone(portions), cost: bytes, of: p.Pack.TasksOf}, len(portions), count(portions))
		l.stage(gathers, p.Order.Gathers, count(l.done.Shards))
	}
	for i := range l.r.Stages {
		s := &l.r.Stages[i]
		if s.Name != "gather" {
			l.r.Rate += s.rate
		}
		if l.r.ETA == 0 && s.rate > 0 && s.remaining > 0 {
			l.r.ETA = s.remaining / s.rate
		}
	}
}

// takesPart reports whether an attempt does, or did, units of a stage.
func (a *Attempt) takesPart(stage string) bool {
	return a.Command != "merge" && (a.Stage == "" || a.Stage == stage) && a.Tasks <= mostTasks
}

// at reports whether a running attempt is at a stage: attempts that do both stages go from one to
// the other.
func (a *Attempt) at(stage string) bool {
	if a.Stage != "" || stage == "work" {
		return true
	}
	return (a.Work.Gathered > 0) == (stage == "gather")
}

func (l *look) stage(s *stage, shards, shardsDone int) {
	s.latest = make([]*Attempt, len(s.done))
	numbers, main := l.numbers(s.name)
	owners := map[int][]int32{}
	for _, n := range numbers {
		owners[n] = s.of(n)
		l.cover(s, n, owners[n])
	}
	out := Stage{Name: s.name, Shards: Counts{Total: shards, Done: shardsDone, Missing: shards - shardsDone}}
	for u, done := range s.done {
		if !done {
			out.remaining += s.cost(u)
		}
		out.Units.add(l.standing(done, s.latest[u]))
	}
	if main > 0 {
		l.tasks(s, &out, main, owners[main])
	}
	for _, g := range l.groups {
		a := g.Latest
		if l.states[a] == StateRunning && a.takesPart(s.name) && a.at(s.name) {
			out.rate += a.Rate
			out.remaining -= s.inFlight(a, owners[a.Tasks])
		}
	}
	l.r.Stages = append(l.r.Stages, out)
}

// numbers lists the numbers of tasks that a stage was divided into, the latest ones; main is the
// one to show: that of the latest attempt that runs, or else of the latest.
func (l *look) numbers(stage string) (numbers []int, main int) {
	seen := map[int]bool{}
	running := false
	for i := len(l.groups) - 1; i >= 0; i-- {
		a := l.groups[i].Latest
		if !a.takesPart(stage) {
			continue
		}
		if runs := l.states[a] == StateRunning; main == 0 || runs && !running {
			main, running = a.Tasks, runs
		}
		if !seen[a.Tasks] && len(numbers) < divisions {
			seen[a.Tasks] = true
			numbers = append(numbers, a.Tasks)
		}
	}
	if main > 0 && !seen[main] {
		numbers = append(numbers, main)
	}
	return numbers, main
}

// byTask is the latest attempt at each of n tasks, one that runs before any other.
func (l *look) byTask(stage string, n int) []*Attempt {
	by := make([]*Attempt, n)
	for _, running := range []bool{false, true} {
		for _, g := range l.groups { // in the order of their starts
			a := g.Latest
			if a.Tasks != n || !a.takesPart(stage) || (l.states[a] == StateRunning) != running {
				continue
			}
			by[a.Task] = a
			for t := a.Task + a.Stride; a.Stride > 0 && t < n; t += a.Stride {
				by[t] = a
			}
		}
	}
	return by
}

func (l *look) cover(s *stage, n int, of []int32) {
	by := l.byTask(s.name, n)
	for u := range s.latest {
		a, b := by[of[u]], s.latest[u]
		switch {
		case a == nil:
		case b == nil:
			s.latest[u] = a
		default:
			runA, runB := l.states[a] == StateRunning, l.states[b] == StateRunning
			if runA && !runB || runA == runB && a.Start.After(b.Start) {
				s.latest[u] = a
			}
		}
	}
}

// standing is the state of something whose latest attempt is a.
func (l *look) standing(done bool, a *Attempt) string {
	if done {
		return StateDone
	}
	if a == nil {
		return ""
	}
	return l.states[a]
}

func (c *Counts) add(state string) {
	c.Total++
	switch state {
	case StateDone:
		c.Done++
	case StateRunning:
		c.Running++
	case StateFailed, StateKilled:
		c.Failed++
	default:
		c.Missing++
	}
}

// tasks fills in the state of each of n tasks.
func (l *look) tasks(s *stage, out *Stage, n int, of []int32) {
	left := make([]bool, n)
	for u, done := range s.done {
		left[of[u]] = left[of[u]] || !done
	}
	listed := map[*Attempt]bool{}
	for t, a := range l.byTask(s.name, n) {
		state := l.standing(!left[t], a)
		if state == StateDone && left[t] {
			state = "" // it was done, and a receipt is gone since
		}
		before := out.Tasks
		out.Tasks.add(state)
		switch {
		case out.Tasks.Failed > before.Failed:
			out.failed = append(out.failed, t)
		case out.Tasks.Missing > before.Missing:
			out.missing = append(out.missing, t)
		}
		if a != nil && left[t] && !listed[a] && l.states[a] != StateDone {
			listed[a] = true
			l.r.Tasks = append(l.r.Tasks, l.task(l.of[a], s.name))
		}
	}
	out.Failed, out.Missing = plan.Ranges(out.failed), plan.Ranges(out.missing)
}

func (l *look) task(g *Group, stage string) Task {
	a := g.Latest
	t := Task{
		Stage: stage, Task: a.Task, Tasks: a.Tasks, Stride: a.Stride, State: l.states[a], Attempts: len(g.Names), Host: a.Host, PID: a.PID,
		Job: a.jobName(), Start: a.Start, Updated: a.Updated, Code: a.Code, Error: a.Error, Peak: a.Peak, Limit: a.MemoryLimit,
		Samples: a.Work.Samples, Bytes: a.Work.Bytes,
	}
	t.Error, t.Cure = a.cure(t.State)
	return t
}

// inFlight is what a running attempt has done of units that are not done.
func (s *stage) inFlight(a *Attempt, of []int32) float64 {
	if s.name == "gather" || of == nil {
		return 0 // counted only as far as this attempt goes
	}
	n := float64(a.Work.Bytes)
	for u, done := range s.done {
		if done && a.Covers(int(of[u]), a.Tasks) {
			n -= s.cost(u)
		}
	}
	return max(n, 0)
}
