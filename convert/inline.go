package convert

import (
	"context"
	"runtime"

	"github.com/shardify/shardify"
)

// inline reads spans on the goroutine that uses them, as long as every core has a
// unit to work on and reads are quick: what is read is then written before it
// leaves the core's cache, and nobody is woken. It returns what it leaves to do,
// in the list that it was given.
func (j *Job) inline(ctx context.Context, spans []shardify.Span, use func(context.Context, result) error) (rest []shardify.Span, err error) {
	l := j.lane()
	defer l.end(j)
	parts := divider{limit: j.Pool.Limit()}
	slow := 0 // reads in a row; one alone may be another process's doing
	for len(spans) > 0 {
		if slow > 1 {
			j.slow.Store(true)
		}
		if spans[0].Run > 0 || j.slow.Load() || !j.busy() {
			return spans, nil
		}
		part, rest := parts.next(spans)
		l.post.set(atGranting, 0, part)
		r := j.grant(ctx, part)
		l.post.leave()
		if r.err != nil {
			return nil, r.err
		}
		r.ends = len(spans) - len(rest)
		spans = rest
		if l.serve(ctx, &r) {
			slow = 0
		} else {
			slow++
		}
		err = use(ctx, r)
		r.mem.Release()
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// busy tells whether the units in work are enough for all cores.
func (j *Job) busy() bool {
	cores := runtime.GOMAXPROCS(0)
	return j.jobs() >= cores && j.left.Load() >= int64(cores)
}
