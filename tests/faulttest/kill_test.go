//go:build linux && amd64

package faulttest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// step is a command of a conversion that takes several.
type step []string

// steps are plan, work and merge as separate commands.
func steps(c *Case, out string) []step {
	return []step{
		c.Plan(out),
		{"work", out, "--task", "0", "--tasks", "2", "--jobs", "1", "--quiet"},
		{"work", out, "--task", "1", "--tasks", "2", "--jobs", "1", "--quiet"},
		{"merge", out, "--quiet"},
	}
}

// kill: a conversion is killed right after, and right before, each of its
// state-changing system calls, be it one command or plan, work and merge.
func kill(t *testing.T) {
	NeedsTrace(t)
	s := &tally{}
	cases := Cases(t)
	points := 2
	if Long() {
		points = 100
	}
	for _, c := range cases {
		want := c.Want(t)
		for _, what := range []string{"kill", "before"} {
			s.kill(t, &c, what, points, want)
		}
	}
	for _, name := range []string{"files-wds", "npz-mmap", "hdf5-mmap", "root-mmap"} {
		c := Find(t, cases, name)
		s.killSteps(t, &c, points, c.Want(t))
	}
	t.Logf("kill: %v", s)
	controlJudge(t, cases[1])
}

func (s *tally) kill(t *testing.T, c *Case, what string, points int, want Files) {
	dir := Fast(t)
	total := len(Trace(t, nil, c.Program(), c.Convert(filepath.Join(dir, "count"))...).Calls)
	step := every(total, points)
	for n := 1 + s.points%step; n <= total; n += step {
		out := filepath.Join(dir, fmt.Sprint(n))
		args := c.Convert(out)
		r := Trace(t, []string{"-n", fmt.Sprint(n), "-what", what}, c.Program(), args...)
		where := fmt.Sprintf("%s, %s call %d", c.Name, what, n)
		s.judge(t, where, Judge(t, want, out, r.Published(out, false)))
		s.resume(t, where, want, out, c.Command(args...)...)
		os.RemoveAll(out)
		s.points++
	}
}

// killSteps kills one of the commands of a conversion, then runs them all.
func (s *tally) killSteps(t *testing.T, c *Case, points int, want Files) {
	dir := Fast(t)
	for i := range steps(c, "") {
		for k := 0; ; k++ {
			out := filepath.Join(dir, fmt.Sprintf("%d-%d", i, k))
			all := steps(c, out)
			for _, a := range all[:i] {
				Must(t, c.Command(a...)...)
			}
			n := 1 + k*max(100/points, 1)
			r := Trace(t, []string{"-n", fmt.Sprint(n)}, c.Program(), all[i]...)
			where := fmt.Sprintf("%s, %s killed at call %d", c.Name, all[i][0], n)
			s.judge(t, where, Judge(t, want, out, r.Published(out, false)))
			for _, a := range all[i : len(all)-1] {
				Must(t, c.Command(a...)...)
			}
			s.resume(t, where, want, out, c.Command(all[len(all)-1]...)...)
			os.RemoveAll(out)
			if !r.Hit {
				break
			}
			s.points++
		}
	}
}

// controlJudge: a judge that finds nothing wrong with a damaged file, or a missing one,
// would make every suite pass.
func controlJudge(t *testing.T, c Case) {
	want := c.Want(t)
	out := filepath.Join(t.TempDir(), "control")
	Must(t, append([]string{"shardify"}, c.Convert(out)...)...)
	if f := Judge(t, want, out, nil); !f.OK() {
		t.Fatalf("control: an unbroken run: %v", f)
	}
	name, _ := Tear(t, out)
	if f := Judge(t, want, out, nil); len(f.Torn) != 1 {
		t.Errorf("control: %s was torn and not noticed: %v", name, f)
	}
	if err := os.Remove(filepath.Join(out, name)); err != nil {
		t.Fatal(err)
	}
	if f := Judge(t, want, out, []string{name}); len(f.Lost) != 2 || len(f.Torn) != 0 {
		t.Errorf("control: %s was lost and not noticed: %v", name, f)
	}
	if err := os.Remove(filepath.Join(out, "shardify.json")); err != nil {
		t.Fatal(err)
	}
	if f := Judge(t, want, out, nil); len(f.Lost) != 1 {
		t.Errorf("control: a receipt without its shard was not noticed: %v", f)
	}
	t.Log("kill: control: a torn shard, a lost one, and a receipt without its shard are noticed")
}
