package cluster

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
)

// Stages of a submission.
const (
	StageWork    = "work"
	StageScatter = "scatter"
	StageGather  = "gather"
	StageMerge   = "merge"
)

// Array is one stage of the work: elements of a job array, each of which does the tasks
// k, k+Stride, ...
type Array struct {
	Stage    string // StageWork, StageScatter, StageGather
	Elements []int  // ascending
}

// Resources are what one job asks for.
type Resources struct {
	CPUs   int
	Memory int64 // bytes
	Time   time.Duration
}

// Submission is a conversion for Slurm: an array for each stage, then a merge.
type Submission struct {
	Program, Folder string // absolute
	Arrays          []Array
	Tasks, Stride   int // of the partition of the work
	Job, Merge      Resources

	Partition, Account, QOS, Constraint, MailUser string
	Throttle                                      int      // elements that run at the same time; 0 means no bound
	Logs                                          string   // folder
	Prologue                                      string   // shell commands before the program
	Sbatch                                        []string // further arguments of sbatch, as given
	Directives                                    []string // of other engines, as given
	Work                                          []string // further arguments of work
}

// Script is a file for sbatch.
type Script struct {
	Stage string
	Name  string // of the file
	Text  string
	// Needs: it starts after the script before it has succeeded.
	Needs bool
}

// notice is how long before the time limit the program is asked to stop: Slurm may be a
// minute off, and looks every half minute. Of a short limit it is a quarter.
const notice = 3 * time.Minute

// Scripts writes the scripts.
func (s *Submission) Scripts() ([]Script, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var out []Script
	for _, a := range s.Arrays {
		out = append(out, s.array(a, len(out) > 0))
	}
	return append(out, s.merge(len(out) > 0)), nil
}

