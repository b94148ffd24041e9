//go:build linux && amd64

package faulttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/plan"
)

// parts: conversions whose inputs are planned in parts are killed right after, and right before,
// their state-changing system calls, in one command and in plan, work and merge; each call of those
// fails; and tasks are killed at random moments. Another number of tasks completes the rest.
func parts(t *testing.T) {
	NeedsTrace(t)
	kills, fails, rounds := 2, 1, 1
	if Long() {
		kills, fails, rounds = 1<<30, 1<<30, 40
	}
	for i, c := range CasesInParts(t) {
		p := &partsSuite{c: &c, want: c.Want(t), dir: Fast(t)}
		s := &errnoTally{}
		for _, what := range []string{"kill", "before"} {
			s.kill(t, &c, what, kills, p.want)
			p.sweep(t, s, nil, what, kills)
		}
		t.Logf("parts: %s: killed: %v", c.Name, &s.tally)
		s = &errnoTally{}
		list := errnos
		if !Long() {
			list = errnos[3*i : 3*i+2] // EINTR is one of them
		}
		for _, e := range list {
			p.sweep(t, s, &e, e.name, fails)
		}
		if i == 0 && !Long() { // what cannot be looked at must not be planned otherwise
			p.step(t, s, 0, &errnos[0], "EIO", "newfstatat", 1<<30)
			p.step(t, s, 0, &errnos[3], "EINTR", "close", 1<<30)
		}
		t.Logf("parts: %s: calls fail: %v", c.Name, s)
		k := &taskTally{r: rand.New(rand.NewPCG(7, 7))}
		for j := range rounds {
			k.round(t, &c, filepath.Join(p.dir, "tasks"+strconv.Itoa(j)), p.want)
		}
		t.Logf("parts: %s: %d rounds of kill, resume on another number of tasks, merge: %d processes killed, %v", c.Name, rounds, k.killed, &k.tally)
		p.control(t)
	}
}

type partsSuite struct {
	c    *Case
	want Files
	dir  string
	sets int
}

func (p *partsSuite) out() string {
	p.sets++
	return filepath.Join(p.dir, fmt.Sprint("set", p.sets))
}

// sweep breaks plan, both tasks, and merge, at calls all over each: by an errno, or else
// by a kill.
func (p *partsSuite) sweep(t *testing.T, s *errnoTally, e *fault, what string, points int) {
	for i := range steps(p.c, "") {
		p.step(t, s, i, e, what, "all", points)
	}
}

// step breaks one of the commands. Of an errno, calls says which calls fail.
func (p *partsSuite) step(t *testing.T, s *errnoTally, i int, e *fault, what, calls string, points int) {
	options := []string{"-what", what}
	if e != nil {
		options = append(options, "-on", calls, "-under", p.dir+","+filepath.Dir(p.c.In[0]))
	}
	_, total := p.until(t, i, options[2:])
	step := every(len(total.Calls), points)
	for n := 1 + s.points%step; n <= len(total.Calls); n += step {
		p.point(t, s, i, n, e, append(options, "-n", fmt.Sprint(n)))
	}
}

// until runs the commands before the i-th one, and that one under options.
func (p *partsSuite) until(t *testing.T, i int, options []string) (out string, r *Traced) {
	out = p.out()
	all := steps(p.c, out)
	for _, a := range all[:i] {
		Must(t, p.c.Command(a...)...)
	}
	return out, Trace(t, options, p.c.Program(), all[i]...)
}

func (p *partsSuite) point(t *testing.T, s *errnoTally, i, n int, e *fault, options []string) {
	out, r := p.until(t, i, options)
	defer os.RemoveAll(out)
	if !r.Hit {
		return
	}
	s.points++
	step := steps(p.c, out)[i][0]
	where := fmt.Sprintf("%s, %s, %s of call %d", p.c.Name, step, options[1], n)
	s.judge(t, where, Judge(t, p.want, out, r.Published(out, false)))
	if e != nil {
		call := r.Call(n)
		var want Files
		if step == "merge" {
			want = p.want
		}
		s.verdict(t, fmt.Sprintf("%s, %s %v", where, call.Name, call.Files), r, want, out, call, e.name, e.no)
	}
	var rest [][]string
	if i == 0 {
		rest = append(rest, p.c.Command(p.c.Plan(out)...))
	}
	tasks := 1 + n%4
	for k := range tasks {
		rest = append(rest, []string{"shardify", "work", out, "--task", fmt.Sprint(k), "--tasks", fmt.Sprint(tasks), "--jobs", "1", "--quiet"})
	}
	for _, args := range rest {
		if code, text := Run(t, args...); code != 0 {
			s.others++
			s.fault(t, "%s: the next %s exits %d\n%s", where, args[1], code, text)
			return
		}
	}
	s.resume(t, where, p.want, out, "shardify", "merge", out, "--quiet")
}

// control: the plan is one in parts, of which some task needs a few, and a set that
// lacks a shard of one part is not merged.
func (p *partsSuite) control(t *testing.T) {
	out := p.out()
	Must(t, p.c.Command(p.c.Plan(out)...)...)
	if p, err := plan.Load(convert.Folder(out)); err != nil || !p.Pack.InParts() {
		t.Fatalf("control: the plan is not in parts: %v", err)
	}
	for _, k := range []string{"0", "2"} {
		Must(t, "shardify", "work", out, "--task", k, "--tasks", "3", "--quiet")
	}
	code, text := Run(t, "shardify", "merge", out, "--quiet")
	if _, err := os.Stat(filepath.Join(out, "shardify.json")); code != 3 || err == nil {
		t.Errorf("control: merge without task 1 exits %d\n%s", code, text)
	}
	t.Logf("parts: %s: control: the plan is in parts; merge without the task of some exits %d and publishes nothing", p.c.Name, code)
}
