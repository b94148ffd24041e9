package main

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
)

// collect deletes older versions, or lists what that would free.
func (p *program) collect(ctx context.Context, folder string, keep int64, yes bool) error {
	if keep == 0 {
		return nil
	}
	e := &pipeline.Edit{Op: "gc", Dir: folder, Version: keep, Dry: !yes}
	if err := pipeline.Change(ctx, e, pipeline.Hooks{}); err != nil {
		return err
	}
	p.Object("versions", struct {
		Keep  int64 `json:"keep"`
		Dry   bool  `json:"dry_run"`
		Files int   `json:"files"`
		Bytes int64 `json:"bytes"`
	}{e.Version, e.Dry, e.Written, e.Bytes})
	what := printable.Of(int64(e.Written), "file") + ", " + shardify.FormatSize(e.Bytes)
	switch {
	case e.Written == 0:
		p.Result("older versions, stopped changes: nothing to remove")
	case e.Dry:
		p.Result("older versions, stopped changes: %s\nnext: shardify gc %s --keep %d --yes", what, printable.Quote(e.Dir), e.Version)
	default:
		p.Result("older versions, stopped changes: removed %s", what)
	}
	return nil
}
