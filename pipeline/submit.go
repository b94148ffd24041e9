package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/pipeline/queues"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// SubmitSettings say how a batch system does the tasks of a plan. SubmitKeys has for each field its key,
// which is also the flag of the command. Zero fields come from the file of site defaults, or follow
// from the plan.
type SubmitSettings struct {
	Folder  string // of the plan
	Engine  string // slurm if empty; or the name of one of queues.Engines
	Program string // that the jobs run; this one if empty
	Site    string // file of site defaults; if empty ENGINE.yaml in the user's configuration, if it is there

	Elements, Tasks, CPUs                         int
	Memory                                        int64 // bytes of an element
	Time                                          time.Duration
	MergeMemory                                   int64 // bytes of the merge
	MergeTime                                     time.Duration
	Throttle                                      int // elements that run at the same time
	Partition, Account, QOS, Constraint, MailUser string
	Logs, Scripts                                 string   // folders
	Prologue                                      string   // file of shell commands
	Sbatch                                        []string // further arguments of sbatch
	Directives                                    []string // further lines of job files of other engines, as given
	Image, Volume                                 string   // of pods
	Work                                          []string // flags of work

	Now     bool // submit the scripts
	Missing bool // only what is not done and not in the queue, as the submission before was made

	// Empty names settings that stay empty: they get no default.
	Empty []string
}

// Submission is what was written for a batch system, and submitted.
type Submission struct {
	Engine   string            `json:"engine"`
	Output   string            `json:"output"`
	Tasks    int               `json:"tasks"`
	Elements int               `json:"elements"`
	Scripts  []SubmittedScript `json:"scripts"`
	Commands []string          `json:"commands"`        // that submit the scripts
	Notes    []string          `json:"notes,omitempty"` // what was chosen, and why

	Complete bool   `json:"-"` // there is nothing to submit: the data set is complete
	Queued   string `json:"-"` // there is nothing to submit: this job in the queue merges all
	Site     string `json:"-"` // the file of site defaults; "" if there was none
}

// SubmittedScript is a job file. Job is empty unless Slurm has taken it.
type SubmittedScript struct {
	Stage string `json:"stage"`
	File  string `json:"file"`
	Text  string `json:"text"`
	Job   string `json:"job,omitempty"`
}

// Submit writes the scripts of a job array that does the tasks of a plan and of the merge
// that follows it, and with Now submits them: all of them, or none. If sbatch fails, there are
// a result, which has the scripts, and an error.
func Submit(ctx context.Context, s SubmitSettings) (*Submission, error) {
	named := s.Folder
	var err error
	if s.Folder, err = storage.Abs(storages.Plain(s.Folder)); err != nil {
		return nil, err
	}
	b := &submitter{s: s, out: &Submission{Output: s.Folder, Engine: cmp.Or(s.Engine, "slurm")}}
	if b.engine = queues.Find(s.Engine); b.engine == nil && b.out.Engine != "slurm" {
		return nil, shardify.Hint(shardify.Usage("unknown batch system %q", s.Engine), "there are slurm, "+strings.Join(queues.Names(), ", "))
	}
	if b.set, err = storages.Open(s.Folder, storages.Output{Sync: local.SyncNone}); err != nil {
		return nil, err
	}
	if b.old, err = cluster.ReadRecord(b.set); err != nil {
		return nil, err
	}
	if err := b.complete(); err != nil {
		return nil, err
	}
	p, err := Reopen(ctx, named, Settings{Jobs: 1})
	if err != nil {
		return nil, err
	}
	if b.out.Complete = p.State == StateComplete; b.out.Complete {
		return b.out, nil
	}
	if err := b.partition(ctx, p.Plan); err != nil {
		return nil, err
	}
	if err := b.arrays(ctx, p); err != nil {
		return nil, err
	}
	if b.out.Queued != "" {
		return b.out, nil
	}
	if b.engine != nil {
		return b.enqueue(ctx)
	}
	return b.submit(ctx)
}

