package convert

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify"
)

// result is a span that was read: a batch in its arena, or why not.
type result struct {
	span  shardify.Span
	batch *shardify.Batch
	mem   *shardify.Arena
	err   error
	ends  int // spans of the plan whose last sample this has
}

// ahead reads the spans of one unit in order and hands each to use. Where that
// pays, spans are read before they are asked for. Memory is granted in span order
// before a read starts, so the batch that use waits for always has its grant and
// nothing can lock up. It returns when every goroutine it started has ended.
func (j *Job) ahead(ctx context.Context, spans []shardify.Span, use func(context.Context, result) error) error {
	spans, err := j.inline(ctx, spans, use)
	if err != nil || len(spans) == 0 {
		return err
	}
	return j.pipelined(ctx, spans, func(r result) error { return use(ctx, r) })
}

// pace counts the reads of a unit, and those that were slow.
type pace struct{ reads, slow atomic.Int64 }

// pipelined reads on goroutines of its own.
func (j *Job) pipelined(ctx context.Context, spans []shardify.Span, use func(result) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	queue := make(chan chan result, j.readers())
	var pace pace
	wg.Add(1)
	go func() {
		defer wg.Done()
		defer close(queue)
		j.produce(ctx, &wg, spans, queue, &pace)
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

// produce grants memory and hands out reads: spans of runs to one reader that
// keeps their order, independent spans to several.
func (j *Job) produce(ctx context.Context, wg *sync.WaitGroup, spans []shardify.Span, queue chan<- chan result, pace *pace) {
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
	post := j.posts.open()
	defer j.posts.close(post)
	parts := divider{limit: j.Pool.Limit()}
	for len(spans) > 0 {
		s, left := parts.next(spans)
		post.set(atGranting, 0, s)
		granted := j.grant(ctx, s)
		granted.ends = len(spans) - len(left)
		spans = left
		post.leave()
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

// streams tells whether a span may bring columns as streams. With skips allowed
// damage must be found before the sink has a part of it.
func (j *Job) streams(s shardify.Span) bool {
	return j.Sink.Streams && j.flow == nil && s.Bytes >= streamFrom && s.Samples() == 1 && j.Plan.OnError != OnErrorSkip
}

// serve reads what it is asked for until the channel is closed.
func (j *Job) serve(ctx context.Context, in <-chan request, pace *pace) {
	l := j.lane()
	defer l.end(j)
	for r := range in {
		if !l.serve(ctx, &r.result) {
			pace.slow.Add(1)
		}
		pace.reads.Add(1)
		r.to <- r.result
	}
}

// grant takes the memory for a span; without it, err says why.
func (j *Job) grant(ctx context.Context, s shardify.Span) result {
	s.Stream = j.streams(s)
	mem, err := j.Pool.Grant(ctx, j.Plan.memory(s)+j.beside(s))
	if err != nil {
		err = context.Cause(ctx)
	}
	return result{span: s, mem: mem, err: err}
}

// lane is the reader of one goroutine, replaced when the run changes.
type lane struct {
	source shardify.Source
	reader shardify.Reader
	run    uint32
	post   *post
	most   int64 // bytes of a sample
	table  *shardify.Table
}

func (j *Job) lane() lane {
	return lane{source: j.Source, post: j.posts.open(), most: j.Plan.MaxSample, table: j.Plan.Table}
}

func (l *lane) end(j *Job) {
	l.close()
	j.posts.close(l.post)
}

// serve reads a granted span and tells whether that was quick.
func (l *lane) serve(ctx context.Context, r *result) bool {
	start := time.Now()
	r.batch, r.err = l.read(ctx, r.span, r.mem)
	return time.Since(start) <= allowed(r.span)
}

// allowed is the longest that a quick read of a span takes.
func allowed(s shardify.Span) time.Duration {
	return slow * time.Duration(1+s.Bytes>>20)
}

func (l *lane) read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.post.set(atReading, 0, s)
	defer l.post.leave()
	b, err := l.once(ctx, s, mem)
	if err != nil {
		return l.retry(ctx, s, mem, err)
	}
	return b, nil
}

func (l *lane) once(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := l.open(s.Run); err != nil {
		return nil, err
	}
	b, err := l.reader.Read(ctx, s, mem)
	if err != nil && l.table != nil {
		err = l.table.LocateIn(err, int(s.Input))
	}
	if err != nil {
		return nil, err
	}
	if int64(b.Samples) != s.Samples() {
		return nil, fmt.Errorf("reader gave %d samples for span [%d, %d)", b.Samples, s.Lo, s.Hi)
	}
	if err := sampleFits(l.most, s, b.Bytes(), l.table); err != nil {
		return nil, err
	}
	return b, nil
}

func (l *lane) open(run uint32) error {
	if l.reader != nil && l.run == run {
		return nil
	}
	l.close()
	r, err := l.source.Reader(run)
	if err != nil {
		return err
	}
	l.reader, l.run = r, run
	return nil
}

func (l *lane) close() {
	if l.reader != nil {
		l.reader.Close()
		l.reader = nil
	}
}

// memory is what a span's buffers may take: its bytes in size classes, the
// offsets, and something for each column.
func (p *Plan) memory(s shardify.Span) int64 {
	return s.Bytes + s.Bytes/4 + s.Samples()*8 + int64(len(p.read())+2)*4096
}
