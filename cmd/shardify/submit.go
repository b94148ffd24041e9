package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/store"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func submitCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "submit slurm FOLDER",
		Short: "hand the tasks of a plan to a batch system",
		Long:  "Writes job scripts for the plan in a folder, and with --now submits them.",
		Example: `shardify submit slurm photos-shards
shardify submit slurm photos-shards --now`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Hint(cli.Usage("to which batch system?"), "shardify submit slurm FOLDER; for others see docs/kubernetes.md, docs/htcondor.md and docs/snakemake.md")
			}
			return cli.Hint(cli.Usage("unknown batch system %q", args[0]), "shardify submit slurm FOLDER; for others see docs/kubernetes.md, docs/htcondor.md and docs/snakemake.md")
		},
	}
	c.AddCommand(slurmCommand(p))
	return c
}

// submitFlags are the flags of submit slurm.
type submitFlags struct {
	s                     cluster.Submission
	now, missing          bool
	scripts, prologue     string
	elements, tasks, cpus cli.CountValue
	throttle              cli.CountValue
	mem                   cli.SizeValue
	time                  timeValue
	site                  string
}

func slurmCommand(p *program) *cobra.Command {
	f := &submitFlags{}
	c := &cobra.Command{
		Use:   "slurm FOLDER [-- FLAG OF work...]",
		Short: "write the scripts of a job array and a merge, and submit them",
		Long: `Writes scripts for sbatch and prints them: an array of jobs that do the tasks of the plan in FOLDER (two arrays with --shuffle
global), and the merge, which starts when all of them have succeeded. They run unedited, from any folder. With --now they are
submitted too.

Cores, memory and time are estimated from the plan if left out; what was assumed is printed. What a site always wants, such as an
account, stands in slurm.yaml in the folder shardify below the user's configuration (~/.config/shardify/slurm.yaml): keys are the flags
account, constraint, cpus, elements, logs, mail-user, mem, partition, prologue, qos, sbatch, throttle and time. The command line wins.

After a failure, --missing submits what is not done and not in the queue. Words after -- are flags of work, such as --stall 10m.`,
		Example: `shardify submit slurm photos-shards --partition cpu --account ab12
shardify submit slurm photos-shards --elements 200 --cpus 8 --throttle 50 --now
shardify submit slurm photos-shards --missing --now`,
		Args: cobra.ArbitraryArgs,
	}
	fs := c.Flags()
	fs.SortFlags = false
	group(fs, "Job", func(fs *pflag.FlagSet) {
		fs.Var(&f.elements, "elements", "elements of the array; by the size of the plan and what the site permits if left out")
		fs.Var(&f.tasks, "tasks", "tasks to divide the plan into, of which element K does K, K+ELEMENTS, ...; as many as elements if left out")
		fs.Var(&f.cpus, "cpus", "cores of an element; 4 if left out")
		fs.Var(&f.mem, "mem", "memory of an element; estimated if left out")
		fs.Var(&f.time, "time", "time limit of an element, such as 90m or 1-12:00:00; estimated if left out")
		fs.Var(&f.throttle, "throttle", "elements that may run at the same time")
	})
	group(fs, "Site", func(fs *pflag.FlagSet) {
		fs.StringVar(&f.s.Partition, "partition", "", "`NAME` of the partition")
		fs.StringVar(&f.s.Account, "account", "", "`NAME` of the account")
		fs.StringVar(&f.s.QOS, "qos", "", "`NAME` of the quality of service")
		fs.StringVar(&f.s.Constraint, "constraint", "", "`FEATURES` of the nodes")
		fs.StringVar(&f.s.MailUser, "mail-user", "", "`ADDRESS` to write to at the end, or if an element fails")
		fs.StringVar(&f.s.Logs, "logs", "", "`FOLDER` for the logs; inside the output folder if left out")
		fs.StringVar(&f.prologue, "prologue", "", "`FILE` of shell commands to run first, such as module load")
		fs.StringArrayVar(&f.s.Sbatch, "sbatch", nil, "any other `ARGUMENT` of sbatch, as in '--exclude=n7'; may be repeated")
	})
	group(fs, "Submission", func(fs *pflag.FlagSet) {
		fs.BoolVar(&f.now, "now", false, "submit the scripts")
		fs.BoolVar(&f.missing, "missing", false, "only what is not done, and not in the queue")
		fs.StringVar(&f.scripts, "scripts", "", "`FOLDER` for the scripts; inside the output folder if left out")
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		if n := c.ArgsLenAtDash(); n >= 0 {
			args, f.s.Work = args[:n], args[n:]
		}
		if err := oneFolder(c, args); err != nil {
			return err
		}
		return p.submit(c.Context(), c.Flags(), f, args[0])
	}
	return c
}

func (p *program) submit(ctx context.Context, flags *pflag.FlagSet, f *submitFlags, folder string) (err error) {
	if f.s.Folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	old, err := readRecord(f.s.Folder)
	if err != nil {
		return err
	}
	b := &submission{p: p, f: f, old: old}
	if err := b.complete(flags); err != nil {
		return err
	}
	if b.x, err = cli.Reopen(folder, store.SyncShard, 1, 0, p.machine); err != nil {
		return err
	}
	if b.x.State == cli.StateComplete {
		p.Object("submit", struct {
			Complete bool `json:"already_complete"`
		}{true})
		p.Result("already complete: nothing to submit")
		return nil
	}
	return b.do(ctx)
}

// complete fills in what the command line leaves to an earlier submission and to the
// site, and refuses what needs no plan to be wrong.
func (b *submission) complete(flags *pflag.FlagSet) (err error) {
	f := b.f
	for _, w := range f.s.Work {
		name, _, _ := strings.Cut(w, "=")
		switch name {
		case "--task", "--tasks", "--stride", "--stage", "--requeue":
			return cli.Usage("%s after --: submit chooses it", name)
		}
	}
	for _, name := range []*string{&f.s.Logs, &f.scripts, &f.prologue} {
		if *name != "" {
			if *name, err = filepath.Abs(*name); err != nil {
				return err
			}
		}
	}
	if f.missing {
		if err := b.recall(flags); err != nil {
			return err
		}
	}
	b.remember(flags)
	if err := f.siteDefaults(flags); err != nil {
		return err
	}
	if f.s.Program, err = os.Executable(); err != nil {
		return err
	}
	if f.prologue != "" {
		text, err := os.ReadFile(f.prologue)
		if err != nil {
			return err
		}
		f.s.Prologue = string(text)
	}
	f.s.Throttle = int(f.throttle)
	return nil
}

// remembered are the flags that a later --missing takes over.
var remembered = append([]string{"scripts"}, cluster.SiteKeys...)

// remember notes what the command line says, for a later --missing.
func (b *submission) remember(flags *pflag.FlagSet) {
	b.rec.Flags = map[string][]string{}
	for _, name := range remembered {
		f := flags.Lookup(name)
		if name == "elements" || !f.Changed {
			continue
		}
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			b.rec.Flags[name] = v.GetSlice()
		case *cli.SizeValue: // its text is rounded
			b.rec.Flags[name] = []string{strconv.FormatInt(int64(*v), 10)}
		default:
			b.rec.Flags[name] = []string{f.Value.String()}
		}
	}
	b.rec.Work = b.f.s.Work
}

