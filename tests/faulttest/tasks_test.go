//go:build linux && amd64

package faulttest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// tasks: a plan is worked on by several tasks at once, which are killed at random
// moments, and then by another number of tasks; merged, the set has the bytes of the
// unbroken run.
func tasks(t *testing.T) {
	rounds := 1
	if Long() {
		rounds = 40
	}
	all := Cases(t)
	for _, name := range []string{"root-mmap", "hdf5-mmap", "npz-mmap", "files-wds", "parquet-mmap", "npz-mmap-global-split", "jsonl-megatron-tokens"} {
		c := Find(t, all, name)
		s := &taskTally{r: rand.New(rand.NewPCG(7, uint64(len(name))))}
		want := c.Want(t)
		dir := Fast(t)
		for i := range rounds {
			s.round(t, &c, filepath.Join(dir, strconv.Itoa(i)), want)
		}
		t.Logf("tasks: %s: %d rounds of kill, resume on another number of tasks, merge: %d processes killed, %d sets with the bytes of the unbroken run, %d torn, %d lost",
			name, rounds, s.killed, rounds-s.others, s.torn, s.lost)
	}
	controlTasks(t, Find(t, all, "npz-mmap"))
}

type taskTally struct {
	tally
	killed int
	r      *rand.Rand
}

func (s *taskTally) round(t *testing.T, c *Case, out string, want Files) {
	took := timed(t, c.Command(c.Plan(out)...)...)
	for _, n := range []int{2 + s.r.IntN(3), 1 + s.r.IntN(6)} {
		s.tasks(t, out, n, took)
		s.judge(t, c.Name, Judge(t, want, out, nil))
	}
	// A global shuffle has two stages, and each wants all tasks of the one before.
	n := 1 + s.r.IntN(4)
	for stage := range 2 {
		for i := range n {
			code, text := Run(t, "shardify", "work", out, "--task", strconv.Itoa(i), "--tasks", strconv.Itoa(n), "--quiet")
			if code != 0 && (code != 3 || stage > 0) {
				s.fault(t, "%s: work after kills exits %d\n%s", c.Name, code, text)
			}
		}
	}
	p := start(t, "merge", out, "--quiet")
	p.killAfter(upTo(s.r, took))
	p.wait(t)
	s.judge(t, c.Name+" merge", Judge(t, want, out, nil))
	s.resume(t, c.Name, want, out, "shardify", "merge", out, "--quiet")
	os.RemoveAll(out)
}

// tasks runs n tasks at once and kills each at a random moment, or lets it be.
func (s *taskTally) tasks(t *testing.T, out string, n int, took time.Duration) {
	var list []*proc
	for i := range n {
		list = append(list, start(t, "work", out, "--task", strconv.Itoa(i), "--tasks", strconv.Itoa(n), "--jobs", "2", "--quiet"))
	}
	for _, p := range list {
		p.killAfter(upTo(s.r, took))
		code := p.wait(t)
		if p.killed && code < 0 {
			s.killed++
		} else if code != 0 && code != 3 {
			s.fault(t, "work exits %d\n%s", code, p.out.String())
		}
	}
}

// controlTasks: a merge without one of the tasks must not complete the set.
func controlTasks(t *testing.T, c Case) {
	out := filepath.Join(t.TempDir(), "control")
	Must(t, append([]string{"shardify"}, c.Plan(out)...)...)
	Must(t, "shardify", "work", out, "--task", "1", "--tasks", "2", "--quiet")
	code, text := Run(t, "shardify", "merge", out, "--quiet")
	if _, err := os.Stat(filepath.Join(out, "shardify.json")); code != 3 || err == nil {
		t.Errorf("control: merge without task 0 exits %d\n%s", code, text)
	}
	t.Logf("tasks: control: merge without one task exits %d and publishes nothing", code)
}
