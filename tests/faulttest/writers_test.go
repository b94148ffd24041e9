//go:build linux && amd64

package faulttest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writers: 2 to 8 processes make the same shards at the same time; some are killed, some are
// stopped for a while, and each of the others succeeds. The result is one set.
func writers(t *testing.T) {
	rounds := 12
	if Long() {
		rounds = 1000
	}
	w := &writing{r: rand.New(rand.NewPCG(1, 2)), gc: command(t, "gc"), dir: Fast(t)}
	all := Cases(t)
	var cases []Case
	var want []Files
	for _, n := range []string{"files-wds", "npz-mmap", "npz-mmap-global-split", "root-mmap"} {
		c := Find(t, all, n)
		cases, want = append(cases, c), append(want, c.Want(t))
	}
	w.took = timed(t, cases[0].Command(cases[0].Convert(filepath.Join(w.dir, "first"))...)...)
	for i := range rounds {
		k := i % len(cases)
		switch i / len(cases) % 3 {
		case 0:
			w.works(t, &cases[k], want[k], i)
		case 1:
			w.converts(t, &cases[k], want[k], i)
		case 2:
			w.differing(t, &cases[k], i)
		}
	}
	t.Logf("writers: %d rounds, %d processes (%d killed, %d stopped and continued, %d refused as their plan was another), %d failed otherwise; %d sets with other bytes, %d with leftovers (after gc: %v)",
		rounds, w.procs, w.killed, w.stopped, w.refused, w.failed, w.others, w.left, w.gc)
	controlWriters(t, cases[1])
}

type writing struct {
	tally
	r                                       *rand.Rand
	dir                                     string
	gc                                      bool
	took                                    time.Duration
	procs, killed, stopped, refused, failed int
	left                                    int
}

// disturb kills some of the processes and stops others for a while; waits for all but
// those that stay stopped, which it returns.
func (w *writing) disturb(t *testing.T, list []*proc, ok ...int) (stopped []*proc) {
	for _, p := range list {
		w.procs++
		switch w.r.IntN(4) {
		case 0:
			p.killAfter(upTo(w.r, w.took/2))
		case 1:
			time.Sleep(upTo(w.r, w.took/4))
			if p.signal(syscall.SIGSTOP) {
				w.stopped++
				stopped = append(stopped, p)
			}
		}
	}
	for _, p := range list {
		if !contains(stopped, p) {
			w.check(t, p, ok...)
		}
	}
	return stopped
}

func contains(list []*proc, p *proc) bool {
	for _, x := range list {
		if x == p {
			return true
		}
	}
	return false
}

// check wants one of the exit codes, or 0, of a process that was not killed.
func (w *writing) check(t *testing.T, p *proc, ok ...int) {
	code := p.wait(t)
	if p.killed && code < 0 {
		w.killed++
		return
	}
	for _, c := range ok {
		if code == c {
			return
		}
	}
	if code != 0 {
		w.failed++
		w.fault(t, "%v exits %d\n%s", p.cmd.Args, code, p.out.String())
	}
}

// resumeAll lets stopped processes go on: into a set that may be complete by now.
func (w *writing) resumeAll(t *testing.T, stopped []*proc, ok ...int) {
	for _, p := range stopped {
		p.signal(syscall.SIGCONT)
	}
	for _, p := range stopped {
		w.check(t, p, ok...)
	}
}

// works: the same task several times, with a merge and a gc beside it.
func (w *writing) works(t *testing.T, c *Case, want Files, i int) {
	out := filepath.Join(w.dir, strconv.Itoa(i))
	Must(t, append([]string{"shardify"}, c.Plan(out)...)...)
	work := []string{"work", out, "--jobs", "2", "--quiet"}
	var list []*proc
	for range 2 + w.r.IntN(7) {
		list = append(list, start(t, work...))
	}
	beside := []*proc{start(t, "merge", out, "--quiet")}
	if w.gc {
		beside = append(beside, start(t, "gc", out, "--yes", "--quiet"))
	}
	stopped := w.disturb(t, list)
	for _, p := range beside {
		w.check(t, p, 3) // merge: there are shards to come
	}
	Must(t, append([]string{"shardify"}, work...)...)
	merges := []*proc{start(t, "merge", out, "--quiet"), start(t, "merge", out, "--quiet")}
	for _, p := range merges {
		w.check(t, p)
	}
	w.resumeAll(t, stopped)
	w.end(t, fmt.Sprintf("round %d, %s, work", i, c.Name), want, out)
}

