package gpuload

import (
	"context"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
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
	buf := make([]byte, 1<<20)
	for ; c.next < len(c.set.shards); c.next++ {
		sh := c.set.shards[c.next]
		if c.next%c.world != c.rank || sh.record.Samples == 0 {
			continue
		}
		err := c.shard(ctx, sh, buf)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return shardify.Annotate(err, "verify", sh.path, "")
		}
	}
	return nil
}

func (c *scrubber) shard(ctx context.Context, sh *shard, buf []byte) error {
	h, err := c.set.acquire(sh)
	if err != nil {
		return err
	}
	defer c.set.release(h)
	r := &paced{scrubber: c, ctx: ctx, h: h}
	if sh.tar != nil {
		return checkTarFrom(r, h)
	}
	for i := range h.tensors {
		if err := checkPlace(r, &h.tensors[i], buf); err != nil {
			return withTensor(err, c.set.layout.Tensors[i].Name)
		}
	}
	return nil
}

// checkPlace compares the checksum of a tensor.
func checkPlace(r *paced, p *place, buf []byte) error {
	crc := uint32(0)
	for at, end := p.lo, p.lo+p.count*p.row; at < end; {
		b := buf[:min(int64(len(buf)), end-at)]
		if _, err := r.ReadAt(b, at); err != nil {
			return err
		}
		crc = index.CRC32C(crc, b)
		at += int64(len(b))
	}
	if crc != p.crc {
		return shardify.Corrupt(p.lo, "crc32c is %08x, stored %08x", crc, p.crc)
	}
	return nil
}

// paced reads a shard no faster than it may.
type paced struct {
	*scrubber
	ctx context.Context
	h   *openShard
}

// ReadAt fills b, or fails.
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
	if err := r.set.fill(r.h, b, at); err != nil {
		return 0, err
	}
	return len(b), nil
}