// recall takes over from the earlier submission what the command line does not say.
func (b *submission) recall(flags *pflag.FlagSet) error {
	for _, name := range remembered {
		if flags.Changed(name) {
			continue
		}
		for _, v := range b.old.Flags[name] {
			if err := flags.Set(name, v); err != nil {
				return err
			}
		}
	}
	if len(b.f.s.Work) == 0 {
		b.f.s.Work = b.old.Work
	}
	return nil
}

// siteDefaults reads the user's file of defaults, if there is one.
func (f *submitFlags) siteDefaults(flags *pflag.FlagSet) error {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil // no home, no defaults
	}
	name := filepath.Join(dir, "shardify", "slurm.yaml")
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer file.Close()
	list, err := cluster.ParseSite(file)
	if err != nil {
		return cli.Usage("%s %v", name, err)
	}
	f.site = name
	for _, s := range list {
		if s.Key == "sbatch" { // the command line's come later, and win in sbatch
			f.s.Sbatch = append(s.Values, f.s.Sbatch...)
			continue
		}
		if flags.Changed(s.Key) {
			continue
		}
		if err := flags.Set(s.Key, s.Values[0]); err != nil {
			return cli.Usage("%s line %d: %s: %v", name, s.Line, s.Key, errors.Unwrap(err))
		}
	}
	return nil
}

