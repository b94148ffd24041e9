package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers"
)

var bg = context.Background()

// planned publishes a plan of ten shards in dir and returns the job.
func planned(t *testing.T, dir, shuffle string, split *splits.Rule) *convert.Job {
	t.Helper()
	options, err := format.CheckOptions(synth.Format.Options, format.Options{"samples": "100", "schema": "x:f32[3],k:i64", "synth-seed": "1"})
	if err != nil {
		t.Fatal(err)
	}
	args := format.OpenArgs{Table: &format.Table{}, Options: options}
	src, err := synth.Format.Open(bg, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	sink, _ := writers.Lookup(index.FormatMmap)
	sinkOptions, err := format.CheckOptions(sink.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := convert.MakePlan(bg, convert.Request{
		Input: "synth", Source: src, Args: args, Output: sink, Options: sinkOptions, ShardSamples: 10, Shuffle: shuffle, Split: split,
	})
	if err != nil {
		t.Fatal(err)
	}
	j := &convert.Job{Plan: p, Source: src, Sink: sink, Store: local.NewDir(dir, local.SyncNone), Pool: shardify.NewPool(64 << 20), Jobs: 1}
	if err := plan.Publish(bg, p, j.Store); err != nil {
		t.Fatal(err)
	}
	return j
}

// leave puts the record of an attempt in a folder, as it is after change.
func leave(t *testing.T, dir string, a Attempt, change func(a *Attempt)) {
	t.Helper()
	a.Owner, _ = Self(func(string) string { return "" })
	r, err := Begin(dir, a)
	if err != nil {
		t.Fatal(err)
	}
	change(&r.a)
	if err := r.put(r.a.encode()); err != nil {
		t.Fatal(err)
	}
	r.shut()
}

func ended(outcome, text string) func(a *Attempt) {
	return func(a *Attempt) { a.End, a.Ending = &a.Updated, Ending{Outcome: outcome, Error: text} }
}

// deadProcess is the pid of a process that was, and its start.
func deadProcess(t *testing.T) (int, uint64) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	start, err := processStart(cmd.Process.Pid)
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	return cmd.Process.Pid, start
}

func look1(t *testing.T, dir string) *Report {
	t.Helper()
	r, err := Status(bg, dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Stages {
		for _, c := range []Counts{s.Units, s.Tasks} {
			if c.Done+c.Running+c.Failed+c.Missing != c.Total {
				t.Errorf("%s: %+v do not add up", s.Name, c)
			}
		}
	}
	for _, line := range r.Lines() {
		if len(line) > width && !strings.Contains(line, dir) {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
	return r
}

// TestStatusIsRightAtEveryStage of four tasks: one done, one that runs, one that failed,
// one that was killed for its memory, and then of the merge.
func TestStatusIsRightAtEveryStage(t *testing.T) {
	dir := t.TempDir()
	want := func(what, state string, units Counts, next ...string) *Report {
		t.Helper()
		r := look1(t, dir)
		if r.State != state {
			t.Errorf("%s: state %q, want %q", what, r.State, state)
		}
		if len(r.Stages) > 0 && r.Stages[0].Units != units {
			t.Errorf("%s: units %+v, want %+v", what, r.Stages[0].Units, units)
		}
		for i := range next {
			next[i] = strings.ReplaceAll(next[i], "DIR", dir)
		}
		if !slices.Equal(r.Next, next) && next != nil {
			t.Errorf("%s: next %q, want %q", what, r.Next, next)
		}
		return r
	}
	want("empty folder", StatusNone, Counts{}, "shardify plan INPUT... -o DIR")
	temp, err := local.NewDir(dir, local.SyncNone).Create(plan.FileName)
	if err != nil {
		t.Fatal(err)
	}
	want("a plan that is being written", StatusPlanning, Counts{})
	temp.Abort()

	j := planned(t, dir, "", nil)
	want("a plan", StatusPlanned, Counts{Total: 10, Missing: 10}, "shardify work DIR", "shardify merge DIR")

	const tasks = 4
	if err := j.Work(bg, j.Plan.Pack.Task(0, tasks)); err != nil {
		t.Fatal(err)
	}
	var n [tasks]int
	for _, x := range j.Plan.Pack.TasksOf(tasks) {
		n[x]++
	}
	leave(t, dir, Attempt{Command: "work", Task: 0, Tasks: tasks}, ended(OutcomeDone, ""))
	leave(t, dir, Attempt{Command: "work", Task: 1, Tasks: tasks}, func(a *Attempt) { a.Rate = 1000 })
	r := want("one done, one runs", StatusRunning, Counts{Total: 10, Done: n[0], Running: n[1], Missing: n[2] + n[3]},
		"shardify work DIR --task 2 --tasks 4", "shardify work DIR --task 3 --tasks 4", "shardify merge DIR")
	if s := r.Stages[0]; s.Tasks != (Counts{Total: 4, Done: 1, Running: 1, Missing: 2}) || s.Missing != "2-3" || r.ETA <= 0 {
		t.Errorf("tasks %+v, missing %q, %.0f s left", s.Tasks, s.Missing, r.ETA)
	}

	leave(t, dir, Attempt{Command: "work", Task: 2, Tasks: tasks}, ended(OutcomeFailed, "read a.npz: corrupt data"))
	pid, start := deadProcess(t)
	leave(t, dir, Attempt{Command: "work", Task: 3, Tasks: tasks, Memory: 1 << 30, MemoryLimit: 2 << 30, LimitFrom: "cgroup memory.max"}, func(a *Attempt) {
		a.PID, a.Process, a.Peak = pid, start, 2<<30-1
	})
	r = want("one failed, one killed", StatusRunning, Counts{Total: 10, Done: n[0], Running: n[1], Failed: n[2] + n[3]})
	text := strings.Join(r.Lines(), "\n")
	for _, s := range []string{"corrupt data", "probably out of memory", "--memory 512MiB", "failed   2-3 of 4", "task 3 of 4"} {
		if !strings.Contains(text, s) {
			t.Errorf("%q is not in\n%s", s, text)
		}
	}

	// The next attempt at a task counts, whatever became of the one before.
	leave(t, dir, Attempt{Command: "work", Task: 2, Tasks: tasks}, ended(OutcomeStopped, ""))
	want("stopped", StatusRunning, Counts{Total: 10, Done: n[0], Running: n[1], Failed: n[3], Missing: n[2]})

	if err := j.Work(bg, j.Plan.Pack.Task(0, 1)); err != nil {
		t.Fatal(err)
	}
	want("all shards, one attempt left", StatusMerging, Counts{Total: 10, Done: 10})
	leave(t, dir, Attempt{Command: "work", Task: 1, Tasks: tasks}, ended(OutcomeDone, ""))
	want("all shards", StatusUnmerged, Counts{Total: 10, Done: 10}, "shardify merge DIR")
	leave(t, dir, Attempt{Command: "merge", Tasks: 1}, ended(OutcomeFailed, "write: no space left on device"))
	if r := want("merge failed", StatusUnmerged, Counts{Total: 10, Done: 10}); r.Merge == nil || !strings.Contains(strings.Join(r.Lines(), "\n"), "no space left") {
		t.Errorf("the merge: %+v", r.Merge)
	}
	m, err := j.Merge(bg)
	if err != nil {
		t.Fatal(err)
	}
	r = want("merged", StatusComplete, Counts{Total: 10, Done: 10}, "shardify verify DIR")
	if r.Samples != 100 || r.Bytes != m.Bytes || r.Merge != nil {
		t.Errorf("complete: %+v", r)
	}
	if err := os.RemoveAll(filepath.Join(dir, storage.Private)); err != nil {
		t.Fatal(err)
	}
	want("without the private folder", StatusComplete, Counts{}, "shardify verify DIR")
}

// TestStatusOfAGlobalShuffle counts both stages, also when only receipts of the first one show it,
// and knows splits.
func TestStatusOfAGlobalShuffle(t *testing.T) {
	split, err := splits.Parse("train=0.8,val=0.2")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	j := planned(t, dir, plan.ShuffleGlobal, split)
	r := look1(t, dir)
	if len(r.Stages) != 2 || r.State != StatusPlanned {
		t.Fatalf("%s, stages %+v", r.State, r.Stages)
	}
	if err := j.Work(bg, j.Plan.Pack.Task(0, 1)); err != nil {
		t.Fatal(err)
	}
	leave(t, dir, Attempt{Command: "work", Stage: "scatter", Task: 0, Tasks: 3}, ended(OutcomeDone, ""))
	leave(t, dir, Attempt{Command: "work", Stage: "gather", Task: 1, Tasks: 3}, ended(OutcomeFailed, "x"))
	r = look1(t, dir)
	if s := r.Stages[0]; s.Units.Done != s.Units.Total || s.Tasks.Done != 3 {
		t.Errorf("scatter %+v", s)
	}
	if s := r.Stages[1]; s.Units.Done != 0 || s.Tasks.Failed != 1 || s.Failed != "1" || s.Missing != "0,2" {
		t.Errorf("gather %+v", s)
	}
	if want := fmt.Sprintf("shardify work %s --stage gather --task 0 --tasks 3", dir); len(r.Next) == 0 || r.Next[0] != want {
		t.Errorf("next %q, want %q", r.Next, want)
	}
	if err := j.Gather(bg, j.Plan.Order.GatherTask(0, 1)); err != nil {
		t.Fatal(err)
	}
	if r = look1(t, dir); r.State != StatusUnmerged || r.Samples != 100 {
		t.Errorf("%s, %d samples", r.State, r.Samples)
	}
	if _, err := j.Merge(bg); err != nil {
		t.Fatal(err)
	}
	if r = look1(t, dir); r.State != StatusComplete || r.Samples != 100 {
		t.Errorf("%s, %d samples", r.State, r.Samples)
	}
}

// TestStatusChangesNothing: neither in a folder that is read-only nor in one that is not,
// with damage of all kinds in it.
func TestStatusChangesNothing(t *testing.T) {
	dir := t.TempDir()
	j := planned(t, dir, "", nil)
	if err := j.Work(bg, j.Plan.Pack.Task(0, 2)); err != nil {
		t.Fatal(err)
	}
	leave(t, dir, Attempt{Command: "work", Task: 1, Tasks: 2}, ended(OutcomeFailed, "x"))
	leave(t, dir, Attempt{Command: "work", Task: 0, Tasks: 2}, func(*Attempt) {})
	done, err := plan.ReadDone(bg, j.Plan, j.Store)
	if err != nil {
		t.Fatal(err)
	}
	had := count(done.Shards)
	first := slices.Index(done.Shards, true)
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf(".shardify/receipts/shard-%06d.json", first), "{")
	write(".shardify/receipts/shard-999999.json", "{}")
	write(".shardify/receipts/rubbish", "")
	write(".shardify/attempts/0000/work-0of9.00000000000000ff-00000000.json", "rubbish")
	write(".shardify/attempts/0000/rubbish", "rubbish")
	before := hash(t, dir)
	r := look1(t, dir)
	if r.Stages[0].Units.Done != had-1 || len(r.Damaged) != 1 || r.Damaged[0] != first || len(r.Unreadable) != 1 {
		t.Errorf("%d units done of %d, damaged %v, unreadable %v", r.Stages[0].Units.Done, had, r.Damaged, r.Unreadable)
	}
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if e.IsDir() {
			os.Chmod(p, 0o555)
			t.Cleanup(func() { os.Chmod(p, 0o777) })
		}
		return err
	})
	if r, err := (Options{Deep: true}).Status(bg, dir); err != nil || r.Stages[0].Units.Done != had-1 {
		t.Errorf("in a read-only folder: %v", err)
	}
	if hash(t, dir) != before {
		t.Error("status has changed the folder")
	}
	// A state that cannot be read is an error.
	os.Chmod(filepath.Join(dir, ".shardify"), 0o777)
	write(".shardify/plan", "rubbish")
	if _, err := Status(bg, dir); !errors.Is(err, shardify.ErrCorrupt) {
		t.Errorf("a damaged plan: %v", err)
	}
	if _, err := Status(bg, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}

// hash is over names, modes of files, times and contents of a tree.
func hash(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, p, st.Size(), st.ModTime().UnixNano())
		if e.IsDir() {
			return nil
		}
		b, err := os.ReadFile(p)
		h.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestDeepLooksAtTheShards: a shard that is gone, or cut, is not done.
func TestDeepLooksAtTheShards(t *testing.T) {
	dir := t.TempDir()
	j := planned(t, dir, "", nil)
	if err := j.Work(bg, j.Plan.Pack.Task(0, 1)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, j.Plan.Names().Shard(3)), 7); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, j.Plan.Names().Shard(5))); err != nil {
		t.Fatal(err)
	}
	if r := look1(t, dir); r.Stages[0].Units.Done != 10 {
		t.Errorf("%d done by their receipts", r.Stages[0].Units.Done)
	}
	r, err := (Options{Deep: true}).Status(bg, dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Damaged, []int{3, 5}) || r.Stages[0].Units.Missing != 2 {
		t.Errorf("damaged %v, units %+v", r.Damaged, r.Stages[0].Units)
	}
}

