//go:build linux && amd64

package faulttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// storm is a conversion under random events.
type storm struct {
	t      *testing.T
	c      *cluster
	rng    *rand.Rand
	name   string
	out    string
	jobs   []string // of all submissions: arrays and merges
	events map[string]int
	looks  int
}

// TestSlurmRandomEventsLoseNothing: elements are cancelled, queued again, preempted, warned that
// their time is up, killed, and lose their nodes at random moments. Whatever the order, the data
// set in the end has the bytes of the serial run, and the status is right at every stage. The short
// form takes a few events; the long one 100 (SHARDIFY_EVENTS).
func TestSlurmRandomEventsLoseNothing(t *testing.T) {
	Build(t)
	c := slurm(t)
	if c.dir == "" {
		t.Skip("skipped: nodes are lost in a Slurm of our own alone")
	}
	wanted, size := 3, 6000
	if Long() {
		wanted, size = 100, 12000
	}
	if n, err := strconv.Atoi(os.Getenv("SHARDIFY_EVENTS")); err == nil {
		wanted = n
	}
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("SHARDIFY_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("seed %d", seed)
	total, looks, sets := map[string]int{}, 0, 0
	rng := rand.New(rand.NewPCG(seed, 1))
	base := inMemory(t)
	tree := Folder(t, size/2)
	kinds := []struct {
		name string
		args []string
	}{
		{"synth-mmap", slow(size)},
		{"files-wds", []string{tree, "--shard-samples", "1", "--format", "wds"}},
		{"synth-shuffled", append(slow(size/2), "--shuffle", "global", "--split", "train=0.8,val=0.2")},
	}
	serial := map[string]Files{}
	for sum(total) < wanted {
		k := kinds[sets%len(kinds)]
		if serial[k.name] == nil {
			out := filepath.Join(base, "serial")
			Must(t, append([]string{"shardify", "convert", "-o", out, "--quiet", "--sync", "none"}, k.args...)...)
			serial[k.name], _ = Tree(t, out)
			os.RemoveAll(out)
		}
		s := &storm{t: t, c: c, rng: rng, name: k.name, out: filepath.Join(base, "out"), events: map[string]int{}}
		s.run(k.args, wanted-sum(total), serial[k.name])
		for e, n := range s.events {
			total[e] += n
		}
		looks += s.looks
		sets++
		t.Logf("%s: %v, %d events in all", k.name, s.events, sum(total))
		os.RemoveAll(s.out)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d events %v over %d conversions: merged bytes equal the serial run, nothing left after gc; %d looks at the status, all right", sum(total), total, sets, looks)
}

// inMemory is a folder that the jobs of a cluster see too, in memory where there is one: an
// element is to be busy with work, not with a disk that others use.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "faulttest-slurm-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func sum(m map[string]int) (n int) {
	for _, x := range m {
		n += x
	}
	return n
}

func (s *storm) run(args []string, most int, want Files) {
	t := s.t
	Must(t, append([]string{"shardify", "plan", "-o", s.out, "--quiet"}, args...)...)
	s.submitted(submit(t, s.out, append([]string{"--elements", "4", "--tasks", "8", "--now"}, small...)...))
	end := time.Now().Add(6 * time.Minute)
	for {
		if time.Now().After(end) {
			queue, _ := slurmCommand("squeue", "-r")
			t.Fatalf("%s is not done after 6 minutes:\n%s\n%s", s.name, queue, logs(s.out))
		}
		time.Sleep(time.Duration(200+s.rng.IntN(1200)) * time.Millisecond)
		s.hurry()
		s.look()
		if len(s.queue("")) == 0 && len(s.processes()) == 0 {
			if s.resume() {
				break
			}
			continue
		}
		if sum(s.events) < most {
			s.event()
		}
	}
	for _, n := range s.c.nodes {
		s.c.returnNode(n) // does nothing where it runs
	}
	if out, err := s.inside("gc", s.out, "--yes").CombinedOutput(); err != nil {
		t.Errorf("%s: gc: %v\n%s", s.name, err, out)
	}
	Same(t, want, s.out, s.name+" after "+fmt.Sprint(s.events))
	if _, temps := Tree(t, s.out); len(temps) > 0 {
		t.Errorf("%s: gc left %v", s.name, temps)
	}
}

func (s *storm) submitted(x submission) {
	for _, c := range x.Scripts {
		s.jobs = append(s.jobs, c.Job)
	}
}

func (s *storm) started(job string) {
	endWith(s.t, job)
	s.jobs = append(s.jobs, job)
}

// resume does what the status, or the script's comment, says to go on. It is done when the
// data set is complete.
func (s *storm) resume() (done bool) {
	st := s.look()
	switch {
	case st.State == "complete":
		return true
	case len(st.Next) == 0:
		s.t.Fatalf("%s: %s, and status does not say what to do next: %+v", s.name, st.State, st)
	case s.rng.IntN(2) == 0:
		s.submitted(submit(s.t, s.out, "--missing", "--now"))
		return false
	}
	line := st.Next[0]
	cmd := exec.Command("bash", "-c", line)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(Program("shardify"))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %s: %v\n%s", s.name, line, err, out)
	}
	for line := range strings.Lines(string(out)) { // "Submitted batch job 12"
		if f := strings.Fields(line); len(f) == 4 && f[0] == "Submitted" {
			s.started(f[3])
		}
		if _, id, ok := strings.Cut(line, ", job "); ok {
			s.started(strings.TrimSpace(id))
		}
	}
	return false
}

