//go:build linux && amd64

package faulttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// submission is what `submit slurm --json` prints.
type submission struct {
	Complete bool `json:"already_complete"`
	Tasks    int  `json:"tasks"`
	Elements int  `json:"elements"`
	Scripts  []struct {
		Stage, File, Text, Job string
	} `json:"scripts"`
	Commands []string `json:"commands"`
}

// small is what an element of these tests asks for.
var small = []string{"--cpus", "1", "--mem", "300MiB", "--time", "30m"}

func submit(t *testing.T, out string, flags ...string) (s submission) {
	t.Helper()
	args := append([]string{"shardify", "submit", "slurm", out, "--json"}, flags...)
	text := Must(t, args...)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	for _, c := range s.Scripts {
		endWith(t, c.Job)
	}
	return s
}

// endWith ends a job with the test, before the folders that the test made are removed: a job
// that is cancelled goes on writing for a moment.
func endWith(t *testing.T, job string) {
	if job == "" {
		return
	}
	t.Cleanup(func() {
		slurmCommand("scancel", job)
		for range 300 {
			left, err := slurmCommand("squeue", "-h", "-j", job) // those that are being ended are listed too
			if err == nil && left == "" || strings.Contains(left, "Invalid job id") {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("job %s does not end: %s", job, jobInfo(job, "JobState"))
	})
}

// typed runs the printed commands as a user would who copies them, and returns the number of the
// merge.
func typed(t *testing.T, s submission) (merge string) {
	t.Helper()
	script := strings.Join(append(s.Commands, `echo "${array%%;*} ${merge%%;*}"`), "\n")
	cmd := exec.Command("bash", "-e", "-c", script)
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	jobs := strings.Fields(string(out))
	if err != nil || len(jobs) == 0 {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	for _, job := range jobs {
		endWith(t, job)
	}
	return jobs[len(jobs)-1]
}

// jobInfo is a field of a job, or of an element of an array.
func jobInfo(id, field string) string {
	out, err := slurmCommand("scontrol", "-o", "show", "job", id)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(out) {
		for _, w := range strings.Fields(line) {
			if v, ok := strings.CutPrefix(w, field+"="); ok {
				return v
			}
		}
	}
	return ""
}

// finished waits for the end of a job and returns its state and exit code.
func finished(t *testing.T, id string, limit time.Duration) (state, code string) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(300 * time.Millisecond) {
		switch s := jobInfo(id, "JobState"); s {
		case "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY":
			return s, jobInfo(id, "ExitCode")
		}
	}
	queue, _ := slurmCommand("squeue", "-r")
	t.Fatalf("job %s is not done after %v:\n%s", id, limit, queue)
	return "", ""
}

// logs is the end of every log of a conversion.
func logs(out string) string {
	var b strings.Builder
	names, _ := filepath.Glob(filepath.Join(out, ".shardify/logs/*.log"))
	for _, n := range names {
		text, _ := os.ReadFile(n)
		fmt.Fprintf(&b, "--- %s\n%s\n", filepath.Base(n), tail(text))
	}
	return b.String()
}

// status is what `status --json` prints of a conversion, as far as it is looked at here.
type status struct {
	State  string `json:"state"`
	Stages []struct {
		Name                 string `json:"stage"`
		Units, Shards, Tasks counts
	} `json:"stages"`
	Tasks []struct {
		Task  int    `json:"task"`
		Stage string `json:"stage"`
		State string `json:"state"`
	} `json:"tasks"`
	Skipped int64    `json:"skipped"`
	Next    []string `json:"next"`
}

type counts struct{ Total, Done, Running, Failed, Missing int }

// look asks for the status, which must add up at any moment.
func look(t *testing.T, out string) (s status) {
	t.Helper()
	return lookBy(t, exec.Command(Program("shardify"), "status", out, "--json"))
}

func lookBy(t *testing.T, cmd *exec.Cmd) (s status) {
	t.Helper()
	text, err := cmd.Output()
	code := cmd.ProcessState.ExitCode()
	if e := json.NewDecoder(bytes.NewReader(text)).Decode(&s); e != nil || code != 0 && code != 3 {
		t.Fatalf("%v: exit %d, %v, %v\n%s", cmd, code, err, e, text)
	}
	if (code == 0) != (s.State == "complete") {
		t.Errorf("status: exit %d when %s", code, s.State)
	}
	for _, st := range s.Stages {
		for what, c := range map[string]counts{"units": st.Units, "shards": st.Shards, "tasks": st.Tasks} {
			if c.Done+c.Running+c.Failed+c.Missing != c.Total {
				t.Errorf("status: %s of stage %s do not add up: %+v", what, st.Name, c)
			}
		}
	}
	return s
}

// TestSlurmArrayAndMergeMakeTheSerialBytes: plans of every format and stage, submitted by the
// printed commands, scripts unedited, give what one process makes.
func TestSlurmArrayAndMergeMakeTheSerialBytes(t *testing.T) {
	Build(t)
	slurm(t)
	type running struct {
		Case
		out, merge string
		want       Files
	}
	var all []*running
	for _, c := range Cases(t) {
		r := &running{Case: c, want: c.Want(t)}
		r.out = filepath.Join(t.TempDir(), `it's 100% "odd" $HOME #1; é`)
		Must(t, append([]string{"shardify"}, c.Plan(r.out)...)...)
		r.merge = typed(t, submit(t, r.out, append([]string{"--elements", "2", "--tasks", "3", "--throttle", "2"}, small...)...))
		look(t, r.out)
		all = append(all, r)
	}
	for _, r := range all {
		if state, code := finished(t, r.merge, 2*time.Minute); state != "COMPLETED" {
			t.Errorf("%s: the merge is %s, exit %s\n%s", r.Name, state, code, logs(r.out))
			continue
		}
		Same(t, r.want, r.out, r.Name+" by Slurm")
		if s := look(t, r.out); s.State != "complete" {
			t.Errorf("%s: status says %s", r.Name, s.State)
		}
		if s := submit(t, r.out); !s.Complete {
			t.Errorf("%s: complete, and submitted again", r.Name)
		}
	}
	t.Logf("%d conversions as job arrays, bytes equal the serial run", len(all))
}

// TestSlurmSkippedInputDoesNotBlockTheMerge: an element that leaves damaged input out has
// succeeded; the merge completes the set and says so with exit code 3.
func TestSlurmSkippedInputDoesNotBlockTheMerge(t *testing.T) {
	Build(t)
	slurm(t)
	in := NPZ(t, 4000)
	b, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)*3/4] ^= 0x20 // in the stored member: its checksum
	b[500] ^= 0x20        // in the deflated one
	if err := os.WriteFile(in, b, 0o666); err != nil {
		t.Fatal(err)
	}
	args := func(verb, out string) []string {
		return []string{"shardify", verb, in, "-o", out, "--on-error", "skip", "--shard-samples", "500", "--format", "mmap", "--quiet"}
	}
	serial, out := filepath.Join(t.TempDir(), "serial"), filepath.Join(t.TempDir(), "out")
	code, text := Run(t, args("convert", serial)...)
	if code != 3 {
		t.Skipf("skipped: the damage cannot be left out (exit %d): %s", code, text)
	}
	Must(t, args("plan", out)...)
	s := submit(t, out, append([]string{"--elements", "3", "--now"}, small...)...)
	last := s.Scripts[len(s.Scripts)-1]
	if state, code := finished(t, last.Job, time.Minute); state != "FAILED" || code != "3:0" {
		t.Errorf("the merge is %s, exit %s, want FAILED, 3:0\n%s", state, code, logs(out))
	}
	want, _ := Tree(t, serial)
	Same(t, want, out, "by Slurm with damage")
	if s := look(t, out); s.State != "complete" || s.Skipped == 0 {
		t.Errorf("status: %s, %d samples skipped", s.State, s.Skipped)
	}
}

