package flow

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow/route"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
)

// Gathering is what a survey keeps of a part of the samples.
type Gathering interface {
	Collect(split int, b *shardify.Batch) error
	Combine(next Gathering) error
}

// counting marks the splits whose samples count for a survey: those the stage is
// applied to, and of them the one to train on.
func (f *Flow) counting(s *stage) []bool {
	on := make([]bool, len(f.Splits))
	every := s.place < len(f.before)
	if a, ok := s.Transform.(shardify.AllSplits); ok && a.SurveysAllSplits() {
		every = true
	}
	train := max(slices.Index(f.Splits, "train"), 0)
	if s.on != nil && !s.on[train] {
		train = slices.Index(s.on, true)
	}
	for i := range on {
		on[i] = i == train || every && (s.on == nil || s.on[i])
	}
	return on
}

// surveyed is a transform's survey of the splits that count.
type surveyed struct {
	shardify.Survey
	on []bool
}

func (s *surveyed) Collect(split int, b *shardify.Batch) error {
	if !s.on[split] {
		return nil
	}
	return s.Add(b)
}

func (s *surveyed) Combine(next Gathering) error { return s.Merge(next.(*surveyed).Survey) }

// scan passes over all samples, through the stages in front of place upto, and the router
// if routed.
type scan func(ctx context.Context, upto int, routed bool, begin func() Gathering) (Gathering, error)

// Survey finds out what the plan's surveyors ask for, one after the other: each sees
// what the stages before it make.
func (f *Flow) Survey(ctx context.Context, src shardify.Source, pass scan) error {
	p := f.plan
	for i := range f.stages() {
		if i == len(f.before) {
			if err := f.count(ctx, src, pass); err != nil {
				return err
			}
		}
		s := f.stageAt(i)
		v, ok := s.Transform.(shardify.Surveyor)
		if !ok || v.Surveys() == "" {
			continue
		}
		what := v.Surveys()
		got, err := pass(ctx, i, i >= len(f.before), func() Gathering { return &surveyed{Survey: v.NewSurvey(), on: f.counting(s)} })
		if err != nil {
			return f.named(s, err)
		}
		text, err := got.(*surveyed).Result()
		if err != nil {
			return f.named(s, err)
		}
		if err := v.Learn(text); err != nil {
			return f.named(s, err)
		}
		p.Steps.Findings = append(p.Steps.Findings, plan.Finding{Stage: i, What: what, Result: string(text)})
		if err := f.Chain(i); err != nil {
			return err
		}
	}
	if f.stages() == len(f.before) {
		return f.count(ctx, src, pass)
	}
	return nil
}

// count finds where the hashes are to be cut so that splits have exact numbers of
// samples, or of each class. Hashes are kept as long as they are few; of many only
// counts are kept, and those near a cut are looked at in a second pass.
func (f *Flow) count(ctx context.Context, src shardify.Source, pass scan) error {
	p := f.plan
	if r := p.Splits.Rule; r != nil && r.WholeGroups() {
		return wholeGroups(ctx, f, pass)
	}
	if p.Splits.Rule == nil || !p.Splits.Rule.Counted() || p.Splits.Cuts != nil {
		return nil
	}
	// The first pass sees what reaches the router, unsplit.
	look := func(near map[uint64][]uint64) (*ranker, error) {
		begin := func() Gathering {
			return &ranker{Hasher: route.NewHasher(p), field: p.Splits.Rule.Stratify, near: near, classes: map[uint64]*class{}}
		}
		got, err := f.hashes(ctx, src, pass, begin)
		if err != nil {
			return nil, err
		}
		return got.(*ranker), nil
	}
	k, err := look(nil)
	if err != nil {
		return err
	}
	all := int64(0)
	for _, c := range k.classes {
		all += c.n
	}
	if p.Splits.Unsplit, err = p.Splits.Rule.Unused(all); err != nil {
		return err
	}
	near, err := k.look(p.Splits.Rule)
	if err != nil {
		return err
	}
	second := k
	if len(near) > 0 {
		if second, err = look(near); err != nil {
			return err
		}
	}
	if p.Splits.Cuts, err = k.cuts(p.Splits.Rule, second); err != nil {
		return err
	}
	if f.router, err = route.New(p, nil); err != nil {
		return err
	}
	return nil
}

// hashes passes over all samples that reach the router. If no operation has changed them, and their
// identities suffice, they are not read.
func (f *Flow) hashes(ctx context.Context, src shardify.Source, pass scan, begin func() Gathering) (Gathering, error) {
	p := f.plan
	if len(f.before) > 0 || len(p.Splits.Rule.Needs()) > 0 || p.Asked.Grouping != nil || p.OnError == plan.OnErrorSkip {
		return pass(ctx, len(f.before), false, begin)
	}
	g := begin()
	const most = 1 << 16
	for _, s := range p.Pack.Spans {
		for lo := s.Lo; lo < s.Hi; lo += most {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			b := &shardify.Batch{Samples: int(min(most, s.Hi-lo)), First: shardify.ID{Input: s.Input, Sample: lo}}
			if err := g.Collect(0, owned(src, b)); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// owned gives samples the identities that follow from the inputs they are known by.
func owned(src shardify.Source, b *shardify.Batch) *shardify.Batch {
	o, ok := src.(format.Owner)
	if !ok {
		return b
	}
	out := *b
	out.IDs = make([]shardify.ID, b.Samples)
	for i := range out.IDs {
		id := b.ID(i)
		out.IDs[i] = shardify.ID{Input: o.Owner(id.Input, id.Sample), Copy: id.Copy}
	}
	return &out
}