// submission is one run of submit slurm.
type submission struct {
	p     *program
	f     *submitFlags
	x     *cli.Prepared
	slurm cluster.Slurm
	old   record // of the earlier submission
	rec   record
	after []string // jobs of an earlier submission for the merge to wait for
	merge string   // that is in the queue already
	notes []string
}

// record is what a submission leaves for the next one, so that --missing goes on with the
// same partition and the same flags.
type record struct {
	Tasks    int                 `json:"tasks"`
	Elements int                 `json:"elements"`
	Jobs     []job               `json:"jobs,omitempty"`
	Flags    map[string][]string `json:"flags,omitempty"` // of the command line
	Work     []string            `json:"work,omitempty"`  // flags of work
}

type job struct {
	Stage string `json:"stage"`
	ID    string `json:"id"`
}

func (b *submission) do(ctx context.Context) error {
	if err := b.partition(ctx); err != nil {
		return err
	}
	done, err := b.x.Plan.Done(ctx, b.x.Store)
	if err != nil {
		return err
	}
	if err := b.arrays(ctx, done); err != nil {
		return err
	}
	s := &b.f.s
	if b.merge != "" && len(s.Arrays) == 0 {
		b.p.Object("submit", struct {
			Queued string `json:"already_queued"`
		}{b.merge})
		b.p.Result("nothing to submit: what is not done is in the queue, and job %s merges it", b.merge)
		return nil
	}
	if s.Logs == "" {
		s.Logs = filepath.Join(s.Folder, store.Private, "logs")
	}
	scripts, err := s.Scripts()
	if m := (*cluster.Misplaced)(nil); errors.As(err, &m) {
		return cli.Hint(cli.Usage("%v", m), m.Cure)
	} else if err != nil {
		return err
	}
	dir := b.f.scripts
	if dir == "" {
		dir = filepath.Join(s.Folder, filepath.FromSlash(cluster.SubmitDir))
	}
	if err := b.write(dir, scripts); err != nil {
		return err
	}
	return b.finish(ctx, dir, scripts)
}

// partition chooses tasks, elements and resources.
func (b *submission) partition(ctx context.Context) error {
	load, f, old := cluster.LoadOf(b.x.Plan), b.f, b.old
	b.rec.Jobs = old.Jobs
	cpus := int(f.cpus)
	if cpus == 0 {
		cpus = cluster.DefaultCPUs(load)
	}
	elements, tasks := int(f.elements), int(f.tasks)
	switch {
	case elements > 0:
	case f.missing && old.Elements > 0 && (tasks == 0 || tasks == old.Tasks):
		elements, tasks = old.Elements, old.Tasks // those that ran go on as they were
	default:
		site := b.slurm.Limits(ctx)
		elements = load.Elements(cpus, site)
		b.note("--elements %d: at least 10 minutes and a unit for each core, at most %d (%s)", elements, site.ArraySize, site.From)
	}
	if tasks == 0 {
		tasks = elements
	}
	if elements > cluster.MaxElements || tasks > cluster.MaxTasks {
		return cli.Usage("--elements %d --tasks %d: Slurm has no arrays of more than %d", elements, tasks, cluster.MaxElements)
	}
	elements = min(elements, tasks)
	var why []string
	f.s.Job, why = load.Resources(cluster.Resources{CPUs: cpus, Memory: int64(f.mem), Time: time.Duration(f.time)}, elements)
	for _, w := range why {
		b.note("%s", w)
	}
	f.s.Merge = load.MergeResources()
	f.s.Tasks, f.s.Stride = tasks, elements
	b.rec.Tasks, b.rec.Elements = tasks, elements
	return nil
}

