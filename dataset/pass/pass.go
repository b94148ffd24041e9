// Package pass reads all samples of a source once, in parts that may be read side by side.
package pass

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
)

const (
	spanBytes = 1 << 20
	// partBytes is the decoded size from which spans are a part of their own. It is a
	// constant, so that figures do not depend on jobs.
	partBytes = 32 << 20
)

// Part is spans that one goroutine reads.
type Part struct {
	Spans []shardify.Span
	First int64 // number of its first sample
}

// Split cuts the source's spans into parts; a run stays whole.
func Split(ctx context.Context, src shardify.Source) (parts []Part, total int64, err error) {
	var bytes int64
	for s, err := range src.Spans(ctx, spanBytes) {
		if err != nil {
			return nil, 0, err
		}
		if s.Samples() == 0 {
			continue
		}
		last := len(parts) - 1
		goesOn := last >= 0 && s.Run > 0 && s.Run == parts[last].Spans[len(parts[last].Spans)-1].Run
		if last < 0 || bytes >= partBytes && !goesOn {
			parts, bytes = append(parts, Part{First: total}), 0
			last++
		}
		parts[last].Spans = append(parts[last].Spans, s)
		bytes += s.Bytes
		total += s.Samples()
	}
	return parts, total, ctx.Err()
}

// Read reads spans in their order. Each batch lives as long as do works on it.
func Read(ctx context.Context, src shardify.Source, pool *shardify.Pool, spans []shardify.Span, do func(shardify.Span, *shardify.Batch) error) (err error) {
	var reader shardify.Reader
	var at uint32
	defer func() {
		if reader != nil {
			reader.Close()
		}
	}()
	fields := int64(len(src.Schema()))
	for _, span := range spans {
		if reader == nil || at != span.Run {
			if reader != nil {
				reader.Close()
			}
			if reader, err = src.Reader(span.Run); err != nil {
				reader = nil
				return err
			}
			at = span.Run
		}
		if err := one(ctx, reader, pool, span, fields, do); err != nil {
			return err
		}
	}
	return nil
}

func one(ctx context.Context, reader shardify.Reader, pool *shardify.Pool, span shardify.Span, fields int64, do func(shardify.Span, *shardify.Batch) error) error {
	mem, err := pool.Grant(ctx, span.Bytes+span.Bytes/4+span.Samples()*8+(fields+2)*4096)
	if err != nil {
		return context.Cause(ctx)
	}
	defer mem.Release()
	b, err := reader.Read(ctx, span, mem)
	if err != nil {
		return err
	}
	if int64(b.Samples) != span.Samples() {
		return fmt.Errorf("reader gave %d samples for span [%d, %d)", b.Samples, span.Lo, span.Hi)
	}
	return do(span, b)
}