// converts: the same conversion several times, from the plan on.
func (w *writing) converts(t *testing.T, c *Case, want Files, i int) {
	out := filepath.Join(w.dir, strconv.Itoa(i))
	var list []*proc
	for range 2 + w.r.IntN(7) {
		list = append(list, start(t, c.Convert(out)...))
	}
	stopped := w.disturb(t, list)
	Must(t, append([]string{"shardify"}, c.Convert(out)...)...)
	w.resumeAll(t, stopped)
	w.end(t, fmt.Sprintf("round %d, %s, convert", i, c.Name), want, out)
}

// differing: conversions of two plans into one folder. One plan wins, and the processes of the
// other report it.
func (w *writing) differing(t *testing.T, c *Case, i int) {
	out := filepath.Join(w.dir, strconv.Itoa(i))
	plans := [][]string{c.Convert(out), c.Convert(out, "--limit", "7")}
	var list []*proc
	for k := range 2 + w.r.IntN(7) {
		list = append(list, start(t, plans[k%2]...))
	}
	stopped := w.disturb(t, list, 1)
	for _, p := range list {
		if !contains(stopped, p) {
			w.conflict(t, p)
		}
	}
	w.resumeAll(t, stopped, 1)
	won := 0
	var want Files
	for k, args := range plans {
		code, text := Run(t, append([]string{"shardify"}, args...)...)
		if code == 0 {
			won++
			unbroken := Case{Name: c.Name, In: c.In, Flags: append(append([]string{}, c.Flags...), []string{"--limit", "7"}[:2*k]...)}
			want = unbroken.Want(t)
		} else if !strings.Contains(text, "another conversion") {
			w.fault(t, "round %d: exit %d without saying that another conversion is there\n%s", i, code, text)
		}
	}
	if won != 1 {
		w.fault(t, "round %d: %d of two different plans succeed in one folder", i, won)
		return
	}
	w.end(t, fmt.Sprintf("round %d, %s, two plans", i, c.Name), want, out)
}

// conflict wants a process that failed to say that its plan is another.
func (w *writing) conflict(t *testing.T, p *proc) {
	if p.cmd.ProcessState.ExitCode() != 1 {
		return
	}
	w.refused++
	if !strings.Contains(p.out.String(), "exists") {
		w.fault(t, "%v fails: %s", p.cmd.Args, p.out.String())
	}
}

// end compares the set, and checks the files beside it.
func (w *writing) end(t *testing.T, where string, want Files, out string) {
	if w.gc {
		Must(t, "shardify", "gc", out, "--yes", "--quiet")
	}
	got, temps := Tree(t, out)
	if !maps.Equal(want, got) {
		w.others++
		w.fault(t, "%s: other bytes: %d files, want %d", where, len(got), len(want))
	}
	if len(temps) > 0 {
		w.left++
		w.fault(t, "%s: left %v", where, temps)
	}
	os.RemoveAll(out)
}

// controlWriters: a writer of other bytes must get an error, and leave the files unchanged.
func controlWriters(t *testing.T, c Case) {
	dir := t.TempDir()
	out, other := filepath.Join(dir, "out"), filepath.Join(dir, "other")
	Must(t, append([]string{"shardify"}, c.Convert(other, "--limit", "7")...)...)
	Must(t, append([]string{"shardify"}, c.Plan(out)...)...)
	const name = "shard-000001.safetensors"
	if b, err := exec.Command("cp", filepath.Join(other, name), filepath.Join(out, name)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	code, text := Run(t, "shardify", "work", out, "--quiet")
	if code != 1 || !strings.Contains(text, "other content") {
		t.Errorf("control: over a shard of other bytes work exits %d\n%s", code, text)
	}
	if f := Judge(t, c.Want(t), out, nil); len(f.Torn) != 1 {
		t.Errorf("control: a shard of other bytes is not noticed: %v", f)
	}
	t.Log("writers: control: a shard of other bytes is noticed, and stays")
}
