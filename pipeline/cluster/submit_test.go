package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func submission(folder string) *Submission {
	return &Submission{
		Program: "/opt/shardify", Folder: folder, Arrays: []Array{{StageWork, []int{0, 1, 2, 5}}}, Tasks: 12, Stride: 6,
		Job: Resources{4, 5<<30 + 1, 90 * time.Minute}, Merge: Resources{1, 2 << 30, time.Hour}, Logs: "/logs",
	}
}

// TestScriptsRunTheirCommandWhateverTheNames: a shell that runs the last line of a script
// gives the program the very words, for names of any character.
func TestScriptsRunTheirCommandWhateverTheNames(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("skipped: no bash")
	}
	for _, folder := range []string{"/data/set", "/a b", "/it's", `/"q" \ $HOME $(x) ` + "`y`", "/#1;&|*?[]{}~!", "/é\xff", "/-x", "/%j"} {
		s := submission(folder)
		s.Program = "/bin" + folder
		s.Work = []string{"--scratch", folder}
		scripts, err := s.Scripts()
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range [][]string{
			{"work", folder, "--task", "3", "--tasks", "12", "--stride", "6", "--requeue", "--scratch", folder}, {"merge", folder},
		} {
			text := strings.Replace(scripts[i].Text, "\nexec ", "\nprintf '%s\\0' ", 1)
			cmd := exec.Command(bash, "-c", text)
			cmd.Env = []string{"SLURM_ARRAY_TASK_ID=3"}
			out, err := cmd.Output()
			if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, append([]string{s.Program}, want...)) {
				t.Errorf("%q: %q, %v; want %q", folder, got, err, want)
			}
		}
	}
}

