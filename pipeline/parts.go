package pipeline

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
)

// inParts reports whether a long list of inputs may be planned in parts: samples go from
// input to shard in order, each on its own, and all of them.
func (s *Settings) inParts() bool {
	ordered := s.Shuffle == "" || s.Shuffle == plan.ShuffleNone
	return !s.Whole && s.grouping == nil && s.shape.Empty() && s.split == nil && ordered && !s.Provenance && !s.copied() && len(s.Static) == 0 &&
		s.ShardSamples == 0 && s.Limit == 0 && s.Range == Range{}
}

// makePlan is convert.MakePlan for inputs that may come in parts.
func (s *Settings) makePlan(ctx context.Context, p *Prepared, src format.Input, o *readers.Opened, r convert.Request) (*plan.Plan, error) {
	if o.More == nil {
		return convert.MakePlan(ctx, r)
	}
	r.Parts = &convert.Parts{Survey: o.More.Survey, Next: o.More.Next, Reuse: o.More.Reuse, Open: src.Open}
	if !s.Dry {
		r.Parts.Scratch = p.Store
	}
	x, err := convert.MakePlan(ctx, r)
	var one *convert.NotInParts
	switch {
	case errors.As(err, &one):
		o.Args.Table = one.Table
		whole, err := src.Open(ctx, o.Args)
		if err != nil {
			return nil, err
		}
		p.replaceSource(o, whole)
		r.Source, r.Args, r.Parts = whole, o.Args, nil
		return convert.MakePlan(ctx, r)
	case err != nil:
		return nil, err
	}
	s.beside.notes = append(r.Parts.Survey.Notes(), s.beside.notes...)
	p.replaceSource(o, convert.NewPartSource(x, src.Open))
	return x, nil
}

func (p *Prepared) replaceSource(o *readers.Opened, src shardify.Source) {
	o.Source.Close()
	o.Source, p.Job.Source = src, src
}
