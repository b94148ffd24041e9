package rows

import (
	"context"
	"iter"
	"math"
	"math/bits"

	"github.com/shardify/shardify"
)

// Spans implements shardify.Source: equal parts of each input, moved to the nearest
// border. All spans are of run 0.
func (s *Set) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for i := range s.entries {
			if err := context.Cause(ctx); err != nil {
				yield(shardify.Span{}, err)
				return
			}
			if !s.cut(ctx, &s.entries[i], max(target, 1), yield) {
				return
			}
		}
	}
}

// cut yields the spans of one input; false means stop.
func (s *Set) cut(ctx context.Context, e *entry, target int64, yield func(shardify.Span, error) bool) bool {
	if e.samples == 0 {
		return true
	}
	u := units{borders: newBorders(s.borders[e.borders]), set: s, entry: e, target: target}
	pieces := min(divUp(s.bytes(e, e.samples), target), e.samples)
	lo := int64(0)
	for k := int64(1); k < pieces; k++ {
		hi := u.nearest(part(e.samples, k, pieces), lo)
		if hi >= e.samples {
			break
		}
		if hi <= lo {
			continue
		}
		if !yield(s.span(e, lo, hi), nil) {
			return false
		}
		lo = hi
		// Pieces that end before lo are done; k of them may be many.
		k = max(k, mulDiv(lo, pieces, e.samples)-1)
		if err := context.Cause(ctx); err != nil {
			yield(shardify.Span{}, err)
			return false
		}
	}
	return yield(s.span(e, lo, e.samples), nil)
}

func (s *Set) span(e *entry, lo, hi int64) shardify.Span {
	first := s.parts.first(e)
	return shardify.Span{Input: e.input, Lo: first + lo, Hi: first + hi, Bytes: s.bytes(e, hi-lo)}
}

// bytes estimates n samples of an input in a batch. It is at least n, so that
// samples of no bytes are cut too.
func (s *Set) bytes(e *entry, n int64) int64 {
	return max(n, satAdd(satMul(s.layouts[e.layout].fixed, n), mulDiv(e.jagged, n, max(e.samples, 1))))
}

// units are the borders of an input, with those inside units that are too large.
type units struct {
	borders
	set    *Set
	entry  *entry
	target int64
}

// nearest is the border behind lo that is nearest to at; lo itself if no border is behind it up to
// at.
func (u *units) nearest(at, lo int64) int64 {
	if at <= lo {
		return lo
	}
	a, b := u.around(at, u.entry.samples)
	if u.inside > 0 {
		if n := u.set.bytes(u.entry, b-a); n/u.set.oversize >= u.target {
			step := divUp(divUp(b-a, divUp(n, u.target)), u.inside)
			step = satMul(step, u.inside)
			a += (at - a) / step * step
			b = min(b, satAdd(a, step))
		}
	}
	if a > lo && at-a <= b-at {
		return a
	}
	return b
}

// part is where piece k of n samples in equal pieces begins.
func part(n, k, pieces int64) int64 { return n/pieces*k + min(k, n%pieces) }

func divUp(a, b int64) int64 { return a/b + min(a%b, 1) }

// mulDiv is a*b/c, all of them not negative, or the largest number.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}

func satMul(a, b int64) int64 {
	if hi, lo := bits.Mul64(uint64(a), uint64(b)); hi == 0 && lo <= math.MaxInt64 {
		return int64(lo)
	}
	return math.MaxInt64
}

func satAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