// TestVariablesOfTheJobAreFilledIn: those alone that a word after -- begins with.
func TestVariablesOfTheJobAreFilledIn(t *testing.T) {
	for word, want := range map[string]string{
		"$SLURM_TMPDIR": `"$SLURM_TMPDIR"`, "${TMPDIR}/my-set": `"${TMPDIR}/my-set"`, "$(rm -rf x)": `'$(rm -rf x)'`, "$X;rm": `'$X;rm'`, "$X/`y`": "'$X/`y`'", "a$X": `'a$X'`, "${X": `'${X'`,
	} {
		if got := inJob(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

func TestWhatAScriptCannotSayIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Submission){
		"line feed in the folder": func(s *Submission) { s.Folder = "/a\nrm -rf /" },
		"line feed in --sbatch":   func(s *Submission) { s.Sbatch = []string{"--x\nrm"} },
		"line feed in work":       func(s *Submission) { s.Work = []string{"a\nb"} },
		"zero byte":               func(s *Submission) { s.Account = "a\x00" },
		"backslash in logs":       func(s *Submission) { s.Logs = `/a\b` },
	} {
		s := submission("/x")
		spoil(s)
		var m *Misplaced
		if out, err := s.Scripts(); !errors.As(err, &m) || out != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOptionsOfTheScripts: each option is there once, in the form that sbatch reads.
func TestOptionsOfTheScripts(t *testing.T) {
	s := submission("/data/set")
	s.Partition, s.Account, s.QOS, s.Constraint, s.MailUser = "cpu", "ab12", "long", "[rack1|rack2]", "a@b.org"
	s.Throttle, s.Logs, s.Prologue, s.Sbatch = 2, `/l o"g/100%`, "module load x\n\n", []string{"--exclude=n7"}
	s.Arrays = []Array{{StageScatter, []int{1, 3}}, {StageGather, []int{0}}}
	scripts, err := s.Scripts()
	if err != nil || len(scripts) != 3 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for i, want := range [][]string{
		{"--array=1,3%2", "--signal=B:USR1@180", "--mem=5121M", "--time=0-01:30:00", "--cpus-per-task=4", `--constraint="[rack1|rack2]"`, `--output="/l o\"g/100%%/scatter-%A_%a.log"`, "--mail-type=FAIL"},
		{"--array=0%2", "--job-name=shardify-gather"},
		{"--mem=2048M", "--time=0-01:00:00", "--cpus-per-task=1", `--output="/l o\"g/100%%/merge-%j.log"`, "--mail-type=END,FAIL"},
	} {
		text := scripts[i].Text
		for _, o := range append(want, "--partition=cpu", "--account=ab12", "--qos=long", "--mail-user=a@b.org", "--requeue", "--open-mode=append", "--exclude=n7", "--nodes=1", "--ntasks=1") {
			if n := strings.Count(text, "\n#SBATCH "+o+"\n"); n != 1 {
				t.Errorf("%s: %q is there %d times:\n%s", scripts[i].Name, o, n, text)
			}
		}
		// sbatch reads options up to the first command.
		if first, last := strings.Index(text, "module load"), strings.LastIndex(text, "#SBATCH"); first < last {
			t.Errorf("%s: an option after the first command", scripts[i].Name)
		}
		if !strings.HasPrefix(text, "#!/bin/bash\n#") || scripts[i].Needs != (i > 0) {
			t.Errorf("%s: needs %v:\n%s", scripts[i].Name, scripts[i].Needs, text)
		}
	}
	if c := Commands("/s d", scripts, []string{"7_1"}); len(c) != 3 || c[1] != "gather=$(sbatch --parsable --dependency=afterok:${scatter%%;*}:7_1 --kill-on-invalid-dep=yes '/s d/gather.sbatch')" || c[0] != "scatter=$(sbatch --parsable '/s d/scatter.sbatch')" {
		t.Errorf("commands %q", c)
	}
}

// TestSubmitTakesWhatSlurmAnswers: all scripts are tried before the first is submitted; each
// job waits for the one before it; an answer that is not a number ends the submission, and what
// was submitted is cancelled, also if the user stops it in between.
func TestSubmitTakesWhatSlurmAnswers(t *testing.T) {
	scripts := []Script{{Stage: StageScatter, Name: "a"}, {Stage: StageGather, Name: "b", Needs: true}, {Stage: StageMerge, Name: "c", Needs: true}}
	for _, c := range []struct {
		answers   []string
		ids       int
		fails     bool
		cancelled string
	}{
		{[]string{"12\n", "13;cluster\n", "14"}, 3, false, ""}, {[]string{"12", "sbatch: error"}, 0, true, "12"}, {[]string{"12", "13", "FAIL"}, 0, true, "12 13"}, {[]string{""}, 0, true, ""},
		{nil, 0, true, ""}, {[]string{"12", "13", "FAIL", "no controller"}, 2, true, ""},
	} {
		var calls, tried []string
		cancelled := ""
		ctx, stop := context.WithCancel(context.Background())
		s := Slurm{func(ctx context.Context, name string, args ...string) ([]byte, error) {
			switch {
			case args[0] == "--test-only":
				tried = append(tried, args[1])
				if c.answers == nil && args[1] == "/s/c" {
					return nil, errors.New("no")
				}
				return nil, nil
			case name == "scancel" && len(c.answers) > 3:
				return nil, errors.New(c.answers[3])
			case name == "scancel":
				cancelled = strings.Join(args, " ")
				return nil, nil
			}
			stop()
			if len(tried) != 3 || ctx.Err() != nil {
				t.Errorf("%q: submitted after trying %q, stopped: %v", c.answers, tried, ctx.Err())
			}
			calls = append(calls, name+" "+strings.Join(args, " "))
			if a := c.answers[len(calls)-1]; a != "FAIL" {
				return []byte(a), nil
			}
			return nil, errors.New("no")
		}}
		ids, err := s.Submit(ctx, "/s", scripts, []string{"9_1"})
		if len(ids) != c.ids || (err != nil) != c.fails || cancelled != c.cancelled {
			t.Errorf("%q: %q, %v, cancelled %q", c.answers, ids, err, cancelled)
		}
		if !c.fails && (calls[1] != "sbatch --parsable --dependency=afterok:12:9_1 --kill-on-invalid-dep=yes /s/b" || !strings.Contains(calls[2], "afterok:13:9_1 ")) {
			t.Errorf("calls %q", calls)
		}
	}
}

func TestQueueAndLimitsAreReadFromSlurm(t *testing.T) {
	answer, fail := "", error(nil)
	s := Slurm{func(context.Context, string, ...string) ([]byte, error) { return []byte(answer), fail }}
	ctx := context.Background()
	answer = "12 3 None\n12 17 Dependency\n14 N/A DependencyNeverSatisfied\n\n15\n"
	if q, err := s.Queue(ctx, []string{"12", "14"}); err != nil || fmt.Sprint(q) != "[{12 3 false} {12 17 false} {14 -1 true}]" || q[1].ID() != "12_17" || q[2].ID() != "14" {
		t.Errorf("queue %v, %v", q, err)
	}
	fail = errors.New("squeue: exit status 1: slurm_load_jobs error: Invalid job id specified")
	if q, err := s.Queue(ctx, []string{"12"}); err != nil || q != nil {
		t.Errorf("forgotten jobs: %v, %v", q, err)
	}
	fail = errors.New("slurm_load_jobs error: Unable to contact slurm controller")
	if _, err := s.Queue(ctx, []string{"12"}); err == nil {
		t.Error("a controller that does not answer is taken for an empty queue")
	}
	if l := s.Limits(ctx); l != DefaultLimits {
		t.Errorf("limits %+v", l)
	}
	answer, fail = "MaxArraySize            = 5001\nMaxJobCount = x\nOther = 3\n", nil
	if l := s.Limits(ctx); l.ArraySize != 5001 || l.Jobs != DefaultLimits.Jobs {
		t.Errorf("limits %+v", l)
	}
}

func TestTimesAsSlurmWritesThem(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "90:30": 90*time.Minute + 30*time.Second, "4:00:00": 4 * time.Hour, "1-12": 36 * time.Hour, "1-12:30": 36*time.Hour + 30*time.Minute,
		"2-00:00:01": 48*time.Hour + time.Second, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"": 0, "0": 0, "-5": 0, "x": 0, "1:2:3:4": 0, "1-2-3": 0, "9999999-0": 0, "-1h": 0, "infinite": 0, "1.5": 0,
	} {
		got, err := ParseTime(text)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
		if want > 0 {
			if back, err := ParseTime(clock(want)); err != nil || back < want || back >= want+time.Minute {
				t.Errorf("%v is written %s, which is %v, %v", want, clock(want), back, err)
			}
		}
	}
}

func TestSiteDefaults(t *testing.T) {
	list, err := ParseSite(strings.NewReader("account: ab12\nmem: 8G\ncpus: 4\nsbatch:\n  - --exclude=n7\n  - --x\nlogs: /var/log\n"))
	if err != nil || fmt.Sprint(list) != "[{account [ab12] 1} {mem [8G] 2} {cpus [4] 3} {sbatch [--exclude=n7 --x] 4} {logs [/var/log] 7}]" {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := ParseSite(strings.NewReader("# nothing yet\n")); list != nil || err != nil {
		t.Errorf("comments alone: %v, %v", list, err)
	}
	for text, want := range map[string]string{
		"acount: x\n": `line 1: unknown key "acount"; did you mean account`, "now: true\n": "unknown key", "- a\n": "want lines", "cpus: [1, 2]\n": "line 1: cpus: want one value",
		"cpus: 1\ncpus: 2\n": "twice", "logs: here\n": "absolute path", "cpus:\n": "want one value", "sbatch: [[a]]\n": "want one value", "a: b: c\n": "mapping",
	} {
		if _, err := ParseSite(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestEstimatesStayWithinBounds: never more elements than the site, the units or the time
// that is worth a job allow, and never less than one.
func TestEstimatesStayWithinBounds(t *testing.T) {
	site := Limits{ArraySize: 1001, Jobs: 10000}
	for _, c := range []struct {
		l    Load
		want int
	}{
		{Load{}, 1}, {Load{Bytes: 1 << 30, Units: 16}, 1}, {Load{Bytes: 1 << 40, Units: 4000}, 7}, {Load{Bytes: 1 << 50, Units: 500000}, 1001}, {Load{Bytes: 1 << 50, Units: 100}, 25},
	} {
		if n := c.l.Elements(4, site); n != c.want {
			t.Errorf("%+v: %d elements, want %d", c.l, n, c.want)
		}
	}
	if n := (Load{Bytes: 1 << 50, Units: 500000}).Elements(4, Limits{ArraySize: 1001, Jobs: 400}); n != 200 {
		t.Errorf("%d elements where there may be 400 jobs", n)
	}
	// One unit of 1 TiB is the work of one core, whatever --cpus.
	r, why := Load{Bytes: 1 << 40, Units: 1, Largest: 1 << 40, Span: 1 << 30}.Resources(Resources{CPUs: 16}, 1, Partition{})
	if r.Time < 4*(1<<40)/assumedRate*time.Second || r.Memory < 19<<30 || len(why) != 2 {
		t.Errorf("%+v %q", r, why)
	}
	if r, why := (Load{Bytes: 1 << 40, Units: 9}).Resources(Resources{2, 1 << 30, time.Hour}, 4, Partition{}); r != (Resources{2, 1 << 30, time.Hour}) || why != nil {
		t.Errorf("what was asked for became %+v %q", r, why)
	}
}

// TestEstimatesFollowTheLoad: a small conversion asks for little, a large one for what keeps its
// cores busy, and neither for more than the partition allows.
func TestEstimatesFollowTheLoad(t *testing.T) {
	debug := Partition{Name: "debug", Nodes: []Resources{{64, 900 << 20, 30 * time.Minute}, {2, 1200 << 20, 30 * time.Minute}}}
	for _, c := range []struct {
		l           Load
		p           Partition
		want, merge Resources
	}{
		{Load{Bytes: 2831155, Units: 16}, Partition{}, Resources{1, 512 << 20, 10 * time.Minute}, Resources{1, 512 << 20, time.Hour}},
		{Load{Bytes: 200 << 20, Units: 16}, Partition{}, Resources{1, 1536 << 20, 15 * time.Minute}, Resources{1, 768 << 20, time.Hour}},
		{Load{Bytes: 100 << 30, Units: 800}, Partition{}, Resources{4, 4608 << 20, 40 * time.Minute}, Resources{1, 2 << 30, time.Hour}},
		{Load{Bytes: 100 << 30, Units: 800}, debug, Resources{2, 1200 << 20, 30 * time.Minute}, Resources{1, 1200 << 20, 30 * time.Minute}},
		{Load{Bytes: 2831155, Units: 16}, debug, Resources{1, 512 << 20, 10 * time.Minute}, Resources{1, 512 << 20, 30 * time.Minute}},
	} {
		r, why := c.l.Resources(Resources{}, 1, c.p)
		if m := c.l.MergeResources(Resources{}, c.p); r != c.want || m != c.merge || len(why) != 3 {
			t.Errorf("%d bytes, partition %q: %v, the merge %v, want %v, %v; %q", c.l.Bytes, c.p.Name, r, m, c.want, c.merge, why)
		}
	}
	// What the user asks for stays.
	if r, _ := (Load{Bytes: 1 << 30, Units: 9}).Resources(Resources{CPUs: 8, Memory: 4 << 30}, 1, debug); r.CPUs != 8 || r.Memory != 4<<30 {
		t.Errorf("what was asked for became %v", r)
	}
}

// site answers as a Slurm with two partitions does.
func siteOf(ctx context.Context, name string, args ...string) ([]byte, error) {
	switch name {
	case "scontrol":
		return []byte("PartitionName=batch Default=YES MaxCPUsPerNode=UNLIMITED MaxTime=00:30:00 Nodes=n[1-2] MaxMemPerNode=UNLIMITED TRES=cpu=4\n" +
			"PartitionName=big Default=NO MaxCPUsPerNode=16 MaxTime=UNLIMITED MaxMemPerNode=64000\n\n"), nil
	case "sinfo":
		return []byte("batch|2|1200\nbatch|8|800\nbig|64|128000\nother|1|1\nx\n"), nil
	}
	return nil, errors.New("no such command")
}

func TestPartitionsAreReadFromSlurm(t *testing.T) {
	list := Slurm{siteOf}.Partitions(context.Background())
	want := []Partition{
		{"batch", true, []Resources{{2, 1200 << 20, 30 * time.Minute}, {8, 800 << 20, 30 * time.Minute}}},
		{"big", false, []Resources{{16, 64000 << 20, 0}}},
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("%+v, want %+v", list, want)
	}
	for names, nodes := range map[string]int{"": 2, "batch": 2, "big": 1, "batch,big": 3, "none": 0} {
		if p := Choose(list, names); len(p.Nodes) != nodes {
			t.Errorf("%q: %+v", names, p)
		}
	}
	if list := (Slurm{func(context.Context, string, ...string) ([]byte, error) { return nil, errors.New("no controller") }}).Partitions(context.Background()); list != nil {
		t.Errorf("without a controller: %+v", list)
	}
}

// TestARefusalNamesWhatPasses, whatever little sbatch says.
func TestARefusalNamesWhatPasses(t *testing.T) {
	list := Slurm{siteOf}.Partitions(context.Background())
	vague := "sbatch: exit status 1: allocation failure: Requested node configuration is not available"
	for _, c := range []struct {
		says, stage, partition string
		job                    Resources
		flags, text            string
	}{
		{vague, StageWork, "", Resources{4, 5 << 30, time.Hour}, "--cpus 2 --mem 1200MiB --time 0-00:30:00", "--partition big has it"},
		{vague, StageWork, "batch", Resources{1, 512 << 20, 10 * time.Minute}, "", "lower it with --cpus, --mem"},
		{vague, StageMerge, "batch", Resources{1, 2 << 30, time.Minute}, "--merge-mem 1200MiB", "partition batch gets less"},
		{vague, StageWork, "big", Resources{32, 1 << 40, time.Minute}, "--cpus 16 --mem 64000MiB", "partition big gets less"},
		{"Invalid partition name specified", StageWork, "nope", Resources{1, 1 << 30, time.Minute}, "--partition batch", "there are: batch, big"},
		{"Invalid partition name specified", StageWork, "nope", Resources{99, 1 << 30, time.Minute}, "", "of: batch, big"},
		{"Invalid job array specification", StageWork, "", Resources{1, 1 << 20, time.Minute}, "--elements 1001", "at most 1001 elements"},
		{"Invalid account or account/partition combination specified", StageWork, "", Resources{1, 1 << 20, time.Minute}, "", "--account; this lists them: sacctmgr"},
		{"Invalid qos specification", StageWork, "", Resources{1, 1 << 20, time.Minute}, "", "format=qos"},
		{"Invalid feature specification", StageWork, "", Resources{1, 1 << 20, time.Minute}, "", "--constraint; this lists them: sinfo"},
	} {
		r := &Refused{Script{Stage: c.stage, Name: "x.sbatch"}, errors.New(c.says)}
		flags, text := r.Cure(c.job, c.partition, list, 5000, DefaultLimits)
		if strings.Join(flags, " ") != c.flags || !strings.Contains(text, c.text) {
			t.Errorf("%s, %q: %q %q, want %q, %q", c.says, c.partition, flags, text, c.flags, c.text)
		}
	}
}

func FuzzParseSite(f *testing.F) {
	f.Add("account: a\nsbatch: [--x]\n")
	f.Add("{a: &x [*x]}")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseSite(strings.NewReader(text))
		for _, s := range list {
			if err != nil || !slices.Contains(SiteKeys, s.Key) || len(s.Values) == 0 && s.Key != "sbatch" {
				t.Errorf("%+v, %v", s, err)
			}
		}
	})
}