// submitter is one submission.
type submitter struct {
	s        SubmitSettings
	out      *Submission
	set      storage.Store
	job      cluster.Submission
	engine   *queues.Engine // nil for Slurm
	slurm    cluster.Slurm
	old, rec cluster.Record // of the submission before, and of this one
	after    []string       // elements in the queue that the merge waits for

	partitions []cluster.Partition // of the site; none if it does not answer
	site       cluster.Limits
}

func (b *submitter) note(format string, args ...any) {
	b.out.Notes = append(b.out.Notes, fmt.Sprintf(format, args...))
}

// complete fills in missing settings: from the submission before, from the site.
func (b *submitter) complete() (err error) {
	s := &b.s
	if err := s.check(b.engine, b.title()); err != nil {
		return err
	}
	if s.Missing {
		if err := s.recall(&b.old); err != nil {
			return err
		}
	}
	s.remember(&b.rec)
	if b.out.Site, err = s.site(b.engine, b.title()); err != nil {
		return err
	}
	if s.Program == "" && b.engine != nil && b.engine.Program != "" {
		s.Program = b.engine.Program
	} else if s.Program == "" {
		if s.Program, err = os.Executable(); err != nil {
			return err
		}
	}
	b.job = cluster.Submission{
		Program: s.Program, Folder: s.Folder, Partition: s.Partition, Account: s.Account, QOS: s.QOS, Constraint: s.Constraint, MailUser: s.MailUser,
		Throttle: s.Throttle, Logs: s.Logs, Sbatch: s.Sbatch, Directives: s.Directives, Work: s.Work,
	}
	if s.Scripts == "" {
		if !storages.Local(s.Folder) {
			return shardify.Hint(shardify.Usage("%s reads scripts and writes logs in folders, and %s is not a folder", b.title(), s.Folder), "name one that all nodes see: --scripts FOLDER")
		}
		s.Scripts = filepath.Join(s.Folder, filepath.FromSlash(cluster.SubmitDir))
	}
	if b.job.Logs == "" && storages.Local(s.Folder) {
		b.job.Logs = filepath.Join(s.Folder, storage.Private, "logs")
	} else if b.job.Logs == "" {
		b.job.Logs = filepath.Join(s.Scripts, "logs")
	}
	if s.Prologue != "" {
		text, err := os.ReadFile(s.Prologue)
		if err != nil {
			return err
		}
		b.job.Prologue = string(text)
	}
	return nil
}

// partition chooses tasks, elements and resources.
func (b *submitter) partition(ctx context.Context, p *plan.Plan) error {
	load, s, old := cluster.LoadOf(p), &b.s, &b.old
	b.rec.Jobs = old.Jobs
	var part cluster.Partition
	if b.engine == nil {
		b.partitions = b.slurm.Partitions(ctx)
		part = cluster.Choose(b.partitions, s.partition())
		b.site = b.slurm.Limits(ctx)
	} else {
		b.site = cluster.Limits{ArraySize: b.engine.Most, Jobs: 2 * b.engine.Most, From: b.engine.Title + "'s defaults"}
	}
	cpus := cmp.Or(s.CPUs, cluster.DefaultCPUs(load, part))
	switch {
	case s.Elements > 0:
	case s.Missing && old.Elements > 0 && (s.Tasks == 0 || s.Tasks == old.Tasks):
		s.Elements, s.Tasks = old.Elements, old.Tasks // elements in the queue keep their numbers
	default:
		s.Elements = load.Elements(cpus, b.site)
		b.note("--elements %d: at least 10 minutes and a unit for each core, at most %d (%s)", s.Elements, b.site.ArraySize, b.site.From)
	}
	if s.Tasks == 0 {
		s.Tasks = s.Elements
	}
	if s.Elements > cluster.MaxElements || s.Tasks > cluster.MaxTasks {
		return shardify.Usage("--elements %d --tasks %d: %s has no arrays of more than %d", s.Elements, s.Tasks, b.title(), cluster.MaxElements)
	}
	elements := min(s.Elements, s.Tasks)
	var why []string
	b.job.Job, why = load.Resources(cluster.Resources{CPUs: s.CPUs, Memory: s.Memory, Time: s.Time}, elements, part)
	b.out.Notes = append(b.out.Notes, why...)
	b.job.Merge = load.MergeResources(cluster.Resources{Memory: s.MergeMemory, Time: s.MergeTime}, part)
	if over := append(part.Over(cluster.StageWork, b.job.Job), part.Over(cluster.StageMerge, b.job.Merge)...); len(over) > 0 {
		b.note("partition %s allows less than was asked for: Slurm refuses the job, or it waits and never starts; this fits: %s", part.Name, strings.Join(over, " "))
	}
	b.job.Tasks, b.rec.Tasks, b.out.Tasks = s.Tasks, s.Tasks, s.Tasks
	b.job.Stride, b.rec.Elements, b.out.Elements = elements, elements, elements
	return nil
}

