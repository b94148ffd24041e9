// Package queues writes the job files of batch systems: an array of elements for each stage of a
// plan, then the merge. One row of the table is one system.
package queues

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/plan"
)

// Job is a plan for a batch system.
type Job struct {
	cluster.Submission
	Image, Volume string // of pods: the image, and CLAIM:/PATH of the volume with inputs and output
}

// File is a job file.
type File struct{ Stage, Name, Text string }

// Engine is a batch system.
type Engine struct {
	Name, Title string
	Most        int    // elements of an array, where the site has changed nothing
	Page        string // of the documentation
	Program     string // where another machine's jobs find it; that of the caller if empty
	// Lacks are settings that the system has no word for.
	Lacks []string

	files    func(j *Job) []File
	commands func(folder string, files []File) []string
}

// Engines are the batch systems that have job files of this package; Slurm asks the site, and has a
// package of its own.
var Engines = []*Engine{
	{"pbs", "PBS Pro and OpenPBS", 10_000, "docs/guides/pbs.md", "", []string{"qos", "constraint", "sbatch", "image", "volume"}, (*Job).pbs, chain("$(qsub %s)", "$(qsub -W depend=afterok:%s %s)", "$%s")},
	{"sge", "Grid Engine", 75_000, "docs/guides/gridengine.md", "", []string{"qos", "constraint", "sbatch", "image", "volume"}, (*Job).sge, chain("$(qsub -terse %s)", "$(qsub -terse -hold_jid %s %s)", "${%s%%%%.*}")},
	{"lsf", "LSF", 1_000, "docs/guides/lsf.md", "", []string{"qos", "constraint", "sbatch", "image", "volume"}, (*Job).lsf, chain("$(bsub < %s)", `$(bsub -w "done(%s)" < %s)`, `$(expr "$%s" : '[^<]*<\([0-9]*\)>')`)},
	{"kubernetes", "Kubernetes", 100_000, "docs/guides/kubernetes.md", "/bin/shardify", []string{"partition", "account", "qos", "constraint", "mail-user", "prologue", "logs", "sbatch", "directive"}, (*Job).kubernetes, kubectl},
	{"htcondor", "HTCondor", 100_000, "docs/guides/htcondor.md", "", []string{"partition", "qos", "constraint", "mail-user", "prologue", "throttle", "sbatch", "image", "volume"}, (*Job).htcondor, condor},
}

// Find is the engine of a name; nil if it has none.
func Find(name string) *Engine {
	if i := slices.IndexFunc(Engines, func(e *Engine) bool { return e.Name == name }); i >= 0 {
		return Engines[i]
	}
	return nil
}

// Names lists the engines.
func Names() (out []string) {
	for _, e := range Engines {
		out = append(out, e.Name)
	}
	return out
}