// TestSlurmMissingElementsAreSubmittedAgain: an element that fails keeps the merge from
// starting; --missing submits that element, with the flags of the first submission, and a
// new merge.
func TestSlurmMissingElementsAreSubmittedAgain(t *testing.T) {
	Build(t)
	slurm(t)
	in := Folder(t, 12)
	serial, out := filepath.Join(t.TempDir(), "serial"), filepath.Join(t.TempDir(), "out")
	Must(t, "shardify", "convert", in, "-o", serial, "--shard-samples", "2", "--quiet")
	Must(t, "shardify", "plan", in, "-o", out, "--shard-samples", "2", "--quiet")
	prologue := filepath.Join(t.TempDir(), "prologue")
	blocked := filepath.Join(t.TempDir(), "blocked")
	text := fmt.Sprintf("if [ -e %s ] && [ $SLURM_ARRAY_TASK_ID = 1 ]; then exit 1; fi\n", blocked)
	if err := os.WriteFile(prologue, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blocked, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := submit(t, out, append([]string{"--elements", "3", "--prologue", prologue, "--sbatch", "--comment=kept", "--now"}, small...)...)
	if state, _ := finished(t, s.Scripts[1].Job, time.Minute); state != "CANCELLED" {
		t.Errorf("the merge is %s, want CANCELLED: an element has failed", state)
	}
	if st := look(t, out); st.Stages[0].Units.Done != 4 || st.Stages[0].Units.Total != 6 {
		t.Errorf("status: %+v, want 4 of 6 units done", st.Stages[0].Units)
	}
	os.Remove(blocked)
	again := submit(t, out, "--missing", "--now")
	first := again.Scripts[0]
	for _, want := range []string{"#SBATCH --array=1\n", "--tasks 3 ", "--comment=kept", "#SBATCH --mem=300M", text} {
		if !strings.Contains(first.Text, want) {
			t.Errorf("the second script lacks %q:\n%s", want, first.Text)
		}
	}
	if state, code := finished(t, again.Scripts[1].Job, time.Minute); state != "COMPLETED" {
		t.Fatalf("the second merge is %s, exit %s\n%s", state, code, logs(out))
	}
	want, _ := Tree(t, serial)
	Same(t, want, out, "by Slurm in two submissions")
}

// TestSlurmWhatIsQueuedIsNotSubmittedAgain: --missing leaves elements in the queue alone, and
// the new merge waits for them.
func TestSlurmWhatIsQueuedIsNotSubmittedAgain(t *testing.T) {
	Build(t)
	slurm(t)
	in := Folder(t, 12)
	out := filepath.Join(t.TempDir(), "out")
	Must(t, "shardify", "plan", in, "-o", out, "--shard-samples", "2", "--quiet")
	s := submit(t, out, append([]string{"--elements", "3", "--sbatch", "--begin=now+1hour", "--now"}, small...)...)
	array := s.Scripts[0].Job
	if _, err := slurmCommand("scancel", array+"_2"); err != nil {
		t.Fatal(err)
	}
	again := submit(t, out, "--missing")
	if !strings.Contains(again.Scripts[0].Text, "#SBATCH --array=2\n") {
		t.Errorf("want element 2 alone:\n%s", again.Scripts[0].Text)
	}
	for _, want := range []string{":" + array + "_0", ":" + array + "_1"} {
		if !strings.Contains(again.Commands[1], want) {
			t.Errorf("the merge does not wait for %s: %s", want, again.Commands[1])
		}
	}
	if i := slices.IndexFunc(again.Commands, func(c string) bool { return strings.Contains(c, array+"_2") }); i >= 0 {
		t.Errorf("waits for what was cancelled: %s", again.Commands[i])
	}
}

// TestSlurmWorkInsideAnArrayFindsItsTask: without flags, elements and the processes of srun know
// their numbers.
func TestSlurmWorkInsideAnArrayFindsItsTask(t *testing.T) {
	Build(t)
	slurm(t)
	in := Folder(t, 12)
	out := filepath.Join(t.TempDir(), "out")
	Must(t, "shardify", "plan", in, "-o", out, "--shard-samples", "1", "--quiet")
	log := filepath.Join(t.TempDir(), "log")
	script := filepath.Join(t.TempDir(), "job.sh")
	text := fmt.Sprintf("#!/bin/bash\n#SBATCH --array=0-3:3 --ntasks=2 --mem=300M --output=%s-%%a\nsrun %s work %s\n", log, Program("shardify"), out)
	if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	id, err := slurmCommand("sbatch", "--parsable", script)
	if err != nil {
		t.Fatal(err)
	}
	id = strings.TrimSpace(id)
	endWith(t, id)
	for _, element := range []string{"0", "3"} {
		if state, code := finished(t, id+"_"+element, time.Minute); state != "COMPLETED" {
			b, _ := os.ReadFile(log + "-" + element)
			t.Fatalf("element %s is %s, exit %s\n%s", element, state, code, b)
		}
	}
	var all string
	for _, element := range []string{"0", "3"} {
		b, _ := os.ReadFile(log + "-" + element)
		all += string(b)
	}
	for task := range 4 {
		if !strings.Contains(all, fmt.Sprintf("task %d of 4 (SLURM_ARRAY_TASK_ID", task)) {
			t.Errorf("no element did task %d of 4:\n%s", task, all)
		}
	}
	Must(t, "shardify", "merge", out)
}

// TestSlurmNoticeOfTheTimeLimitQueuesTheJobAgain: USR1 makes the program stop and its element,
// that alone, go back to the queue; one that was cancelled stays away.
func TestSlurmNoticeOfTheTimeLimitQueuesTheJobAgain(t *testing.T) {
	Build(t)
	c := slurm(t)
	out := filepath.Join(t.TempDir(), "out")
	Must(t, append([]string{"shardify", "plan", "-o", out, "--quiet"}, slow(12000)...)...)
	s := submit(t, out, append([]string{"--elements", "3", "--now"}, small...)...)
	array := s.Scripts[0].Job
	for _, k := range []string{"_0", "_1", "_2"} {
		if !c.wait(30*time.Second, func() bool { return made(out, array+k) }) {
			t.Fatalf("element %s does not run: %s\n%s", k, jobInfo(array+k, "JobState"), logs(out))
		}
	}
	// The last element has the array's own number.
	if _, err := slurmCommand("scancel", "--batch", "--signal=USR1", array+"_2"); err != nil {
		t.Fatal(err)
	}
	if _, err := slurmCommand("scancel", array+"_0"); err != nil {
		t.Fatal(err)
	}
	if !c.wait(20*time.Second, func() bool { return jobInfo(array+"_2", "Restarts") == "1" }) {
		t.Errorf("element 2 was not queued again: %s, restarts %s\n%s", jobInfo(array+"_2", "JobState"), jobInfo(array+"_2", "Restarts"), logs(out))
	}
	if !c.wait(20*time.Second, func() bool { return jobInfo(array+"_0", "JobState") == "CANCELLED" }) || jobInfo(array+"_0", "Restarts") != "0" {
		t.Errorf("element 0 was cancelled, and is %s, restarts %s", jobInfo(array+"_0", "JobState"), jobInfo(array+"_0", "Restarts"))
	}
	if n := jobInfo(array+"_1", "Restarts"); n != "0" {
		t.Errorf("element 1 was left alone, and has been started again: restarts %s", n)
	}
}

// made reports whether an element runs and has published something.
func made(out, id string) bool {
	if jobInfo(id, "JobState") != "RUNNING" {
		return false
	}
	list, _ := filepath.Glob(filepath.Join(out, ".shardify/receipts/*/*")) // folders of 4,000
	return len(list) > 20
}

// slow is an input whose conversion takes a while: many small shards.
func slow(shards int) []string {
	return []string{"--from", "synth", "--samples", fmt.Sprint(shards * 20), "--shard-samples", "20"}
}
