package set

import (
	"context"
	"iter"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
)

// Spans implements shardify.Source: equal parts of each input, moved to the nearest
// border. All spans are of run 0.
func (s *Set) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		c := cutter{files: &s.found.Files, oversize: s.of.Oversize, target: max(target, 1), yield: yield}
		for i := range c.files.List {
			if err := context.Cause(ctx); err != nil {
				yield(shardify.Span{}, err)
				return
			}
			if !c.cut(ctx, &c.files.List[i]) {
				return
			}
		}
	}
}

// cutter yields the spans of files.
type cutter struct {
	files            *Files
	oversize, target int64
	yield            func(shardify.Span, error) bool
}

// cut yields the spans of one file; false means stop.
func (c *cutter) cut(ctx context.Context, f *File) bool {
	if f.Samples == 0 {
		return true
	}
	u := units{walk: newWalk(c.files.borders.list[f.borders]), cutter: c, file: f}
	pieces := min(divUp(c.files.bytes(f, f.Samples), c.target), f.Samples)
	lo := int64(0)
	for k := int64(1); k < pieces; k++ {
		hi := u.nearest(part(f.Samples, k, pieces), lo)
		if hi >= f.Samples {
			break
		}
		if hi <= lo {
			continue
		}
		if !c.yield(c.files.span(f, lo, hi), nil) {
			return false
		}
		lo = hi
		// Pieces that end before lo are done; k of them may be many.
		k = max(k, rows.MulDiv(lo, pieces, f.Samples)-1)
		if err := context.Cause(ctx); err != nil {
			c.yield(shardify.Span{}, err)
			return false
		}
	}
	return c.yield(c.files.span(f, lo, f.Samples), nil)
}

// units are the borders of a file, with those inside units that are too large.
type units struct {
	walk
	*cutter
	file *File
}

// nearest is the border behind lo that is nearest to at; lo itself if no border is behind it up to
// at.
func (u *units) nearest(at, lo int64) int64 {
	if at <= lo {
		return lo
	}
	a, b := u.around(at, u.file.Samples)
	if u.inside > 0 {
		if n := u.files.bytes(u.file, b-a); n/u.oversize >= u.target {
			step := divUp(divUp(b-a, divUp(n, u.target)), u.inside)
			step = rows.SatMul(step, u.inside)
			a += (at - a) / step * step
			b = min(b, rows.SatAdd(a, step))
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
