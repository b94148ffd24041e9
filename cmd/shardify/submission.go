package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// submission is one run of submit slurm.
type submission struct {
	p     *program
	f     *submitFlags
	x     *pipeline.Prepared
	slurm cluster.Slurm
	old   record // of the earlier submission
	rec   record
	after []string // jobs of an earlier submission for the merge to wait for
	merge string   // that is in the queue already
	notes []string
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
		s.Logs = filepath.Join(s.Folder, storage.Private, "logs")
	}
	scripts, err := s.Scripts()
	if m := (*cluster.Misplaced)(nil); errors.As(err, &m) {
		return shardify.Hint(shardify.Usage("%v", m), m.Cure)
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
		return shardify.Usage("--elements %d --tasks %d: Slurm has no arrays of more than %d", elements, tasks, cluster.MaxElements)
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
func (b *submission) arrays(ctx context.Context, done *plan.Done) error {
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
	if p.Shuffle == plan.ShuffleGlobal {
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
		b.note("%s in the queue already: left out; the merge waits for them too", printable.Of(int64(n), "element"))
	}
	return nil
}

// todo marks the elements of a stage that have something to do.
func (b *submission) todo(todo []bool, stage string, done *plan.Done) {
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
			failed = shardify.Hint(failed, "submitted before that: "+strings.Join(ids, ", ")+"; take them back with: scancel "+strings.Join(ids, " "))
		}
		return shardify.Hint(failed, "the scripts are in "+dir)
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
		p.Result("# ---- %s\n%s", x.File, printable.Lines(strings.TrimRight(c.Text, "\n")))
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
		if len(ids) == len(scripts) { // else an error follows
			p.Result("next: shardify status %s", printable.Quote(s.Folder))
		}
		return
	}
	p.Result("next: the same command with --now, or:")
	for _, c := range commands {
		p.Result("      %s", c)
	}
}
