package convert

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
)

// result is a span that was read: a batch in its arena, or why not.
type result struct {
	span  shardify.Span
	batch *shardify.Batch
	mem   *shardify.Arena
	err   error
	ends  int // spans of the plan whose last sample this has
}

// ahead reads the spans of one unit in order and hands each to w. Where that
// pays, spans are read before they are asked for. Memory is granted in span order
// before a read starts, so the batch that w waits for always has its grant and
// nothing can lock up. It returns when every goroutine it started has ended.
func (j *Job) ahead(ctx context.Context, spans []shardify.Span, w *worker) error {
	spans, err := j.inline(ctx, spans, w)
	if err != nil || len(spans) == 0 {
		return err
	}
	return j.pipelined(ctx, spans, func(r result) error { return w.use(ctx, r) })
}

// quick is how many spans are in memory while reads are quick: one that is written, one that waits
// and one that is read. More only push each other's data out of the processor's cache.
const quick = 3

// pace counts the reads of a unit, and those that were slow.
type pace struct{ reads, slow atomic.Int64 }

// pipelined reads on goroutines of its own.
func (j *Job) pipelined(ctx context.Context, spans []shardify.Span, use func(result) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	queue := make(chan chan result, j.readers())
	places := make(chan struct{}, cap(queue)+quick)
	for range quick {
		places <- struct{}{}
	}
	var pace pace
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer close(queue)
		j.produce(ctx, &wg, spans, queue, places, &pace)
	}()
	var failed error
	done := 0
	for ch := range queue {
		r := <-ch
		switch {
		case failed != nil: // drain, so that all memory comes back
		case r.mem == nil:
			failed = r.err
		default:
			failed = use(r)
			done += r.ends
		}
		if r.mem != nil {
			r.mem.Release()
		}
		places <- struct{}{}
		if failed != nil {
			cancel(failed)
		}
	}
	wg.Wait()
	cancel(nil)
	j.slow.Store(4*pace.slow.Load() > pace.reads.Load())
	if failed == nil && ctx.Err() != nil && done < len(spans) {
		failed = context.Cause(ctx)
	}
	if failed == nil && done != len(spans) {
		failed = fmt.Errorf("read %d of %d spans", done, len(spans))
	}
	return failed
}

// request is a granted span on its way to a reader.
type request struct {
	result
	to chan result
}

// produce grants memory and distributes reads: spans of runs to one reader that
// keeps their order, independent spans to several.
func (j *Job) produce(ctx context.Context, wg *sync.WaitGroup, spans []shardify.Span, queue chan<- chan result, places chan struct{}, pace *pace) {
	free := make(chan request)
	ordered := make(chan request, cap(queue))
	defer close(free)
	defer close(ordered)
	serve := func(in <-chan request) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			j.serve(ctx, in, pace)
		}()
	}
	readers, inOrder := 0, false
	activity := j.activities.open()
	defer j.activities.close(activity)
	parts := divider{limit: j.Pool.Limit()}
	for more := cap(queue); len(spans) > 0; {
		for ; more > 0 && (j.slow.Load() || pace.slow.Load() > 0); more-- {
			places <- struct{}{}
		}
		<-places // a span that was used gave it back
		s, left := parts.next(spans)
		s.Frame = j.framed(s)
		activity.set(atGranting, 0, s)
		granted := j.grant(ctx, s)
		granted.ends = len(spans) - len(left)
		spans = left
		activity.leave()
		err := granted.err
		to := make(chan result, 1)
		r := request{granted, to}
		queue <- to // the consumer drains until the channel is closed
		switch {
		case err != nil:
			to <- r.result
			return
		case s.Run > 0:
			if !inOrder {
				serve(ordered)
				inOrder = true
			}
			ordered <- r
		case readers == 0 || readers < j.readers() && pace.slow.Load() > 0:
			select {
			case free <- r:
			default:
				serve(free)
				readers++
				free <- r
			}
		default:
			free <- r
		}
	}
}

// streamFrom is the size of a sample that is passed on in pieces where reader and
// sink can: fresh memory for it costs more than reading it.
const streamFrom = 8 << 20

// streams reports whether a span may bring columns as streams. With skips allowed
// damage must be found before the sink has a part of it.
func (j *Job) streams(s shardify.Span) bool {
	return j.Sink.Streams && j.flow.Plain && s.Bytes >= streamFrom && s.Samples() == 1 && j.Plan.OnError != plan.OnErrorSkip
}

// serve reads what it is asked for until the channel is closed.
func (j *Job) serve(ctx context.Context, in <-chan request, pace *pace) {
	l := j.spanReader()
	defer l.end(j)
	for r := range in {
		if l.serve(ctx, &r.result) > allowed(r.span) {
			pace.slow.Add(1)
		}
		pace.reads.Add(1)
		r.to <- r.result
	}
}

// grant takes the memory for a span; without it, err says why.
func (j *Job) grant(ctx context.Context, s shardify.Span) result {
	s.Stream = j.streams(s)
	mem, err := j.Pool.Grant(ctx, memoryOf(j.Plan, s)+j.operationMemory(s))
	if err != nil {
		err = context.Cause(ctx)
	}
	return result{span: s, mem: mem, err: err}
}

// framed is the frame for a span, if its values are large enough to be worth the
// room around them.
func (j *Job) framed(s shardify.Span) *shardify.Frame {
	if f := j.frame; f != nil && s.Bytes >= 2*f.Overhead()*s.Samples() {
		return f
	}
	return nil
}

// memoryOf is what a span's buffers may take: its bytes in size classes, the
// offsets, and something for each column.
func memoryOf(p *plan.Plan, s shardify.Span) int64 {
	if s.Frame != nil {
		s.Bytes += int64(s.Frame.Lead) + s.Frame.Overhead()*s.Samples()
	}
	return s.Bytes + s.Bytes/4 + s.Samples()*8 + int64(len(p.Sample.SourceSchema())+2)*4096
}
