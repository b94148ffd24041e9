package gpuload

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// pinned is the wanted columns of the whole set in memory, read once.
type pinned struct {
	table  *table
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
	if err := l.tell(nil, p.table); err != nil {
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
		if sh.tar != nil {
			return shardify.Annotate(checkTar(h), "verify", sh.path, "")
		}
		for t := range s.layout.Tensors {
			if err := p.verifyTensor(s, h, t); err != nil {
				return shardify.Annotate(err, "verify", sh.path, s.layout.Tensors[t].Name)
			}
		}
		return nil
	})
}

func (p *pinned) verifyTensor(s *shardSet, h *openShard, i int) error {
	place, spec := &h.tensors[i], &s.layout.Tensors[i]
	if spec.Lead == index.LeadOffsets || spec.Lead == index.LeadLists {
		return s.checkOffsets(h, place)
	}
	lo, hi := p.table.span(i, h.lo, h.lo+h.record.Samples)
	if hi-lo != place.count {
		return shardify.Corrupt(place.lo, "%d rows, the header says %d", hi-lo, place.count)
	}
	if crc := index.CRC32C(0, p.table.part(i, lo, hi)); crc != place.crc {
		return shardify.Corrupt(place.lo, "crc32c is %08x, stored %08x", crc, place.crc)
	}
	return nil
}

// checkOffsets reads an offsets tensor once more.
func (s *shardSet) checkOffsets(h *openShard, p *place) error {
	buf := make([]byte, min(1<<20, max(p.count*8, 1)))
	crc := uint32(0)
	for at, end := p.lo, p.lo+p.count*8; at < end; {
		b := buf[:min(int64(len(buf)), end-at)]
		if err := s.read(h, b, at); err != nil {
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