// Check refuses what a script cannot say.
func (s *Submission) Check() error {
	for _, v := range []struct{ what, text string }{
		{"the output folder", s.Folder}, {"the program", s.Program}, {"--logs", s.Logs}, {"--partition", s.Partition}, {"--account", s.Account},
		{"--qos", s.QOS}, {"--constraint", s.Constraint}, {"--mail-user", s.MailUser}, {"--sbatch", strings.Join(s.Sbatch, "")}, {"an argument of work", strings.Join(s.Work, "")},
	} {
		if strings.ContainsAny(v.text, "\n\r\x00") {
			return &Misplaced{fmt.Sprintf("%s is %q: a script cannot hold a line feed in a name", v.what, v.text), "choose another name"}
		}
	}
	if strings.Contains(s.Logs, `\`) {
		return &Misplaced{fmt.Sprintf("logs in %q: Slurm gives a backslash in the name of a log another meaning", s.Logs), "choose another folder with --logs"}
	}
	return nil
}

// Purpose is what the jobs of a stage do, for the comments of scripts.
func Purpose(stage string) string {
	return map[string]string{
		StageWork:    "makes the shards of the data set",
		StageScatter: "reads the inputs, the first stage of the shuffle",
		StageGather:  "writes the shards, the second stage of the shuffle",
		StageMerge:   "checks what the array has made and completes the data set",
	}[stage]
}

// Each is what an element of an array does, for the comments of scripts.
func (s *Submission) Each() string {
	if s.Stride < s.Tasks {
		return fmt.Sprintf("Element k does the tasks k, k+%d, ... of %d.", s.Stride, s.Tasks)
	}
	return fmt.Sprintf("Element k does task k of %d.", s.Tasks)
}

// Command is the program and its arguments in a stage, as words of the shell. task is the word for the
// number of the task, more is arguments of the batch system's own.
func (s *Submission) Command(stage, task string, more ...string) []string {
	if stage == StageMerge {
		return []string{printable.Quote(s.Program), "merge", printable.Quote(s.Folder)}
	}
	words := []string{printable.Quote(s.Program), "work", printable.Quote(s.Folder), "--task " + task, fmt.Sprintf("--tasks %d", s.Tasks)}
	if s.Stride < s.Tasks {
		words = append(words, fmt.Sprintf("--stride %d", s.Stride))
	}
	if stage != StageWork {
		words = append(words, "--stage "+stage)
	}
	words = append(words, more...)
	for _, w := range s.Work {
		words = append(words, inJob(w))
	}
	return words
}

func (s *Submission) array(a Array, needs bool) Script {
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	s.comment(&b, "This array "+Purpose(a.Stage), s.Each(),
		"An element that is stopped before its time limit has itself queued again and",
		"goes on; what is done is never done again.")
	s.options(&b, a.Stage, s.Job)
	spec := plan.Ranges(a.Elements)
	if s.Throttle > 0 {
		spec += fmt.Sprintf("%%%d", s.Throttle)
	}
	fmt.Fprintf(&b, "#SBATCH --array=%s\n", spec)
	fmt.Fprintf(&b, "#SBATCH --signal=B:USR1@%d\n", min(notice, s.Job.Time/4)/time.Second)
	s.log(&b, a.Stage+"-%A_%a.log")
	s.begin(&b)
	words := append([]string{"exec"}, s.Command(a.Stage, `"$SLURM_ARRAY_TASK_ID"`, "--requeue")...)
	b.WriteString(strings.Join(words, " ") + "\n")
	return Script{a.Stage, a.Stage + ".sbatch", b.String(), needs}
}

func (s *Submission) merge(needs bool) Script {
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	s.comment(&b, "This job "+Purpose(StageMerge),
		"It is to start when all elements have succeeded. Exit code 3 says that shards are",
		"missing, or that damaged input was left out; its log names them.")
	s.options(&b, StageMerge, s.Merge)
	s.log(&b, "merge-%j.log")
	s.begin(&b)
	fmt.Fprintf(&b, "exec %s\n", strings.Join(s.Command(StageMerge, ""), " "))
	return Script{StageMerge, "merge.sbatch", b.String(), needs}
}

func (s *Submission) comment(b *strings.Builder, what string, more ...string) {
	fmt.Fprintf(b, "# %s in\n#   %s\n", what, s.Folder)
	for _, line := range more {
		fmt.Fprintf(b, "# %s\n", line)
	}
	fmt.Fprintf(b, "#\n# What is done, what failed and why:\n#   %s status %s\n", printable.Quote(s.Program), printable.Quote(s.Folder))
	fmt.Fprintf(b, "# After a failure, what is missing and the merge are submitted again by:\n#   %s submit slurm %s --missing --now\n", printable.Quote(s.Program), printable.Quote(s.Folder))
}

func (s *Submission) options(b *strings.Builder, stage string, r Resources) {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "#SBATCH --%s=%s\n", name, Directive(value))
		}
	}
	line("job-name", "shardify-"+stage)
	b.WriteString("#SBATCH --nodes=1\n#SBATCH --ntasks=1\n")
	line("cpus-per-task", fmt.Sprint(r.CPUs))
	line("mem", fmt.Sprintf("%dM", (r.Memory+1<<20-1)>>20))
	line("time", clock(r.Time))
	line("partition", s.Partition)
	line("account", s.Account)
	line("qos", s.QOS)
	line("constraint", s.Constraint)
	if s.MailUser != "" {
		line("mail-user", s.MailUser)
		kind := "FAIL"
		if stage == StageMerge {
			kind = "END,FAIL"
		}
		line("mail-type", kind)
	}
	// Preempted jobs and those of a lost node start again.
	b.WriteString("#SBATCH --requeue\n#SBATCH --open-mode=append\n")
}

// log names the log. In names of logs % begins a pattern, so a % of the folder is written twice.
func (s *Submission) log(b *strings.Builder, name string) {
	folder := strings.ReplaceAll(s.Logs, "%", "%%")
	fmt.Fprintf(b, "#SBATCH --output=%s\n", Directive(filepath.Join(folder, name)))
}

// begin ends the options and does what the site wants first.
func (s *Submission) begin(b *strings.Builder) {
	for _, text := range s.Sbatch {
		fmt.Fprintf(b, "#SBATCH %s\n", text)
	}
	b.WriteString("\n")
	if p := strings.TrimRight(s.Prologue, "\n"); p != "" {
		b.WriteString(p + "\n\n")
	}
	// exec: signals of Slurm reach the program, not a shell that would die of them.
	b.WriteString("# exec, so that Slurm's signals reach the program\n")
}

// Commands returns the commands that submit the scripts of a folder: shell commands, a line each.
// The last stages also wait for the jobs in after.
func Commands(folder string, scripts []Script, after []string) (out []string) {
	for i, c := range scripts {
		line := "sbatch --parsable "
		var needs string
		if c.Needs {
			needs = fmt.Sprintf(":${%s%%%%;*}", scripts[i-1].Stage)
		}
		if c.waits() {
			needs += colons(after)
		}
		if needs != "" {
			line += "--dependency=afterok" + needs + " --kill-on-invalid-dep=yes "
		}
		out = append(out, fmt.Sprintf("%s=$(%s%s)", c.Stage, line, printable.Quote(filepath.Join(folder, c.Name))))
	}
	return out
}

// waits reports whether a stage needs all that others make.
func (c Script) waits() bool { return c.Stage == StageGather || c.Stage == StageMerge }

func colons(ids []string) (out string) {
	for _, id := range ids {
		out += ":" + id
	}
	return out
}

// clock writes a time as Slurm reads it.
func clock(d time.Duration) string {
	m := int64((d + time.Minute - 1) / time.Minute)
	return fmt.Sprintf("%d-%02d:%02d:00", m/(24*60), m/60%24, m%60)
}

// Directive writes a value of a #SBATCH line: such lines have quotes, but no shell.
func Directive(s string) string {
	if printable.Quote(s) == s {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// variable is a word that only the job can fill in: $SLURM_TMPDIR, ${TMPDIR}/x.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\$(?:\{\w+\}|\w+)(/[\w./-]*)?$`) })

// inJob writes a word for the shell of the job, which fills in a variable at its beginning.
func inJob(s string) string {
	if variable().MatchString(s) {
		return `"` + s + `"`
	}
	return printable.Quote(s)
}
