package convert

import (
	"context"
	"runtime"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/plan"
)

// inline reads spans on the goroutine that uses them, as long as every core has a unit to work on
// and reads are quick, not counting the time that other processes took the core: what is read is
// then written before it leaves the core's cache, and no other goroutine has to wake up. It returns
// the spans that remain, in the list that was passed.
func (j *Job) inline(ctx context.Context, spans []shardify.Span, w *worker) (rest []shardify.Span, err error) {
	l := j.spanReader()
	defer l.end(j)
	parts := divider{limit: j.Pool.Limit()}
	queue := host.OpenQueue()
	defer queue.Close()
	slow := 0 // reads in a row; one alone may be another process's doing
	for len(spans) > 0 {
		if slow > 1 {
			j.slow.Store(true)
		}
		if spans[0].Run > 0 || j.slow.Load() || !j.busy() {
			return spans, nil
		}
		part, rest, err := j.part(&l, &parts, spans, w)
		if err != nil {
			return nil, err
		}
		l.activity.set(atGranting, 0, part)
		r := j.grant(ctx, part)
		l.activity.leave()
		if r.err != nil {
			return nil, r.err
		}
		r.ends = len(spans) - len(rest)
		spans = rest
		before := queue.Waited()
		slow++
		if took, most := l.serve(ctx, &r), allowed(r.span); took <= most || took-(queue.Waited()-before) <= most {
			slow = 0
		}
		err = w.use(ctx, r)
		r.mem.Release()
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// busy reports whether the units in work are enough for all cores.
func (j *Job) busy() bool {
	cores := runtime.GOMAXPROCS(0)
	return j.jobs() >= cores && j.left.Load() >= int64(cores)
}

// part is what to read next: the first span, or as much of it, or of it and those that follow, as
// suits a sink that takes frames. rest is the remaining spans.
func (j *Job) part(l *spanReader, d *divider, spans []shardify.Span, w *worker) (part shardify.Span, rest []shardify.Span, err error) {
	part = spans[0]
	f := j.framed(part)
	if f == nil {
		part, rest = d.next(spans)
		return part, rest, nil
	}
	lead, bytes, most, err := w.next()
	if err != nil {
		return part, nil, err
	}
	frame := *f
	frame.Lead = lead
	part.Frame = &frame
	joined := 1
	for joined < min(most, len(spans)) && part.Bytes < bytes && follows(part, spans[joined]) {
		part.Hi, part.Bytes = spans[joined].Hi, part.Bytes+spans[joined].Bytes
		joined++
	}
	n, err := l.fit(part, bytes)
	if err != nil {
		return part, nil, err
	}
	part.Hi, part.Bytes = part.Lo+n, 0
	for rest = spans; len(rest) > len(spans)-joined && rest[0].Hi <= part.Hi; rest = rest[1:] {
		part.Bytes += rest[0].Bytes
	}
	if len(rest) > len(spans)-joined && rest[0].Lo < part.Hi {
		begun := plan.Sub(rest[0], rest[0].Lo, part.Hi)
		part.Bytes += begun.Bytes
		rest[0].Lo, rest[0].Bytes = part.Hi, rest[0].Bytes-begun.Bytes
	}
	return part, rest, nil
}

func follows(a, b shardify.Span) bool { return b.Lo == a.Hi && b.Input == a.Input && b.Run == a.Run }

// fit is how many samples of a span it takes to fill so many bytes of its frame.
func (l *spanReader) fit(s shardify.Span, bytes int64) (int64, error) {
	if err := l.open(s.Run); err != nil {
		return 0, err
	}
	if f, ok := l.reader.(format.Fitter); ok {
		return min(max(f.Fit(s, bytes), 1), s.Samples()), nil
	}
	// Blocks end half empty on average. A little too much is better than too
	// little: what is short of a piece is copied.
	f := s.Frame
	each := s.Bytes/s.Samples() + f.Overhead() - int64(len(f.Values)*f.Block/2)
	return min(1+(bytes+bytes/16)/each, s.Samples()), nil
}
