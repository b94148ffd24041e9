package convert

import (
	"context"
	"runtime"

	"github.com/shardify/shardify"
)

// inline reads spans on the goroutine that uses them, as long as every core has a
// unit to work on and reads are quick: what is read is then written before it
// leaves the core's cache, and nobody is woken. It tells how many spans it did.
func (j *Job) inline(ctx context.Context, spans []shardify.Span, w consumer) (done int, err error) {
	l := lane{source: j.Source}
	defer l.close()
	slow := 0 // reads in a row; one alone may be another process's doing
	for _, s := range spans {
		if slow > 1 {
			j.slow.Store(true)
		}
		if s.Run > 0 || j.slow.Load() || !j.busy() {
			return done, nil
		}
		if err := j.parts(ctx, &l, s, &slow, w); err != nil {
			return done, err
		}
		done++
	}
	return done, nil
}

// busy tells whether the units in work are enough for all cores.
func (j *Job) busy() bool {
	cores := runtime.GOMAXPROCS(0)
	return j.jobs() >= cores && j.left.Load() >= int64(cores)
}

// parts reads and uses one span: whole, or in parts of the size that suits a sink
// that takes frames.
func (j *Job) parts(ctx context.Context, l *lane, s shardify.Span, slow *int, w consumer) error {
	for {
		part, err := j.part(s, w)
		if err != nil {
			return err
		}
		r := j.grant(ctx, part)
		if r.err != nil {
			return r.err
		}
		r.more = part.Hi < s.Hi
		if l.serve(ctx, &r) {
			*slow = 0
		} else {
			*slow++
		}
		err = w.use(ctx, r)
		r.mem.Release()
		if err != nil || !r.more {
			return err
		}
		rest := sub(s, part.Hi, s.Hi)
		rest.Bytes = s.Bytes - part.Bytes
		s = rest
	}
}

// part is what to read next of a span.
func (j *Job) part(s shardify.Span, w consumer) (shardify.Span, error) {
	f := j.framed(s)
	if f == nil {
		return s, nil
	}
	lead, bytes, err := w.next()
	if err != nil {
		return s, err
	}
	frame := *f
	frame.Lead = lead
	// Blocks end half empty on average. A little too much is better than too
	// little: what is short of a piece is copied.
	each := s.Bytes/s.Samples() + f.Overhead() - int64(len(f.Values)*f.Block/2)
	n := 1 + (bytes+bytes/16)/each
	if s.Samples() > n {
		s = sub(s, s.Lo, s.Lo+n)
	}
	s.Frame = &frame
	return s, nil
}
