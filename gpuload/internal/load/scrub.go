package load

import (
	"context"
	"time"

	"github.com/shardify/shardify"
)

// Scrubber compares the checksums of shards with their data beside the reading of
// TierStream, which sees no tensor whole: each shard once in a Loader's life, shared
// out to the ranks. It reads at most a fraction of what is delivered, and while batches wait
// for the trainer at most as much as is delivered.
type Scrubber struct {
	Set         *Shards
	Rank, World int
	next        int   // shard
	Used        int64 // bytes read so far
	Delivered   func() int64
	Spare       func() bool // the Loader has nothing to do; nil: not known
}

const (
	// scrubShare is the part of the delivered bytes that may be read for checks.
	scrubShare = 8
	// ScrubAhead is what may be read before anything was delivered.
	ScrubAhead = 64 << 20
	// ScrubWhole is the size of a set up to which it is checked before it is used: the
	// blink of an eye.
	ScrubWhole = 64 << 20
)

// Run checks one shard after the other. It returns nil when ctx ends, and continues
// there when it is called again.
func (c *Scrubber) Run(ctx context.Context) error {
	for ; c.next < len(c.Set.Shards); c.next++ {
		sh := c.Set.Shards[c.next]
		if c.next%c.World != c.Rank || sh.Record.Samples == 0 {
			continue
		}
		err := c.shard(ctx, sh)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return shardify.Annotate(err, "verify", sh.Path, "")
		}
	}
	return nil
}

func (c *Scrubber) shard(ctx context.Context, sh *Shard) error {
	h, err := c.Set.Acquire(sh)
	if err != nil {
		return err
	}
	defer c.Set.Release(h)
	return h.check(&paced{Scrubber: c, ctx: ctx, h: h})
}

// paced reads a shard no faster than it may.
type paced struct {
	*Scrubber
	ctx context.Context
	h   *OpenShard
}

// may reports whether more may be read for checks now.
func (c *Scrubber) may() bool {
	beyond, delivered := c.Used-ScrubAhead, c.Delivered()
	return beyond <= delivered/scrubShare || beyond <= delivered && c.Spare != nil && c.Spare()
}

// ReadAt reads when it may, outside of the statistics.
func (r *paced) ReadAt(b []byte, at int64) (int, error) {
	for !r.may() {
		select {
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	r.Used += int64(len(b))
	return r.h.File.ReadAt(b, at)
}