// queue lists elements and jobs of this conversion in a state, as "12_3" or "13".
func (s *storm) queue(state string) (ids []string) {
	args := []string{"squeue", "-h", "-r", "-o", "%i %T %r", "-j", strings.Join(s.jobs, ",")}
	if state != "" {
		args = append(args, "-t", state)
	}
	out, err := slurmCommand(args...)
	if err != nil {
		if !strings.Contains(out, "Invalid job id") {
			s.t.Fatal(err)
		}
		return nil
	}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) > 0 {
			ids = append(ids, f[0])
		}
	}
	return ids
}

// hurry lets jobs that are queued again start at once instead of when their old credentials
// are void.
func (s *storm) hurry() {
	out, _ := slurmCommand("squeue", "-h", "-r", "-o", "%i %r", "-t", "PD", "-j", strings.Join(s.jobs, ","))
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == "BeginTime" {
			slurmCommand("scontrol", "update", "JobId="+f[0], "StartTime=now")
		}
	}
}

// process is one of this conversion's that runs.
type process struct {
	pid, element int
	start        time.Time
}

// processes finds them by their command lines.
func (s *storm) processes() (list []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		words := strings.Split(string(line), "\x00")
		if len(words) < 3 || words[0] != Program("shardify") || words[2] != s.out {
			continue
		}
		p := process{pid: pid, element: -1}
		if i := slices.Index(words, "--task"); i > 0 && words[1] == "work" {
			p.element, _ = strconv.Atoi(words[i+1])
		}
		if st, err := os.Stat("/proc/" + e.Name()); err == nil {
			p.start = st.ModTime()
		}
		list = append(list, p)
	}
	return list
}

// inside is a command in the namespace of the jobs, where it can see which processes live.
func (s *storm) inside(args ...string) *exec.Cmd {
	enter := []string{"-p", "-m", "-t", strconv.Itoa(s.c.init.Process.Pid), Program("shardify")}
	return exec.Command("nsenter", append(enter, args...)...)
}

// look compares the status with what runs: a task is running only if a process does it.
func (s *storm) look() status {
	before := s.processes()
	st := lookBy(s.t, s.inside("status", s.out, "--json"))
	after := s.processes()
	alive := func(list []process, element int) bool {
		return slices.ContainsFunc(list, func(p process) bool { return p.element == element })
	}
	for _, task := range st.Tasks {
		if e := task.Task % 4; task.State == "running" && !alive(before, e) && !alive(after, e) {
			s.t.Errorf("%s: status says that task %d runs; no process does element %d", s.name, task.Task, e)
		}
	}
	for _, stage := range st.Stages {
		if len(before) == 0 && len(after) == 0 && stage.Units.Running+stage.Tasks.Running > 0 {
			s.t.Errorf("%s: no process runs, and status says running: %+v", s.name, stage)
		}
	}
	s.looks++
	return st
}

// event does something to an element that runs.
func (s *storm) event() {
	running := slices.DeleteFunc(s.queue("R"), func(id string) bool { return !strings.Contains(id, "_") })
	if len(running) == 0 {
		return
	}
	id := running[s.rng.IntN(len(running))]
	node := jobInfo(id, "NodeList")
	var what string
	var err error
	kinds := 6
	if !Long() {
		kinds = 4 // the rest take Slurm a while
	}
	switch s.rng.IntN(kinds) {
	case 0:
		what = "cancelled"
		_, err = slurmCommand("scancel", id)
	case 1:
		what = "requeued"
		_, err = slurmCommand("scontrol", "requeue", id)
	case 2:
		what = "notified"
		_, err = slurmCommand("scancel", "--batch", "--signal=USR1", id)
	case 3:
		what = "killed"
		list := slices.DeleteFunc(s.processes(), func(p process) bool { return p.element < 0 })
		if len(list) == 0 {
			return
		}
		err = syscall.Kill(list[s.rng.IntN(len(list))].pid, syscall.SIGKILL)
	case 4:
		what = "preempted"
		if node == "" {
			return
		}
		_, err = slurmCommand("sbatch", "-p", "urgent", "-c", "4", "-w", node, "-o", "/dev/null", "--wrap", "sleep 1")
	case 5:
		what = "node lost"
		if node == "" {
			return
		}
		if err = s.c.loseNode(node); err == nil {
			// Sometimes it is back before the controller has noticed.
			time.Sleep(time.Duration(s.rng.IntN(2)) * time.Duration(s.rng.IntN(20)) * time.Second)
			err = s.c.returnNode(node)
		}
	}
	if err != nil {
		// What was to be hit may have ended in the meantime.
		s.t.Logf("%s: not %s: %v", s.name, what, err)
		return
	}
	s.events[what]++
}