// arrays chooses the elements: all of them, or with Missing those with something to do.
func (b *submitter) arrays(ctx context.Context, p *Prepared) error {
	done, err := plan.ReadDone(ctx, p.Plan, p.Store)
	if err != nil {
		return err
	}
	var live []cluster.Queued
	if b.s.Missing && b.engine == nil {
		if live, err = b.rec.Queue(ctx, b.slurm); err != nil {
			return err
		}
	} else if b.s.Missing {
		b.note("what is in the queue of %s is not known: elements that still run there are submitted again, which is harmless", b.title())
	}
	merge := ""
	for _, q := range live {
		if b.rec.StageOf(q.Job) == cluster.StageMerge && !q.Never {
			merge = q.Job
		}
	}
	for _, stage := range cluster.StagesOf(p.Plan) {
		todo := make([]bool, b.job.Stride)
		if b.s.Missing {
			todo = cluster.Unfinished(p.Plan, done, stage, b.job.Tasks, b.job.Stride)
		}
		for _, q := range live {
			// Jobs that wait for a stage that is done again are removed from the queue.
			if b.rec.StageOf(q.Job) == stage && q.Element >= 0 && q.Element < len(todo) && todo[q.Element] && !q.Never && len(b.job.Arrays) == 0 {
				todo[q.Element] = false
				b.after = append(b.after, q.ID())
			}
		}
		a := cluster.Array{Stage: stage}
		for k, wanted := range todo {
			if wanted || !b.s.Missing {
				a.Elements = append(a.Elements, k)
			}
		}
		if len(a.Elements) > 0 {
			b.job.Arrays = append(b.job.Arrays, a)
		}
	}
	if n := len(b.after); n > 0 {
		b.note("%s in the queue already: left out; the merge waits for them too", printable.Of(int64(n), "element"))
	}
	if len(b.job.Arrays) == 0 {
		b.out.Queued = merge
	}
	return nil
}

// submit writes the scripts and the record, and with Now submits.
func (b *submitter) submit(ctx context.Context) (*Submission, error) {
	scripts, err := b.job.Scripts()
	if err != nil {
		return nil, misplaced(err)
	}
	dir := b.s.Scripts
	for _, c := range scripts {
		b.out.Scripts = append(b.out.Scripts, SubmittedScript{Stage: c.Stage, File: filepath.Join(dir, c.Name), Text: c.Text})
	}
	if err := b.write(ctx); err != nil {
		return nil, err
	}
	var ids []string
	var failed error
	if b.s.Now {
		ids, failed = b.slurm.Submit(ctx, dir, scripts, b.after)
		for i, id := range ids {
			b.out.Scripts[i].Job = id
			b.rec.Jobs = append(b.rec.Jobs, cluster.Job{Stage: scripts[i].Stage, ID: id})
		}
	}
	if err := b.rec.Write(ctx, b.set); err != nil {
		return nil, errors.Join(failed, err)
	}
	b.out.Commands = cluster.Commands(dir, scripts, b.after)
	if r := (*cluster.Refused)(nil); errors.As(failed, &r) {
		failed = b.refused(r)
	}
	if failed != nil && len(ids) > 0 {
		failed = shardify.Hint(failed, "submitted, and not cancelled: "+strings.Join(ids, ", ")+"; take them back with: scancel "+strings.Join(ids, " "))
	}
	if failed != nil {
		failed = shardify.Hint(failed, "the scripts are in "+dir)
	}
	return b.out, failed
}

