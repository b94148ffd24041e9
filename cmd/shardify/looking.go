package main

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/readers"
)

func (p *program) inspect(ctx context.Context, f *inspectFlags, inputs []string) error {
	if f.card+f.croissant != "" {
		return p.describe(f, inputs)
	}
	r, err := pipeline.InspectRequest(ctx, f.s, inputs, f.sample.option)
	whole := len(inputs) == 1 && f.sample.number < 0 && !f.stats.wanted() && f.s.From == "" && len(f.s.Columns) == 0
	if whole && errors.Is(err, shardify.ErrUnsupported) && pipeline.MadeHere(inputs[0], "") {
		return p.inspectSet(ctx, inputs[0]) // only other programs read its shards
	}
	if err != nil {
		return err
	}
	switch {
	case f.sample.number >= 0:
		return p.inspectSample(ctx, r, f.sample.number)
	case f.stats.wanted():
		return p.stats(ctx, f.stats, r)
	case len(inputs) == 1 && len(f.s.Columns)+len(r.Given) == 0 && (readers.IsSet(r.Format.Name) || pipeline.MadeHere(inputs[0], r.Format.Name)):
		return p.inspectSet(ctx, inputs[0])
	}
	rep, err := inspect.Inputs(ctx, r)
	if err != nil {
		return err
	}
	p.Inspected(rep)
	if rep.Ways == nil {
		return rep.Cause
	}
	return nil
}

func (p *program) inspectSample(ctx context.Context, r inspect.Request, n int64) error {
	s, err := pipeline.Sample(ctx, r, n)
	if err != nil {
		return err
	}
	p.Shown("sample", s)
	return nil
}