// TestSlurmArraysAreSubmittedAgain by the elements that have something left to do.
func TestSlurmArraysAreSubmittedAgain(t *testing.T) {
	dir := t.TempDir()
	planned(t, dir, "", nil)
	slurm := func(task, stride int) {
		leave(t, dir, Attempt{Command: "work", Task: task, Tasks: 8, Stride: stride}, func(a *Attempt) {
			a.Engine, a.Job, a.Element = "slurm", "77", fmt.Sprint(task)
			ended(OutcomeFailed, "x")(a)
		})
	}
	slurm(1, 4)
	slurm(2, 4)
	r := look1(t, dir)
	if want := "sbatch --array=0-3 "; !strings.HasPrefix(r.Next[0], want) {
		t.Errorf("next %q, want %q", r.Next, want)
	}
	if s := r.Stages[0]; s.Failed != "1-2,5-6" || s.Missing != "0,3-4,7" || len(r.Tasks) != 2 {
		t.Errorf("failed %q, missing %q, %d attempts", s.Failed, s.Missing, len(r.Tasks))
	}
	// While some of them run, the tasks that no attempt has started are in the queue.
	leave(t, dir, Attempt{Command: "work", Task: 3, Tasks: 8, Stride: 4}, func(a *Attempt) { a.Engine, a.Element = "slurm", "3" })
	if r := look1(t, dir); !strings.HasPrefix(r.Next[0], "sbatch --array=1-2 ") {
		t.Errorf("while one runs: next %q", r.Next)
	}
	slurm(3, 4)
	if err := os.MkdirAll(filepath.Join(dir, SubmitDir), 0o777); err != nil {
		t.Fatal(err)
	}
	if r = look1(t, dir); len(r.Next) != 1 || !strings.HasPrefix(r.Next[0], "shardify submit slurm ") {
		t.Errorf("next %q", r.Next)
	}
}

// TestOnOtherMachinesSilenceTells: a process that cannot be seen is taken for killed
// only after a time that no delay takes.
func TestOnOtherMachinesSilenceTells(t *testing.T) {
	a := Attempt{Owner: Owner{Host: "elsewhere", PID: 1, Process: 1, Boot: "another"}, Updated: time.Now()}
	for _, c := range []struct {
		age  time.Duration
		want string
	}{{0, StateRunning}, {3 * Heartbeat, StateRunning}, {2 * Silence, StateKilled}, {-time.Hour, StateRunning}} {
		if got := a.State(a.Updated.Add(c.age)); got != c.want {
			t.Errorf("after %v: %s, want %s", c.age, got, c.want)
		}
	}
	self, _ := Self(os.Getenv)
	old := Attempt{Owner: self, Updated: time.Now().Add(-24 * time.Hour)}
	if got := old.State(time.Now()); got != StateRunning {
		t.Errorf("this process, silent for a day: %s", got)
	}
	old.Process++ // another process has the number now
	if got := old.State(time.Now()); got != StateKilled {
		t.Errorf("a process whose number was given away: %s", got)
	}
}
