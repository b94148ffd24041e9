package main

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/inspect"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
)

func (p *program) inspect(ctx context.Context, f *inspectFlags, inputs []string) error {
	if f.card+f.croissant != "" {
		return p.describe(f, inputs)
	}
	r, err := pipeline.InspectRequest(ctx, f.s, inputs, f.sample.option)
	if errors.Is(err, shardify.ErrUnsupported) && len(inputs) == 1 && f.sample.number < 0 && !f.stats.wanted() && pipeline.WrittenOnly(inputs[0]) {
		return p.inspectSet(inputs[0])
	}
	if err != nil {
		return err
	}
	switch {
	case f.sample.number >= 0:
		return p.inspectSample(ctx, r, f.sample.number)
	case f.stats.wanted():
		return p.stats(ctx, f.stats, r)
	case len(inputs) == 1 && len(f.s.Columns) == 0 && readers.IsSet(r.Format.Name):
		return p.inspectSet(inputs[0])
	}
	rep, err := inspect.Inputs(ctx, r)
	if err != nil {
		return err
	}
	p.Inspected(rep, r, f.s.Options)
	return nil
}

func (p *program) inspectSet(dir string) error {
	dir, m, err := pipeline.ManifestOf(dir)
	if err != nil {
		return err
	}
	s := inspect.Describe(dir, m)
	p.Shown("dataset", s)
	p.Result("")
	p.Next(dir, m)
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
