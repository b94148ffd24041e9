package convert

import (
	"context"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"golang.org/x/sync/errgroup"
)

// Finding is the result of a survey.
type Finding struct {
	Stage  int    `json:"stage"` // the place of the transform that asked
	What   string `json:"what"`
	Result string `json:"result"`
}

// surveyPart is the decoded size of what is surveyed on one goroutine: a rule of the
// plan, since the order of sums follows from it; tests make it smaller.
var surveyPart int64 = 64 << 20

// defaultPool is the memory of a job or a survey that nobody gave a pool.
const defaultPool = 256 << 20

// gathering is what a survey keeps of a part of the samples.
type gathering interface {
	add(split int, b *shardify.Batch) error
	merge(next gathering) error
}

// scan reads all samples through the stages in front of place upto, and the router if
// routed. The parts are merged in their order.
func (r *Request) scan(ctx context.Context, f *flow, upto int, routed bool, begin func() gathering) (gathering, error) {
	job := &Job{Plan: f.plan, Source: r.Source, Pool: r.Pool, Jobs: r.Jobs, flow: f}
	if job.Pool == nil {
		job.Pool = shardify.NewPool(defaultPool)
	}
	parts := surveyParts(f.plan.Spans)
	job.left.Store(int64(len(parts)))
	m := merger{sum: begin(), ready: make([]gathering, len(parts))}
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(job.jobs())
	for i, part := range parts {
		if each.Err() != nil {
			break
		}
		g.Go(func() error {
			defer job.left.Add(-1)
			mine := begin()
			w := &worker{j: job, left: len(part) + 1} // that never completes a shard
			w.ctx = each
			w.run = f.runner(job.Pool, job.share(), w.skippable)
			w.run.upto, w.run.whole = upto, !routed
			w.emit = func(split int, b *shardify.Batch, _ *shardify.Arena) error { return mine.add(split, b) }
			if err := job.ahead(each, slices.Clone(part), w.use); err != nil {
				return err
			}
			return m.put(i, mine)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, why(ctx, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return m.sum, nil
}

// merger adds up parts in their order, as soon as they are there.
type merger struct {
	mu    sync.Mutex
	sum   gathering
	ready []gathering
	next  int
}

func (m *merger) put(i int, g gathering) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready[i] = g
	for ; m.next < len(m.ready) && m.ready[m.next] != nil; m.next++ {
		if err := m.sum.merge(m.ready[m.next]); err != nil {
			return err
		}
		m.ready[m.next] = nil
	}
	return nil
}

// surveyParts cuts the spans into what one goroutine surveys; runs stay whole.
func surveyParts(spans []shardify.Span) (parts [][]shardify.Span) {
	for lo := 0; lo < len(spans); {
		hi := lo
		var bytes int64
		for hi < len(spans) && (bytes < surveyPart || spans[hi].Run > 0 && spans[hi].Run == spans[hi-1].Run) {
			bytes += spans[hi].Bytes
			hi++
		}
		parts = append(parts, spans[lo:hi])
		lo = hi
	}
	return parts
}

// survey finds out what the plan's surveyors ask for, one after the other: each sees
// what the stages before it make.
func (r *Request) survey(ctx context.Context, f *flow) error {
	p := f.plan
	for i := range f.stages() {
		if i == len(f.before) {
			if err := r.count(ctx, f); err != nil {
				return err
			}
		}
		s := f.stageAt(i)
		v, ok := s.Transform.(shardify.Surveyor)
		if !ok || v.Surveys() == "" {
			continue
		}
		what := v.Surveys()
		got, err := r.scan(ctx, f, i, i >= len(f.before), func() gathering { return &surveyed{Survey: v.NewSurvey(), on: f.counting(s)} })
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
		p.Findings = append(p.Findings, Finding{Stage: i, What: what, Result: string(text)})
		if err := f.chain(i); err != nil {
			return err
		}
	}
	if f.stages() == len(f.before) {
		return r.count(ctx, f)
	}
	return nil
}

// counting marks the splits whose samples count for a survey: those the stage is
// applied to, and of them the one to train on.
func (f *flow) counting(s *stage) []bool {
	on := make([]bool, len(f.splits))
	every := s.place < len(f.before)
	if a, ok := s.Transform.(shardify.AllSplits); ok && a.SurveysAllSplits() {
		every = true
	}
	train := max(slices.Index(f.splits, "train"), 0)
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

func (s *surveyed) add(split int, b *shardify.Batch) error {
	if !s.on[split] {
		return nil
	}
	return s.Add(b)
}

func (s *surveyed) merge(next gathering) error { return s.Merge(next.(*surveyed).Survey) }
