package convert

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/convert/shuffle"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
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
	// Record completes the manifest of a set in store, or of a split; root is the folder of all. It may be nil.
	Record func(ctx context.Context, p *plan.Plan, root, store storage.Store, m *index.Manifest) error
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

// why replaces the bare news that ctx was cancelled by the cause.
func why(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
