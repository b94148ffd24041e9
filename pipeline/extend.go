package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/window"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/sets"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/writers"
)

// Extend adds the samples of further inputs to a finished data set. They are converted as those of
// the set were; of the settings only those count that name inputs and say how to run. again adds
// inputs a second time that are part of the set already.
func Extend(ctx context.Context, set string, s Settings, again bool) (*Result, error) {
	start := time.Now()
	if err := s.complete(); err != nil {
		return nil, err
	}
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
	like, err := settingsOf(e.Base.Dir, e.Base.Manifest)
	if err != nil {
		return nil, err
	}
	like.Output, like.compile = e.Staging, e.Compile(transform.Compile)
	like.Inputs, like.FilesFrom, like.Stdin, like.FollowSymlinks, like.MaxSample = s.Inputs, s.FilesFrom, s.Stdin, s.FollowSymlinks, s.MaxSample
	like.Jobs, like.Memory, like.Sync, like.IgnoreTimes, like.Fresh, like.Dry, like.Hooks = s.Jobs, s.Memory, s.Sync, s.IgnoreTimes, s.Fresh, s.Dry, s.Hooks
	p, err := prepare(ctx, like)
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
		err := shardify.Mismatch("%s of %d are part of %s already, the first is %s", printable.Of(int64(known.Inputs), "input"), p.Plan.Table.Len(), set, known.First)
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
	defer s.Hooks.watch(e.Steps.Watch)()
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
	defer p.begin(p.Plan.Task(0, 1), p.Plan.Gathers)()
	if err = p.publishStatic(ctx); err != nil {
		return err
	}
	if _, err = p.Job.Convert(ctx); err != nil {
		return err
	}
	return p.Tidy()
}

// settingsOf returns the settings a set was converted with, without inputs and output: from its
// manifest, and from its plan if that still exists.
func settingsOf(dir string, m *index.Manifest) (Settings, error) {
	refuse := func(format string, args ...any) (Settings, error) {
		return Settings{}, shardify.Annotate(shardify.Unsupported(format, args...), "extend", dir, "")
	}
	parts := m.AsParts()
	for i := range parts[1:] {
		p, q := &parts[0], &parts[1+i]
		if !sameRecipe(p.Recipe, q.Recipe) || p.Inputs.Format != q.Inputs.Format || !slices.Equal(shownOps(p.Operations), shownOps(q.Operations)) {
			return refuse("its parts were made in several ways, so that there is no one way for further inputs: convert them and use merge-sets")
		}
	}
	r := parts[0].Recipe
	s := Settings{recorded: true, Whole: true, From: parts[0].Inputs.Format, Format: m.Format, OnError: r["on-error"], Shuffle: r["shuffle"], Provenance: r["provenance"] == "true", Options: map[string]string{}}
	src, ok := readers.Lookup(s.From)
	if !ok {
		return refuse("input format %q", s.From)
	}
	sink, ok := writers.Lookup(s.Format)
	if !ok {
		return refuse("format %q", s.Format)
	}
	for _, list := range [][]format.Option{src.Options, sink.Options} {
		for i := range list {
			if v, ok := r[list[i].Name]; ok && v != list[i].Default {
				s.Options[list[i].Name] = v
			}
		}
	}
	if src.Again != nil {
		maps.Copy(s.Options, src.Again(s.Options, m.Schema, m.Keyed))
	}
	if s.Shuffle == "" {
		s.Shuffle = plan.ShuffleNone
	}
	if v := r[window.Key]; v != "" {
		s.Window = strings.Split(v, "\n")
	}
	s.Static = words(r["static"])
	for _, o := range parts[0].Operations {
		if op := (plan.Op{Name: o.Op, Text: o.Text}); readsBeside(op) {
			return refuse("it was made with --%s %s: convert the further inputs with it, and use merge-sets", o.Op, transform.Shown(op)[0])
		}
	}
	for _, name := range []string{"group-rows", "group-index"} {
		if r[name] != "" {
			return refuse("it was made with --%s %s, and rows of its samples may be in further inputs: convert all of them together", name, r[name])
		}
	}
	for _, name := range []string{"limit", "range"} {
		if r[name] != "" {
			return refuse("it was made with --%s %s, which says nothing about further inputs: convert them and use merge-sets", name, r[name])
		}
	}
	var err error
	number := func(name string) (n int64) {
		if v := r[name]; v != "" && err == nil {
			n, err = strconv.ParseInt(v, 10, 64)
		}
		return n
	}
	s.ShardSize, s.ShardSamples = number("shard-size"), number("shard-samples")
	if v := r["seed"]; v != "" && err == nil {
		s.Seed, err = strconv.ParseUint(v, 10, 64)
	}
	if err != nil {
		return refuse("its recipe: %v", err)
	}
	s.Split, s.SplitFrom, s.Stratify, s.GroupBy, s.Identity = r["split"], r["split-from"], r["stratify"], r["group-by"], words(r["identity"])
	if s.SplitFrom == "" {
		s.SplitFrom = plan.NoSplits // what was one set stays one
	}
	if _, err := s.parseSplit(); err != nil {
		return s, err
	}
	for _, o := range parts[0].Operations {
		if o.Op == transform.Set && transform.HasTotals(o.Text) {
			return refuse("--set %s is a sum over all its inputs, which further ones would change: convert all of them together", transform.Shown(plan.Op{Text: o.Text})[0])
		}
		key := Lookup(o.Op)
		if key == nil {
			return refuse("operation %q", o.Op)
		}
		for _, text := range transform.Shown(plan.Op{Name: o.Op, Text: o.Text}) {
			if err := key.Of(&s).Set(text); err != nil {
				return s, err
			}
		}
	}
	s.Columns = words(r["columns"])
	if p, err := plan.Load(local.NewDir(dir, local.SyncNone)); err == nil { // columns that were read for operations alone
		s.Columns = slices.DeleteFunc(s.Columns, func(c string) bool { return slices.Contains(p.Helpers, c) })
	}
	return s, nil
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

func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