func (b *submission) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// arrays chooses the elements: all of them, or with --missing those with something to do.
func (b *submission) arrays(ctx context.Context, done *convert.Done) error {
	var live []cluster.Queued
	if b.f.missing {
		var err error
		if live, err = b.queue(ctx); err != nil {
			return err
		}
	}
	for _, q := range live {
		if b.stageOf(q.Job) == cluster.StageMerge && !q.Never {
			b.merge = q.Job
		}
	}
	p, s := b.x.Plan, &b.f.s
	stages := []string{cluster.StageWork}
	if p.Shuffle == convert.ShuffleGlobal {
		stages = []string{cluster.StageScatter, cluster.StageGather}
	}
	for _, stage := range stages {
		todo := make([]bool, s.Stride)
		b.todo(todo, stage, done)
		for _, q := range live {
			// What waits for a stage that is done again is thrown out of the queue.
			if b.stageOf(q.Job) == stage && q.Element >= 0 && q.Element < len(todo) && todo[q.Element] && !q.Never && len(s.Arrays) == 0 {
				todo[q.Element] = false
				b.after = append(b.after, q.ID())
			}
		}
		a := cluster.Array{Stage: stage}
		for k, wanted := range todo {
			if wanted {
				a.Elements = append(a.Elements, k)
			}
		}
		if len(a.Elements) > 0 {
			s.Arrays = append(s.Arrays, a)
		}
	}
	if n := len(b.after); n > 0 {
		b.note("%s in the queue already: left out; the merge waits for them too", cli.Of(int64(n), "element"))
	}
	return nil
}

// todo marks the elements of a stage that have something to do.
func (b *submission) todo(todo []bool, stage string, done *convert.Done) {
	p, s := b.x.Plan, &b.f.s
	if !b.f.missing {
		for k := range todo {
			todo[k] = true
		}
		return
	}
	if stage == cluster.StageGather {
		for i, ok := range done.Shards {
			if !ok {
				todo[i%s.Tasks%s.Stride] = true
			}
		}
		return
	}
	made := done.Shards
	if stage == cluster.StageScatter {
		made = done.Portions
	}
	for u, t := range p.TasksOf(s.Tasks) {
		for i := p.Units[u].Lo; i < p.Units[u].Hi; i++ {
			if !made[i] {
				todo[int(t)%s.Stride] = true
				break
			}
		}
	}
}

// queue lists what is left of earlier submissions.
func (b *submission) queue(ctx context.Context) ([]cluster.Queued, error) {
	var ids []string
	for _, j := range b.rec.Jobs {
		ids = append(ids, j.ID)
	}
	return b.slurm.Queue(ctx, ids)
}

// stageOf is the stage that a job of an earlier submission does.
func (b *submission) stageOf(id string) string {
	for _, j := range b.rec.Jobs {
		if j.ID == id {
			return j.Stage
		}
	}
	return ""
}

// write puts the scripts into their folder, and makes that of the logs: a job without one
// fails without a word.
func (b *submission) write(dir string, scripts []cluster.Script) error {
	for _, d := range []string{dir, b.f.s.Logs, filepath.Join(b.f.s.Folder, filepath.FromSlash(cluster.SubmitDir))} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return err
		}
	}
	for _, s := range scripts {
		if err := replaceFile(filepath.Join(dir, s.Name), []byte(s.Text)); err != nil {
			return err
		}
	}
	return nil
}

