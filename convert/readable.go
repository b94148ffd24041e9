package convert

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
)

// Readable reports whether any of a few samples from all over the inputs can be read: whether
// leaving out damage would leave something. It is called after an error. A plan in parts has many
// inputs, of which others are good.
func (j *Job) Readable(ctx context.Context) bool {
	p := j.Plan
	if p.Pack.InParts() || j.Source == nil {
		return true
	}
	const tries = 8
	step := max(len(p.Pack.Spans)/tries, 1)
	for i := 0; i < len(p.Pack.Spans); i += step {
		s := p.Pack.Spans[i]
		if s.Run == 0 && (j.readable(ctx, plan.Sub(s, s.Lo, s.Lo+1)) || j.readable(ctx, plan.Sub(s, s.Hi-1, s.Hi))) {
			return true
		}
		if s.Run > 0 && j.readable(ctx, s) {
			return true
		}
	}
	return false
}

func (j *Job) readable(ctx context.Context, s shardify.Span) bool {
	l := bareReader(j)
	defer l.close()
	mem := j.Pool.Overdraft()
	defer mem.Release()
	_, err := l.read(ctx, s, mem)
	return err == nil
}
