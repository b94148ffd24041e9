package tier

import (
	"context"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
)

// Pinned is the wanted columns of the whole set in memory, read once.
type Pinned struct {
	Table  *load.Table
	Dev    device.Device
	filled atomic.Bool
	// Rows [Lo, Hi) of Kept tensors are copied to the device, where there is no room for all.
	Lo, Hi int64
	Kept   []bool
}

// pieceBytes is the size of the reads that fill it.
const pieceBytes = 4 << 20

// Filled reports whether samples can come from it.
func (p *Pinned) Filled() bool { return p.filled.Load() }

// Fill reads everything, several pieces at once, and checks it.
func (p *Pinned) Fill(ctx context.Context, s *load.Shards, c *load.Crew) error {
	if p.Table.Absent != nil {
		return p.fillDevice(ctx, s, c)
	}
	var runs []load.Run
	for _, sh := range s.Shards {
		n := sh.Record.Samples
		step := max(pieceBytes/max(sh.Record.Bytes/max(n, 1), 1), 1)
		for lo := int64(0); lo < n; lo += step {
			runs = append(runs, load.Run{Sh: sh, Lo: lo, Hi: min(lo+step, n), Row: sh.Lo + lo})
		}
	}
	s.Begin()
	l := load.Reader{Shards: s, Crew: c}
	if err := l.Load(ctx, p.Table, s.Starts[len(s.Starts)-1], runs); err != nil {
		return err
	}
	if s.Verify == load.VerifyWhole {
		if err := p.verify(ctx, s, c); err != nil {
			return err
		}
	}
	if err := announce(p.Dev, nil, p.Table); err != nil {
		return err
	}
	if p.Lo < p.Hi {
		if err := p.Dev.(device.GPU).Keep(p.Table, p.Kept, p.Lo, p.Hi); err != nil {
			return err
		}
	}
	p.filled.Store(true)
	s.Drop()
	return nil
}

// verify compares every shard's checksums with what was read: of values in memory,
// of offsets and of tars in the file, since memory holds them in another form.
func (p *Pinned) verify(ctx context.Context, s *load.Shards, c *load.Crew) error {
	return c.Each(len(s.Shards), func(i int) error {
		sh := s.Shards[i]
		if err := ctx.Err(); err != nil || sh.Checked() {
			return err
		}
		h, err := s.Acquire(sh)
		if err != nil {
			return err
		}
		defer s.Release(h)
		return shardify.Annotate(p.verifyShard(h), "verify", sh.Path, "")
	})
}

func (p *Pinned) verifyShard(h *load.OpenShard) error {
	return h.CheckRead(func(i int) (uint32, int64) {
		lo, hi := p.Table.Span(i, h.Lo, h.Lo+h.Record.Samples)
		return index.CRC32C(0, p.Table.Part(i, lo, hi)), hi - lo
	})
}
