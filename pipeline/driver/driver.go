// Package driver carries out a plan as processes of this machine: it starts the tasks that are not
// done, runs lost ones again, and merges. Its rules are those of shardify.run in Python.
package driver

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/cluster"
)

// Rules say what becomes of tasks that fail.
type Rules struct {
	Tries   int           // of one task
	Backoff time.Duration // before its second try; doubled with each further one, at most a minute
	Double  bool          // a task that was killed gets twice as much memory
}

const longest = time.Minute // between two tries

// never are the exit codes after which the same again would not help: failed, wrong usage,
// incomplete, no such program.
var never = []int{1, 2, 3, 4, 126, 127}

// Again reports whether a task that ended with a code is run again: it was stopped on request, or killed.
func Again(code int) bool { return code != 0 && !slices.Contains(never, code) }

func killed(code int) bool { return code == 137 }

// Outcome is how a task ended.
type Outcome struct {
	Code int    // of its process; 128 and the signal if one ended it
	Text string // what it said
}

// Job is a plan to carry out.
type Job struct {
	Folder string
	Tasks  int   // that the plan is divided into; 0: by its size
	AtOnce int   // processes at a time
	Jobs   int   // cores of each
	Memory int64 // of each, in bytes
	Work   []string
	Rules

	// Run runs the program with arguments, until it ends. A context that is done asks it to stop.
	Run func(ctx context.Context, words []string) Outcome
	// Said is called with lines for people.
	Said func(format string, args ...any)
}

// Done is what a run has done.
type Done struct {
	Output  string  `json:"output"`
	Samples int64   `json:"samples"`
	Bytes   int64   `json:"bytes"`
	Tasks   int     `json:"tasks"` // that were run to their end
	Tries   int     `json:"tries"`
	Lost    int     `json:"lost"` // tries that were stopped or killed
	Seconds float64 `json:"seconds"`
}

// Carry carries out a plan. What is done stays done: after an error the same call goes on.
func (j *Job) Carry(ctx context.Context) (*Done, error) {
	start, d := time.Now(), &Done{Output: j.Folder}
	rounds := j.Tries + 2 // two stages and the merge; more where receipts were damaged meanwhile
	for range rounds {
		r, err := cluster.Options{Todo: true, Tasks: j.Tasks}.Status(ctx, j.Folder)
		if err != nil {
			return nil, err
		}
		if r.State == cluster.StatusComplete {
			d.Samples, d.Bytes, d.Seconds = r.Samples, r.Bytes, time.Since(start).Seconds()
			return d, nil
		}
		if r.Todo == nil {
			return nil, shardify.Hint(fmt.Errorf("%s holds no plan", j.Folder), "make one: shardify plan INPUT... -o "+printable.Quote(j.Folder))
		}
		j.Tasks = r.Todo.Tasks
		s := &stage{job: j, done: d, name: cluster.StageMerge, todo: []int{0}}
		for _, left := range slices.Backward(r.Todo.Stages) {
			if len(left.Tasks) > 0 {
				s.name, s.todo = left.Stage, left.Tasks
			}
		}
		if err := s.run(ctx); err != nil {
			return nil, err
		}
	}
	return nil, shardify.Hint(fmt.Errorf("%s is not complete after %d rounds", j.Folder, rounds), "this shows why: shardify status "+printable.Quote(j.Folder))
}

// stage is the tasks of one stage that are not done.
type stage struct {
	job  *Job
	done *Done
	name string
	todo []int

	waiting []attempt // in order
	later   []attempt // lost ones, which wait for the clock
	running int
	left    int
	ended   chan attempt
	failed  error
}

// attempt is a task that waits, runs, or has ended.
type attempt struct {
	task, tries int
	memory      int64
	at          time.Time // when it may start
	Outcome
}

// run returns when no process of the stage runs.
func (s *stage) run(ctx context.Context) error {
	s.ended, s.left = make(chan attempt), len(s.todo)
	for _, t := range s.todo {
		s.waiting = append(s.waiting, attempt{task: t, memory: s.job.Memory})
	}
	for s.running > 0 || s.failed == nil && len(s.waiting)+len(s.later) > 0 {
		wait := s.start(ctx)
		select {
		case a := <-s.ended:
			s.running--
			s.after(ctx, a)
		case <-wait:
		}
	}
	return s.failed
}

// start starts what may start now. The channel says when the next one may; nil if none waits for the clock.
func (s *stage) start(ctx context.Context) <-chan time.Time {
	for s.failed == nil && s.running < s.job.AtOnce {
		next := -1 // the lost one that may start first
		for i := range s.later {
			if next < 0 || s.later[i].at.Before(s.later[next].at) {
				next = i
			}
		}
		var a attempt
		switch {
		case next >= 0 && time.Until(s.later[next].at) <= 0:
			a = s.later[next]
			s.later = slices.Delete(s.later, next, next+1)
		case len(s.waiting) > 0:
			a, s.waiting = s.waiting[0], s.waiting[1:]
		case next >= 0:
			return time.After(time.Until(s.later[next].at))
		default:
			return nil
		}
		a.tries++
		s.running++
		s.done.Tries++
		go func() {
			a.Outcome = s.job.Run(ctx, s.words(a))
			s.ended <- a
		}()
	}
	return nil
}

// after decides what follows.
func (s *stage) after(ctx context.Context, a attempt) {
	r := s.job.Rules
	switch {
	case a.Code == 0, a.Code == 3 && s.name == cluster.StageMerge: // the next look at the folder says what is missing
		s.done.Tasks++
		s.left--
		s.job.Said("%s: %s done, %d left", s.name, s.of(a), s.left)
	case s.failed != nil: // the others end, and are not started again
	case ctx.Err() != nil:
		s.failed = context.Cause(ctx)
	case !Again(a.Code) || a.tries >= r.Tries:
		s.failed = s.failure(a)
	default:
		s.done.Lost++
		wait := min(r.Backoff<<min(a.tries-1, 16), longest)
		if r.Double && killed(a.Code) {
			a.memory *= 2
		}
		s.job.Said("%s: %s ended with %d, runs again in %s (try %d of %d)", s.name, s.of(a), a.Code, wait, a.tries+1, r.Tries)
		a.at = time.Now().Add(wait)
		s.later = append(s.later, a)
	}
}

func (s *stage) of(a attempt) string {
	if s.name == cluster.StageMerge {
		return "the merge"
	}
	return fmt.Sprintf("task %d of %d", a.task, s.job.Tasks)
}

func (s *stage) failure(a attempt) error {
	text := a.Text
	if text == "" {
		text = "no message"
	}
	err := fmt.Errorf("%s of %s ended with %d: %s", s.of(a), s.name, a.Code, text)
	if killed(a.Code) && !s.job.Double {
		return shardify.Hint(err, "it was killed, most often for its memory: give a task more with --memory, run fewer with --at-once, or give it twice as much at each try with --grow double")
	}
	return err
}

func (s *stage) words(a attempt) []string {
	if s.name == cluster.StageMerge {
		return []string{"merge", s.job.Folder}
	}
	words := []string{"work", s.job.Folder, "--task", strconv.Itoa(a.task), "--tasks", strconv.Itoa(s.job.Tasks)}
	if s.job.Jobs > 0 {
		words = append(words, "--jobs", strconv.Itoa(s.job.Jobs))
	}
	if a.memory > 0 {
		words = append(words, "--memory", strconv.FormatInt(a.memory, 10))
	}
	if s.name != cluster.StageWork {
		words = append(words, "--stage", s.name)
	}
	return append(words, s.job.Work...)
}