// refused adds the command that submits the same job with flags that pass.
func (b *submitter) refused(r *cluster.Refused) error {
	command := "shardify submit slurm " + printable.Quote(b.s.Folder) + " --missing --now"
	if errors.Is(r, exec.ErrNotFound) {
		return shardify.Hint(r, "sbatch is not on this machine; on one of the cluster: "+command)
	}
	job := b.job.Job
	if r.Script.Stage == cluster.StageMerge {
		job = b.job.Merge
	}
	flags, text := r.Cure(job, b.s.partition(), b.partitions, b.out.Elements, b.site)
	if len(flags) == 0 {
		return shardify.Hint(r, text, "then, with that flag: "+command)
	}
	if strings.HasPrefix(flags[0], "--elements") {
		flags = append(flags, fmt.Sprintf("--tasks %d", b.s.Tasks))
	}
	return shardify.Hint(r, text+"; this passes: "+command+" "+strings.Join(flags, " "))
}

// enqueue writes the job files and the record, and with Now runs the commands that submit them.
func (b *submitter) enqueue(ctx context.Context) (*Submission, error) {
	files, err := b.engine.Files(&queues.Job{Submission: b.job, Image: b.s.Image, Volume: b.s.Volume})
	if err != nil {
		return nil, misplaced(err)
	}
	for _, f := range files {
		b.out.Scripts = append(b.out.Scripts, SubmittedScript{Stage: f.Stage, File: filepath.Join(b.s.Scripts, f.Name), Text: f.Text})
	}
	if err := b.write(ctx); err != nil {
		return nil, err
	}
	b.out.Commands = b.engine.Commands(b.s.Scripts, files)
	if err := b.rec.Write(ctx, b.set); err != nil || !b.s.Now {
		return b.out, err
	}
	text := append([]string{"set -e"}, b.out.Commands...)
	for _, f := range files {
		text = append(text, fmt.Sprintf("echo %[1]s \"${%[1]s:-}\"", f.Stage))
	}
	said, err := cluster.Shell(ctx, strings.Join(text, "\n"))
	if err != nil {
		return b.out, shardify.Hint(err, "the files are in "+b.s.Scripts+"; what was submitted before the error is in the queue")
	}
	for line := range strings.Lines(said) {
		stage, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		for i := range b.out.Scripts {
			if b.out.Scripts[i].Stage == stage {
				b.out.Scripts[i].Job = id
			}
		}
	}
	return b.out, nil
}

func (b *submitter) title() string {
	if b.engine == nil {
		return "Slurm"
	}
	return b.engine.Title
}

// write puts the job files into their folder. It makes the folder of the logs, too: a job
// whose log cannot be opened fails without a message.
func (b *submitter) write(ctx context.Context) error {
	if err := os.MkdirAll(b.job.Logs, 0o777); err != nil {
		return err
	}
	store := local.NewDir(b.s.Scripts, local.SyncNone)
	for _, f := range b.out.Scripts {
		if err := store.Replace(ctx, filepath.Base(f.File), []byte(f.Text)); err != nil {
			return err
		}
	}
	return nil
}

// misplaced makes a wrong usage of what a job file cannot say.
func misplaced(err error) error {
	if m := (*cluster.Misplaced)(nil); errors.As(err, &m) {
		return shardify.Hint(shardify.Usage("%v", m), m.Cure)
	}
	return err
}