// Files writes the job files.
func (e *Engine) Files(j *Job) ([]File, error) {
	if err := j.Check(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(j.Work, func(w string) bool { return strings.HasPrefix(w, "$") && !strings.HasPrefix(w, "$(") }); i >= 0 && slices.Contains(e.Lacks, "prologue") {
		return nil, &cluster.Misplaced{What: fmt.Sprintf("%s: no shell of %s fills in the variable", j.Work[i], e.Title), Cure: "give its value"}
	}
	return e.files(j), nil
}

// Commands are those that submit the files of a folder: one after the other, in one shell.
func (e *Engine) Commands(folder string, files []File) []string { return e.commands(folder, files) }

// chain submits each file after the one before it. The formats have the file, and the number of the
// job before; number is that number in what the system has answered. Commands have no pipes: the shell
// would not see that the first of them failed.
func chain(first, next, number string) func(string, []File) []string {
	return func(folder string, files []File) (out []string) {
		for i, f := range files {
			command := fmt.Sprintf(first, printable.Quote(filepath.Join(folder, f.Name)))
			if i > 0 {
				command = fmt.Sprintf(next, fmt.Sprintf(number, files[i-1].Stage), printable.Quote(filepath.Join(folder, f.Name)))
			}
			out = append(out, f.Stage+"="+command)
		}
		return out
	}
}

// dialect is how a shell script for one system is written.
type dialect struct {
	name, ending, prefix string // "pbs", ".pbs", "#PBS "
	index                string // the shell word for the number of an element
	base                 int    // the number of the first element
	gaps                 bool   // an array may be a list with gaps
	options              func(s *script)
	// exec is false where the script outlives the program, to translate its exit code.
	last string
}

// script is one job file.
type script struct {
	*Job
	d        *dialect
	stage    string
	elements []int // of an array; nil for the merge
	cluster.Resources
	b strings.Builder
}

func (s *script) line(format string, args ...any) {
	fmt.Fprintf(&s.b, s.d.prefix+format+"\n", args...)
}

// named writes a directive with a value, if it has one.
func (s *script) named(format, value string) {
	if value != "" {
		s.line(format, cluster.Directive(value))
	}
}

// array is the range of an array, "" for one element, which needs no array.
func (s *script) array() string {
	if len(s.elements) < 2 {
		return ""
	}
	if s.d.gaps {
		list := make([]int, len(s.elements))
		for i, k := range s.elements {
			list[i] = k + s.d.base
		}
		return plan.Ranges(list)
	}
	return fmt.Sprintf("%d-%d", s.d.base, s.d.base+len(s.elements)-1)
}

// task is the shell commands that set $task, and the word for it.
func (s *script) task() (before, word string) {
	if len(s.elements) == 1 {
		return "", strconv.Itoa(s.elements[0])
	}
	dense := s.elements[len(s.elements)-1] == len(s.elements)-1
	switch {
	case (dense || s.d.gaps) && s.d.base == 0:
		return "", `"$` + s.d.index + `"`
	case dense || s.d.gaps:
		return "", fmt.Sprintf(`"$((%s - %d))"`, s.d.index, s.d.base)
	}
	return "# the elements that are not done\nset -- " + words(s.elements) + fmt.Sprintf("\nshift \"$((%s - %d))\"\n", s.d.index, s.d.base), `"$1"`
}

func words(list []int) string {
	return strings.Trim(fmt.Sprint(list), "[]")
}

// scripts writes the shell scripts of a dialect.
func (j *Job) scripts(d *dialect) (out []File) {
	for _, a := range j.Arrays {
		out = append(out, j.script(d, a.Stage, a.Elements, j.Job))
	}
	return append(out, j.script(d, cluster.StageMerge, nil, j.Merge))
}

func (j *Job) script(d *dialect, stage string, elements []int, r cluster.Resources) File {
	s := &script{Job: j, d: d, stage: stage, elements: elements, Resources: r}
	s.b.WriteString("#!/bin/bash\n")
	s.b.WriteString(j.comment("# ", stage, d.name))
	d.options(s)
	for _, text := range j.Directives {
		s.line("%s", text)
	}
	s.b.WriteString("\n")
	if p := strings.TrimRight(j.Prologue, "\n"); p != "" {
		s.b.WriteString(p + "\n\n")
	}
	before, word := "", ""
	if elements != nil {
		before, word = s.task()
	}
	command := strings.Join(j.command(stage, word), " ")
	if d.last == "" {
		command = "# exec, so that signals reach the program\n" + before + "exec " + command + "\n"
	} else {
		command = before + command + "\n" + d.last
	}
	s.b.WriteString(command)
	return File{stage, stage + d.ending, s.b.String()}
}

// comment is the head of a file.
func (j *Job) comment(mark, stage, engine string) string {
	lines := []string{fmt.Sprintf("This job %s in", cluster.Purpose(stage)), "  " + j.Folder}
	if stage != cluster.StageMerge {
		lines = append(lines, j.Each()+" What is done is never done again.")
	} else {
		lines = append(lines, "Exit code 3 says that shards are missing, or that damaged input was left out; its log names them.")
	}
	lines = append(lines, "What is done, what failed and why:", "  "+printable.Quote(j.Program)+" status "+printable.Quote(j.Folder),
		"After a failure, what is missing and the merge are submitted again by:", "  "+printable.Quote(j.Program)+" submit "+engine+" "+printable.Quote(j.Folder)+" --missing --now")
	return mark + strings.Join(lines, "\n"+mark) + "\n"
}

// command is the words of the program. An element keeps to what it asks for: the node may have more,
// which is for others.
func (j *Job) command(stage, task string) []string {
	var more []string
	for _, x := range []struct{ flag, value string }{{"--jobs", strconv.Itoa(j.Job.CPUs)}, {"--memory", fmt.Sprintf("%dMiB", mib(j.Job.Memory))}} {
		if !slices.ContainsFunc(j.Work, func(w string) bool { return w == x.flag || strings.HasPrefix(w, x.flag+"=") }) {
			more = append(more, x.flag+" "+x.value)
		}
	}
	return j.Command(stage, task, more...)
}

func mib(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

// hms is a time as PBS and Grid Engine read it.
func hms(d time.Duration) string {
	m := int64((d + time.Minute - 1) / time.Minute)
	return fmt.Sprintf("%d:%02d:00", m/60, m%60)
}

func (j *Job) throttle(format string) string {
	if j.Throttle == 0 {
		return ""
	}
	return fmt.Sprintf(format, j.Throttle)
}
