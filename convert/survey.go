package convert

import (
	"context"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"golang.org/x/sync/errgroup"
)

// surveyPart is the decoded size of what is surveyed on one goroutine: a rule of the
// plan, since the order of sums follows from it; tests make it smaller.
var surveyPart int64 = 64 << 20

// defaultPool is the memory of a job or a survey without a pool of its own.
const defaultPool = 256 << 20

// scan reads all samples through the stages in front of place upto, and the router if
// routed. The parts are merged in their order.
func (r *Request) scan(ctx context.Context, p *plan.Plan, f *flow.Flow, upto int, routed bool, begin func() flow.Gathering) (flow.Gathering, error) {
	job := &Job{Plan: p, Source: r.Source, Pool: r.Pool, Jobs: r.Jobs, flow: f}
	if job.Pool == nil {
		job.Pool = shardify.NewPool(defaultPool)
	}
	if c, ok := r.Source.(format.Collector); ok {
		if err := c.Collect(ctx, p.Pack.Spans, job.Pool, job.jobs(), nil); err != nil {
			return nil, why(ctx, err)
		}
	}
	parts := surveyParts(p.Pack.Spans)
	job.left.Store(int64(len(parts)))
	m := merger{sum: begin(), ready: make([]flow.Gathering, len(parts))}
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
			w.run = f.NewSurveyor(job.Source, job.Pool, job.share(), w.skippable, upto, routed)
			w.emit = func(split int, b *shardify.Batch, _ *shardify.Arena) error { return mine.Collect(split, b) }
			if err := job.ahead(each, slices.Clone(part), w); err != nil {
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
	sum   flow.Gathering
	ready []flow.Gathering
	next  int
}

func (m *merger) put(i int, g flow.Gathering) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ready[i] = g
	for ; m.next < len(m.ready) && m.ready[m.next] != nil; m.next++ {
		if err := m.sum.Combine(m.ready[m.next]); err != nil {
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
