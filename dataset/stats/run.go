package stats

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"golang.org/x/sync/errgroup"
)

// Progress counts what was read so far; it may be looked at any time.
type Progress struct{ Samples, Bytes atomic.Int64 }

const (
	spanBytes = 1 << 20
	// partBytes is the decoded size from which spans are a part of their own. It is a
	// constant, so that figures do not depend on jobs.
	partBytes = 32 << 20
)

// Run gathers facts of all samples of a source on jobs goroutines.
func Run(ctx context.Context, src shardify.Source, pool *shardify.Pool, jobs int, o Options, p *Progress) (*Set, error) {
	parts, total, err := split(ctx, src)
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
	if err := r.read(ctx, r.whole, first.spans[:1]); err != nil {
		return nil, err
	}
	first.first += first.spans[0].Samples()
	first.spans = first.spans[1:]
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(max(jobs, 1))
	for i := range parts {
		if each.Err() != nil {
			break
		}
		empty := r.whole.Part(parts[i].first)
		g.Go(func() error {
			if err := r.read(each, empty, parts[i].spans); err != nil {
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

// part is spans that one goroutine reads.
type part struct {
	spans []shardify.Span
	first int64 // number of its first sample
}

// split cuts the source's spans into parts; a run stays whole.
func split(ctx context.Context, src shardify.Source) (parts []part, total int64, err error) {
	var bytes int64
	for s, err := range src.Spans(ctx, spanBytes) {
		if err != nil {
			return nil, 0, err
		}
		if s.Samples() == 0 {
			continue
		}
		last := len(parts) - 1
		goesOn := last >= 0 && s.Run > 0 && s.Run == parts[last].spans[len(parts[last].spans)-1].Run
		if last < 0 || bytes >= partBytes && !goesOn {
			parts, bytes = append(parts, part{first: total}), 0
			last++
		}
		parts[last].spans = append(parts[last].spans, s)
		bytes += s.Bytes
		total += s.Samples()
	}
	return parts, total, ctx.Err()
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
func (r *run) read(ctx context.Context, s *Set, spans []shardify.Span) (err error) {
	var reader shardify.Reader
	var at uint32
	defer func() {
		if reader != nil {
			reader.Close()
		}
	}()
	for _, span := range spans {
		if reader == nil || at != span.Run {
			if reader != nil {
				reader.Close()
			}
			if reader, err = r.src.Reader(span.Run); err != nil {
				reader = nil
				return err
			}
			at = span.Run
		}
		if err := r.span(ctx, reader, s, span); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) span(ctx context.Context, reader shardify.Reader, s *Set, span shardify.Span) error {
	mem, err := r.pool.Grant(ctx, span.Bytes+span.Bytes/4+span.Samples()*8+int64(len(s.fields)+2)*4096)
	if err != nil {
		return context.Cause(ctx)
	}
	defer mem.Release()
	b, err := reader.Read(ctx, span, mem)
	if err != nil {
		return err
	}
	if int64(b.Samples) != span.Samples() {
		return fmt.Errorf("reader gave %d samples for span [%d, %d)", b.Samples, span.Lo, span.Hi)
	}
	if err := s.Add(b); err != nil {
		return err
	}
	r.progress.Samples.Add(span.Samples())
	r.progress.Bytes.Add(span.Bytes)
	return nil
}
