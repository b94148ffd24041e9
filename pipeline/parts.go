package pipeline

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/pipeline/settings"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
)

// inParts reports whether a long list of inputs may be planned in parts: samples go from
// input to shard in order, each on its own, and all of them.
func (r *run) inParts() bool {
	ordered := r.Shuffle == "" || r.Shuffle == plan.ShuffleNone
	return !r.Whole && !r.Once && ordered && !r.Provenance && r.ShardSamples == 0 && r.Limit == 0 && r.Range == settings.Range{}
}

// makePlan is convert.MakePlan for inputs that may come in parts.
func (r *run) makePlan(ctx context.Context, p *Prepared, q convert.Request) (*plan.Plan, error) {
	o, src := r.Opened, &r.Input
	if o.More == nil {
		return convert.MakePlan(ctx, q)
	}
	q.Parts = &convert.Parts{Survey: o.More.Survey, Next: o.More.Next, Reuse: o.More.Reuse, Open: src.Open}
	if !r.Dry {
		q.Parts.Scratch = p.Store
	}
	x, err := convert.MakePlan(ctx, q)
	var one *convert.NotInParts
	switch {
	case errors.As(err, &one):
		o.Args.Table = one.Table
		whole, err := src.Open(ctx, o.Args)
		if err != nil {
			return nil, err
		}
		p.replaceSource(o, whole)
		q.Source, q.Args, q.Parts = whole, o.Args, nil
		return convert.MakePlan(ctx, q)
	case err != nil:
		return nil, err
	}
	r.Notes = append(q.Parts.Survey.Notes(), r.Notes...)
	p.replaceSource(o, convert.NewPartSource(x, src.Open))
	return x, nil
}

func (p *Prepared) replaceSource(o *readers.Opened, src shardify.Source) {
	o.Source.Close()
	o.Source, p.Job.Source = src, src
}