// finish submits, or tells how to, and prints what there is.
func (b *submission) finish(ctx context.Context, dir string, scripts []cluster.Script) error {
	var ids []string
	var failed error
	if b.f.now {
		ids, failed = b.slurm.Submit(ctx, dir, scripts, b.after)
		for i, id := range ids {
			b.rec.Jobs = append(b.rec.Jobs, job{scripts[i].Stage, id})
		}
	}
	if err := b.rec.write(b.f.s.Folder); err != nil {
		return errors.Join(failed, err)
	}
	commands := cluster.Commands(dir, scripts, b.after)
	b.show(dir, scripts, commands, ids)
	if failed != nil {
		if len(ids) > 0 {
			failed = cli.Hint(failed, "submitted before that: "+strings.Join(ids, ", ")+"; take them back with: scancel "+strings.Join(ids, " "))
		}
		return cli.Hint(failed, "the scripts are in "+dir)
	}
	return nil
}

func (b *submission) show(dir string, scripts []cluster.Script, commands, ids []string) {
	p, s := b.p, &b.f.s
	type script struct {
		Stage string `json:"stage"`
		File  string `json:"file"`
		Text  string `json:"text"`
		Job   string `json:"job,omitempty"`
	}
	o := struct {
		Output   string   `json:"output"`
		Tasks    int      `json:"tasks"`
		Elements int      `json:"elements"`
		Scripts  []script `json:"scripts"`
		Commands []string `json:"commands"`
		Notes    []string `json:"notes,omitempty"`
	}{Output: s.Folder, Tasks: s.Tasks, Elements: s.Stride, Commands: commands, Notes: b.notes}
	for i, c := range scripts {
		x := script{Stage: c.Stage, File: filepath.Join(dir, c.Name), Text: c.Text}
		if i < len(ids) {
			x.Job = ids[i]
		}
		o.Scripts = append(o.Scripts, x)
		p.Result("# ---- %s\n%s", x.File, strings.TrimRight(c.Text, "\n"))
	}
	p.Object("submit", o)
	p.Result("# ----")
	if b.f.site != "" {
		p.Result("defaults from %s", b.f.site)
	}
	for _, n := range b.notes {
		p.Result("chosen:    %s", n)
	}
	if b.f.now {
		for i, id := range ids {
			p.Result("submitted: %s, job %s", scripts[i].Stage, id)
		}
		p.Result("next: shardify status %s", cli.Quote(s.Folder))
		return
	}
	p.Result("next: the same command with --now, or:")
	for _, c := range commands {
		p.Result("      %s", c)
	}
}

func readRecord(folder string) (r record, err error) {
	name := filepath.Join(folder, filepath.FromSlash(cluster.SubmitDir), "submission.json")
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err == nil && (r.Tasks < 1 || r.Elements < 1 || r.Elements > r.Tasks || r.Tasks > cluster.MaxTasks) {
		err = fmt.Errorf("%d tasks, %d elements", r.Tasks, r.Elements)
	}
	if err != nil {
		return r, cli.Hint(fmt.Errorf("%s: %w", name, err), "remove it: without it, --missing wants --elements")
	}
	return r, nil
}

func (r record) write(folder string) error {
	if n := len(r.Jobs); n > mostJobs {
		r.Jobs = r.Jobs[n-mostJobs:]
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(folder, filepath.FromSlash(cluster.SubmitDir), "submission.json"), append(b, '\n'))
}

// mostJobs is how many jobs a record keeps: those of many submissions.
const mostJobs = 300

// replaceFile writes a file in one step, so that nobody reads half of it.
func replaceFile(name string, b []byte) error {
	f, err := cli.CreateFile(name)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Commit()
}

// timeValue is a flag with a time limit.
type timeValue time.Duration

// Set reads "90m" or "1-12:00:00".
func (v *timeValue) Set(s string) error {
	d, err := cluster.ParseTime(s)
	*v = timeValue(d)
	return err
}

// String is empty for 0, which means the default.
func (v *timeValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

// Type is shown in help.
func (v *timeValue) Type() string { return "TIME" }
