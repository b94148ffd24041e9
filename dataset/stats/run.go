package stats

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset/pass"
	"golang.org/x/sync/errgroup"
)

// Progress counts what was read so far; it may be looked at any time.
type Progress struct{ Samples, Bytes atomic.Int64 }

// Run gathers facts of all samples of a source on jobs goroutines.
func Run(ctx context.Context, src shardify.Source, pool *shardify.Pool, jobs int, o Options, p *Progress) (*Set, error) {
	parts, total, err := pass.Split(ctx, src)
	if err != nil {
		return nil, err
	}
	o.Total = total
	if p == nil {
		p = new(Progress)
	}
	r := &run{src: src, pool: pool, progress: p, whole: New(src.Schema(), o), done: map[int]*Set{}}
	if len(parts) == 0 {
		return r.whole, nil
	}
	// The first span gives the numbers that all others are counted from.
	first := &parts[0]
	if err := r.read(ctx, r.whole, first.Spans[:1]); err != nil {
		return nil, err
	}
	first.First += first.Spans[0].Samples()
	first.Spans = first.Spans[1:]
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(max(jobs, 1))
	for i := range parts {
		if each.Err() != nil {
			break
		}
		empty := r.whole.Part(parts[i].First)
		g.Go(func() error {
			if err := r.read(each, empty, parts[i].Spans); err != nil {
				return err
			}
			return r.finish(i, empty)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.whole.Samples != total {
		return nil, fmt.Errorf("saw %d of %d samples", r.whole.Samples, total)
	}
	return r.whole, nil
}

type run struct {
	src      shardify.Source
	pool     *shardify.Pool
	progress *Progress

	mu    sync.Mutex
	whole *Set
	done  map[int]*Set // parts that wait for those before them
	next  int
}

// finish merges a part as soon as all before it are.
func (r *run) finish(i int, s *Set) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[i] = s
	for r.done[r.next] != nil {
		if err := r.whole.Merge(r.done[r.next]); err != nil {
			return err
		}
		delete(r.done, r.next)
		r.next++
	}
	return nil
}

// read adds spans to a set.
func (r *run) read(ctx context.Context, s *Set, spans []shardify.Span) error {
	return pass.Read(ctx, r.src, r.pool, spans, func(span shardify.Span, b *shardify.Batch) error {
		if err := s.Add(b); err != nil {
			return err
		}
		r.progress.Samples.Add(span.Samples())
		r.progress.Bytes.Add(span.Bytes)
		return nil
	})
}
