package gpuload

import (
	"context"
	"time"

	"github.com/shardify/shardify"
)

// scrubber compares the checksums of shards with their data beside the reading of
// TierStream, which sees no tensor whole: each shard once in a Loader's life, shared
// out to the ranks, and no faster than a fraction of what is delivered.
type scrubber struct {
	set         *shardSet
	rank, world int
	next        int   // shard
	used        int64 // bytes read so far
	delivered   func() int64
}

const (
	// scrubShare is the part of the delivered bytes that may be read for checks.
	scrubShare = 8
	// scrubAhead is what may be read before anything was delivered.
	scrubAhead = 64 << 20
	// scrubWhole is the size of a set up to which it is checked before it is used: the
	// blink of an eye.
	scrubWhole = 64 << 20
)

// run checks one shard after the other. It returns nil when ctx ends, and goes on
// there when it is called again.
func (c *scrubber) run(ctx context.Context) error {
	for ; c.next < len(c.set.shards); c.next++ {
		sh := c.set.shards[c.next]
		if c.next%c.world != c.rank || sh.record.Samples == 0 {
			continue
		}
		err := c.shard(ctx, sh)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return shardify.Annotate(err, "verify", sh.path, "")
		}
	}
	return nil
}

func (c *scrubber) shard(ctx context.Context, sh *shard) error {
	h, err := c.set.acquire(sh)
	if err != nil {
		return err
	}
	defer c.set.release(h)
	return h.check(&paced{scrubber: c, ctx: ctx, h: h})
}

// paced reads a shard no faster than it may.
type paced struct {
	*scrubber
	ctx context.Context
	h   *openShard
}

// ReadAt reads when it may, outside of the statistics.
func (r *paced) ReadAt(b []byte, at int64) (int, error) {
	for r.used > scrubAhead+r.delivered()/scrubShare {
		select {
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	r.used += int64(len(b))
	return r.h.file.ReadAt(b, at)
}
