// Package glance reads a few samples of a source, spread over all, for facts that are reported
// before all are read.
package glance

import (
	"context"

	"github.com/shardify/shardify"
)

const (
	mostBytes = 32 << 20 // decoded
	spanBytes = 8 << 20
	maxSpans  = 1 << 20
	together  = 4        // samples that follow each other: cheap where pages are decoded whole
	mostSpans = 64 << 20 // bytes of the spans they are from, which may be decoded whole, too
)

// Spread is the first samples of spans that may be read in any order, n in all, evenly over all.
func Spread(ctx context.Context, src shardify.Source, n int) (out []shardify.Span) {
	list := spans(ctx, src, n/together)
	var whole, bytes int64
	for i, s := range list {
		if whole += s.Bytes; whole > mostSpans {
			list = evenly(list, max(i, 1))
			break
		}
	}
	each := int64(n / max(len(list), 1))
	for _, s := range list {
		size := s.Bytes/s.Samples() + 1
		some := min(each, s.Samples(), (mostBytes-bytes)/size)
		if some < 1 {
			return out
		}
		bytes += some * size
		s.Hi, s.Bytes = s.Lo+some, some*size
		out = append(out, s)
	}
	return out
}

// First is the first samples of the first span, at most n, where all are to be read in order.
func First(ctx context.Context, src shardify.Source, n int) []shardify.Span {
	for s, err := range src.Spans(ctx, spanBytes) {
		if err != nil {
			break
		}
		if s.Samples() == 0 {
			continue
		}
		size := s.Bytes/s.Samples() + 1
		some := min(int64(n), s.Samples(), mostBytes/size)
		if s.Hi, s.Bytes = s.Lo+some, some*size; some < 1 {
			break
		}
		return []shardify.Span{s}
	}
	return nil
}

// spans is at most as many spans as wanted, evenly over all.
func spans(ctx context.Context, src shardify.Source, most int) (list []shardify.Span) {
	every, n := 1, 0
	for s, err := range src.Spans(ctx, spanBytes) {
		if n++; err != nil || ctx.Err() != nil || n > maxSpans {
			break
		}
		if s.Run != 0 || s.Samples() == 0 || (n-1)%every != 0 {
			continue
		}
		if list = append(list, s); len(list) == 2*most {
			for i := range most {
				list[i] = list[2*i]
			}
			list, every = list[:most], 2*every
		}
	}
	return evenly(list, min(most, len(list)))
}

// evenly is n of a list.
func evenly(list []shardify.Span, n int) []shardify.Span {
	for i := range n {
		list[i] = list[i*len(list)/n]
	}
	return list[:n]
}

// Read reads a span; b is nil if it cannot be.
func Read(ctx context.Context, r shardify.Reader, s shardify.Span) (b *shardify.Batch, done func()) {
	mem, err := shardify.NewPool(mostBytes).Grant(ctx, s.Bytes)
	if err != nil {
		return nil, func() {}
	}
	if b, err = r.Read(ctx, s, mem); err != nil || b.Check() != nil {
		b = nil
	}
	return b, mem.Release
}
