package gpuload

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// pinned is the wanted columns of the whole set in memory, read once.
type pinned struct {
	table  *table
	dev    device
	filled bool
}

// pieceBytes is the size of the reads that fill it.
const pieceBytes = 4 << 20

// fill reads everything, several pieces at once, and checks it.
func (p *pinned) fill(ctx context.Context, s *shardSet, c *crew) error {
	if p.table.absent != nil {
		return p.fillDevice(ctx, s, c)
	}
	var runs []run
	for _, sh := range s.shards {
		n := sh.record.Samples
		step := max(pieceBytes/max(sh.record.Bytes/max(n, 1), 1), 1)
		for lo := int64(0); lo < n; lo += step {
			runs = append(runs, run{sh, lo, min(lo+step, n), sh.lo + lo})
		}
	}
	l := loader{shardSet: s, crew: c}
	if err := l.load(ctx, p.table, s.starts[len(s.starts)-1], runs); err != nil {
		return err
	}
	if s.verify == VerifyWhole {
		if err := p.verify(ctx, s, c); err != nil {
			return err
		}
	}
	if err := tell(p.dev, nil, p.table); err != nil {
		return err
	}
	p.filled = true
	return nil
}

// verify compares every shard's checksums with what was read: of values in memory,
// of offsets and of tars in the file, since memory holds them in another form.
func (p *pinned) verify(ctx context.Context, s *shardSet, c *crew) error {
	return c.each(len(s.shards), func(i int) error {
		sh := s.shards[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := s.acquire(sh)
		if err != nil {
			return err
		}
		defer s.release(h)
		return shardify.Annotate(p.verifyShard(h), "verify", sh.path, "")
	})
}

func (p *pinned) verifyShard(h *openShard) error {
	return h.checkRead(func(i int) (uint32, int64) {
		lo, hi := p.table.span(i, h.lo, h.lo+h.record.Samples)
		return index.CRC32C(0, p.table.part(i, lo, hi)), hi - lo
	})
}
