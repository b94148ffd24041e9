package main

import (
	"context"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
)

func (p *program) stage(ctx context.Context, s pipeline.StageSettings, args []string, remove bool) error {
	switch {
	case remove && len(args) != 1:
		return shardify.Usage("--remove wants the folder of the copy alone, not %d folders", len(args))
	case remove:
		s.Dest = args[0]
		return p.unstage(ctx, s)
	case len(args) != 1 && len(args) != 2:
		return shardify.Hint(shardify.Usage("want a data set and, if you like, the folder for its copy, not %s", printable.Of(int64(len(args)), "folder")), "for example: shardify stage train /dev/shm/train")
	case s.Wait < 0:
		return shardify.Usage("--wait %v: want a time that is not negative", s.Wait)
	}
	if s.Source = args[0]; len(args) == 2 {
		s.Dest = args[1]
	}
	s.Chosen = func(dest, why string) { p.Note("%-9s%s (%s)", "place", dest, why) }
	s.Waiting = func(what string) { p.Note("waiting for %s", what) }
	bar := p.NewBar()
	s.Hooks = p.hooks(ctx, nil)
	if !p.Quiet {
		s.Hooks.Progress = bar.Copying
	}
	start := time.Now()
	r, err := pipeline.Stage(ctx, s)
	bar.Clear()
	if err == nil {
		p.Staged(s.Source, r, time.Since(start))
	}
	return err
}

func (p *program) unstage(ctx context.Context, s pipeline.StageSettings) error {
	r, err := pipeline.Unstage(ctx, s)
	if err != nil {
		return err
	}
	p.Unstaged(r)
	return nil
}
