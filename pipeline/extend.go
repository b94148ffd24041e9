package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/pipeline/internal/sets"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/questions"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
)

// Extend adds the samples of further inputs to a finished data set. They are converted as those of
// the set were; of the settings only those count that name inputs and say how to run. again adds
// inputs a second time that are part of the set already.
func Extend(ctx context.Context, set string, s Settings, again bool) (*Result, error) {
	start := time.Now()
	r := newRun(ctx, s, false, nil)
	if err := r.complete(); err != nil {
		return nil, err
	}
	s = *r.Settings
	e, err := sets.OpenExtension(set)
	if err != nil {
		return nil, err
	}
	if !s.Dry {
		if err := e.Sweep(); err != nil {
			return nil, err
		}
		if s.Fresh {
			if err := e.GiveUp(ctx, local.Sync(s.Sync)); err != nil {
				return nil, err
			}
		}
	}
	like, err := like(&s, e.Base.Dir, e.Base.Manifest)
	if err != nil {
		return nil, err
	}
	like.Output = e.Staging
	p, err := prepare(ctx, newRun(ctx, like, false, e.Compile(transform.Compile)))
	if err != nil {
		if errors.Is(err, shardify.ErrExists) { // and its hints are about folders
			err = fmt.Errorf("%s: an extension by other inputs was started and is not finished: %w", set, shardify.ErrExists)
			return nil, shardify.Hint(err, "run its command again, or give it up: the same command with --fresh")
		}
		return nil, err
	}
	defer p.Close()
	known, err := e.Known(p.Plan)
	switch {
	case err != nil:
		return nil, err
	case p.State == StateComplete: // but not published
	case known.All && !again:
		return &Result{Output: set, Manifest: e.Base.Manifest, Already: true}, nil
	case known.Inputs > 0 && !again:
		err := shardify.Mismatch("%s of %d are part of %s already, the first is %s", printable.Of(int64(known.Inputs), "input"), p.Plan.In.Table.Len(), set, known.First)
		return nil, shardify.Hint(err, "name the new ones alone, or take all of them with --again")
	}
	if p.State != StateComplete {
		if err := e.Fits(ctx, p.Plan, p.Job.Source); err != nil {
			return nil, err
		}
		p.Litter = append(p.Litter, index.LostCoords(e.Lost)...)
	}
	p.planned()
	if s.Dry {
		return &Result{Output: set}, nil
	}
	if err := p.extend(ctx, e); err != nil {
		return nil, err
	}
	e.Steps = new(stall.Board)
	defer r.hooks.watch(e.Steps.Watch)()
	m, err := e.Publish(ctx, local.Sync(p.Sync), p.Jobs)
	return &Result{Output: set, Manifest: m, Took: time.Since(start)}, err
}

// extend makes the further shards.
func (p *Prepared) extend(ctx context.Context, e *sets.Extension) (err error) {
	if err := p.Clear(); err != nil || p.State == StateComplete {
		return err
	}
	defer p.dropScratch()
	if p.Job.Sink, err = e.Sink(p.Plan, p.Job.Sink); err != nil {
		return err
	}
	defer p.begin(p.Plan.Pack.Task(0, 1), p.Plan.Order.Gathers)()
	if err = p.publish(ctx); err != nil {
		return err
	}
	if _, err = p.Job.Convert(ctx); err != nil {
		return err
	}
	return p.Tidy()
}

// like is the settings for further inputs of a set: what the set keeps is as it was there, what
// it does not keep as in s.
func like(s *Settings, dir string, m *index.Manifest) (Settings, error) {
	out := Settings{Recorded: true, Whole: true, Stdin: s.Stdin, Dry: s.Dry}
	refuse := func(format string, args ...any) (Settings, error) {
		return out, shardify.Annotate(shardify.Unsupported(format, args...), "extend", dir, "")
	}
	parts := m.AsParts()
	first := &parts[0]
	for i := range parts[1:] {
		q := &parts[1+i]
		if !sameRecipe(first.Recipe, q.Recipe) || first.Inputs.Format != q.Inputs.Format || !slices.Equal(shownOps(first.Operations), shownOps(q.Operations)) {
			return refuse("its parts were made in several ways, so that there is no one way for further inputs: convert them and use merge-sets")
		}
	}
	if err := questions.Extend(first); err != nil {
		return out, shardify.Annotate(err, "extend", dir, "")
	}
	if err := out.Restore(m, first); err != nil {
		return out, shardify.Annotate(err, "extend", dir, "")
	}
	for i := range settings.Keys {
		k := &settings.Keys[i]
		if k.Kept == settings.NotKept {
			value.Copy(k.Of(&out), k.Of(s))
		} else if k.Rules.Alone != "" && k.Given(&out) {
			return refuse("it was made with --%s %s%s", k.Name, k.Of(&out), k.Rules.Alone)
		}
	}
	out.Splits = slices.Sorted(maps.Keys(m.Splits))
	if out.SplitFrom == "" {
		out.SplitFrom = splits.None // what was one set stays one
	}
	if p, err := plan.Load(local.NewDir(dir, local.SyncNone)); err == nil { // columns that were read for operations alone
		out.Columns = slices.DeleteFunc(out.Columns, func(c string) bool { return slices.Contains(p.Steps.Helpers, c) })
	}
	return out, nil
}

// sameRecipe compares recipes. That labels come from folders, and names from paths, is what
// auto found out.
func sameRecipe(a, b map[string]string) bool {
	found := func(m map[string]string) map[string]string {
		m = maps.Clone(m)
		for name, value := range map[string]string{"labels": "folder", "keys": "path"} {
			if v := m[name]; v == value || v == "auto" {
				delete(m, name)
			}
		}
		return m
	}
	return maps.Equal(found(a), found(b))
}

// shownOps is the operations without what they found among the inputs.
func shownOps(list []index.Operation) (out []string) {
	for _, o := range list {
		out = append(out, o.Op+" "+strings.Join(transform.Shown(plan.Op{Name: o.Op, Text: o.Text}), "\n"))
	}
	return out
}
