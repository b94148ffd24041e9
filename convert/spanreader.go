package convert

import (
	"context"
	"fmt"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
)

// spanReader is the reader of one goroutine, replaced when the run changes.
type spanReader struct {
	source   shardify.Source
	reader   shardify.Reader
	run      uint32
	activity *activity
	most     int64 // bytes of a sample
	memory   int64 // see Job.Memory
	table    *format.Table
}

func (j *Job) spanReader() spanReader {
	l := bareReader(j)
	l.activity = j.activities.open()
	return l
}

// bareReader is one that no status shows.
func bareReader(j *Job) spanReader {
	return spanReader{source: j.Source, most: j.Plan.Local.MaxSample, memory: j.Memory, table: j.Plan.In.Table}
}

func (l *spanReader) end(j *Job) {
	l.close()
	j.activities.close(l.activity)
}

// serve reads a granted span and returns how long that took.
func (l *spanReader) serve(ctx context.Context, r *result) time.Duration {
	start := time.Now()
	r.batch, r.err = l.read(ctx, r.span, r.mem)
	return time.Since(start)
}

// allowed is the longest that a quick read of a span takes. Parts of a span have
// their share of it: storage that is slow in small pieces is slow.
func allowed(s shardify.Span) time.Duration {
	if s.Frame != nil && s.Bytes < plan.SpanBytes {
		return max(2*slow*time.Duration(s.Bytes)/plan.SpanBytes, time.Millisecond)
	}
	return slow * time.Duration(1+s.Bytes>>20)
}

func (l *spanReader) read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	l.activity.set(atReading, 0, s)
	defer l.activity.leave()
	b, err := l.once(ctx, s, mem)
	if err != nil {
		return l.retry(ctx, s, mem, err)
	}
	return b, nil
}

func (l *spanReader) once(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := l.open(s.Run); err != nil {
		return nil, err
	}
	if err := l.memoryFits(s); err != nil {
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

func (l *spanReader) open(run uint32) error {
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

func (l *spanReader) close() {
	if l.reader != nil {
		l.reader.Close()
		l.reader = nil
	}
}
