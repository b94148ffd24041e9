package convert

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
)

// divider divides spans that are larger than the memory for samples. Those of a run stay in
// their order.
type divider struct {
	limit int64
	last  shardify.Span // what was left of the span that is being divided
	step  int64         // samples of its parts
}

// next returns what to read next: the first span, or a part of it. rest is the remaining spans, in
// the list that was passed.
func (d *divider) next(spans []shardify.Span) (part shardify.Span, rest []shardify.Span) {
	s := spans[0]
	if s != d.last {
		d.step = s.Samples()
		if s.Bytes > d.limit {
			// Three quarters, so that buffers of size classes fit.
			d.step = max(s.Samples()/(4*s.Bytes/3/d.limit+1), 1)
		}
	}
	if s.Samples() <= d.step {
		return s, spans[1:]
	}
	part = plan.Sub(s, s.Lo, s.Lo+d.step)
	d.last = plan.Sub(s, part.Hi, s.Hi)
	spans[0] = d.last
	return part, spans
}
