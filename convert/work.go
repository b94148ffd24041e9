package convert

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/convert/internal/shuffle"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// ErrStopped is the cause of a context that was cancelled on request: what was
// published stays, and the same command goes on.
var ErrStopped = errors.New("stopped on request")

// ErrIncomplete: some shards have no receipt yet.
var ErrIncomplete = errors.New("not complete")

// Job is a plan with what it takes to carry it out.
type Job struct {
	Plan   *plan.Plan
	Source shardify.Source
	Sink   format.Output
	Store  storage.Store
	Pool   *shardify.Pool // memory for samples on their way; nil is one of 256 MiB
	Jobs   int            // units at once; 0 means GOMAXPROCS
	// Memory is what all of the job should take. A sample of more than twice that is an
	// error, unless it passes in pieces; 0 means no bound.
	Memory int64
	// Compile compiles the plan's operations again; nil without operations.
	Compile flow.Compile
	// IgnoreTimes takes inputs of another modification time than the plan knows for
	// unchanged.
	IgnoreTimes bool
	// Scratch holds the fragments of a shuffle; nil is a private folder of Store.
	Scratch storage.Store
	// Progress counts what is done; may be read at any time.
	Progress Progress

	activities activities
	left       atomic.Int64    // units of this Work that are not done
	slow       atomic.Bool     // storage was, of late: read ahead
	frame      *shardify.Frame // that the sinks want; nil if none
	flow       *flow.Flow      // what happens to samples

	shuffle *shuffle.Shuffle // nil without
}

// Progress counts the samples and decoded bytes that were read, and the shards that are published:
// of a global shuffle portions are, and Gathers are its shards. Resumed ones count from the start.
type Progress struct {
	Samples, Bytes, Shards, Gathers, Skipped atomic.Int64
	// Resumed is those of Bytes that were done before.
	Resumed atomic.Int64
	// Gathered counts the samples of a global shuffle that are in their shards.
	Gathered atomic.Int64
	// Made counts the shards and fragments that this process has published.
	Made atomic.Int64
}

func (j *Job) jobs() int {
	if j.Jobs > 0 {
		return j.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// readers is the most goroutines that read ahead for one unit: storage that is
// not in memory wants several requests in flight whatever the number of jobs.
func (j *Job) readers() int { return max(2, 4*runtime.GOMAXPROCS(0)/j.jobs()) }

// slow is the time for a mebibyte from which a read is taken to wait for storage
// (or to decode), so that more of them at once are worth their memory. From the
// page cache one reader is ahead of the writer, and eight only push each other's
// data out of the processor's cache.
const slow = 5 * time.Millisecond

// Work does the units that have no receipt yet.
func (j *Job) Work(ctx context.Context, units []int) error {
	if err := j.bind(); err != nil {
		return err
	}
	for _, u := range units {
		if u < 0 || u >= len(j.Plan.Pack.Units) {
			return fmt.Errorf("unit %d of %d", u, len(j.Plan.Pack.Units))
		}
	}
	until(ctx, j.Source, j.Plan.In.Table)
	if err := j.bringTogether(ctx, units); err != nil {
		return why(ctx, err)
	}
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(j.jobs())
	until(each, j.Source, j.Plan.In.Table)
	defer until(ctx, j.Source, j.Plan.In.Table)
	j.left.Store(int64(len(units)))
	if j.Sink.Frame != nil && j.flow.Plain {
		j.frame = j.Sink.Frame(j.Plan.Sample.Schema, j.Plan.Out.Options)
	}
	for _, u := range j.byPart(units) {
		if each.Err() != nil {
			break
		}
		g.Go(func() error {
			return untilProven(each, j.Plan.In.Table, func() error { return j.unit(each, u) })
		})
	}
	err := g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = storage.Flush(ctx, j.Store) // a task that says it is done may be on another machine than merge
	}
	return why(ctx, err)
}

// bringTogether has the source bring together what the units still have to do.
func (j *Job) bringTogether(ctx context.Context, units []int) error {
	c, ok := j.Source.(format.Collector)
	if !ok || c.CollectBytes() == 0 {
		return nil
	}
	var spans []shardify.Span
	for _, u := range units {
		for i := j.Plan.Pack.Units[u].Lo; i < j.Plan.Pack.Units[u].Hi; i++ {
			r, err := j.receipts().portion(i)
			if err != nil {
				return err
			}
			if x := j.Plan.Pack.Shards[i]; r == nil {
				spans = append(spans, j.Plan.Pack.Spans[x.Lo:x.Hi]...)
			}
		}
	}
	if len(spans) == 0 {
		return nil
	}
	return c.Collect(ctx, spans, j.Pool, j.jobs(), j.scratch())
}

// why replaces the bare news that ctx was cancelled by the cause.
func why(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unit does one unit: its shards in order, each published before the next.
func (j *Job) unit(ctx context.Context, u int) error {
	defer j.left.Add(-1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := j.worker()
	w.activity = j.activities.open()
	defer j.activities.close(w.activity)
	spans, release, err := w.todo(ctx, u)
	if err != nil || len(spans) == 0 {
		return err
	}
	defer release()
	defer w.abort()
	err = j.ahead(ctx, spans, w)
	if err != nil {
		return err
	}
	if len(w.shards) > 0 {
		return fmt.Errorf("unit %d: %d shards left without samples", u, len(w.shards))
	}
	return nil
}
