package gpuload

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// groupBytes is what is read at a time on its way to TierDevice.
const groupBytes = 64 << 20

// resident fills a table whose fields of fixed size live on a device. Samples pass
// through two tables in host memory, one being copied while the other is read.
type resident struct {
	*pinned
	set    *shardSet
	dev    gpu
	load   loader
	passes [2]*table
	// sums are the running checksums of the shard at hand, by tensor.
	sums []uint32
}

// fillDevice reads everything and checks it.
func (p *pinned) fillDevice(ctx context.Context, s *shardSet, c *crew) (err error) {
	r := &resident{pinned: p, set: s, dev: p.dev.(gpu), load: loader{shardSet: s, crew: c}, sums: make([]uint32, len(s.layout.Tensors))}
	if err := r.reserve(); err != nil {
		return err
	}
	for i := range r.passes {
		r.passes[i] = newTable(s.layout, p.dev, p.table.used)
		defer r.passes[i].close()
	}
	if err := r.groups(ctx); err != nil {
		return err
	}
	if err := r.dev.stored(ctx, p.table); err != nil {
		return err
	}
	p.filled = true
	return nil
}

// reserve makes the table one of all samples, with empty lists.
func (r *resident) reserve() error {
	t := r.table
	if err := t.reset(r.set.starts[len(r.set.starts)-1]); err != nil {
		return err
	}
	for i := range t.layout.Tensors {
		if t.layout.Tensors[i].Lead == index.LeadLists {
			if err := t.extend(i, 1); err != nil {
				return err
			}
			clear(t.bytes(i))
		}
	}
	if t.device != nil { // of an attempt before
		return nil
	}
	return r.dev.reserve(t)
}

// groups reads all samples in order, so many at a time.
func (r *resident) groups(ctx context.Context) error {
	var runs []run
	at, rows, bytes, n := int64(0), int64(0), int64(0), 0
	flush := func() error {
		if rows == 0 {
			return nil
		}
		t := r.passes[n%2]
		n++
		if err := r.group(ctx, t, at, rows, runs); err != nil {
			return err
		}
		runs, at, rows, bytes = runs[:0], at+rows, 0, 0
		return nil
	}
	for _, sh := range r.set.shards {
		count := sh.record.Samples
		each := max(sh.record.Bytes/max(count, 1), 1)
		step := max(pieceBytes/each, 1)
		for lo := int64(0); lo < count; lo += step {
			hi := min(lo+step, count)
			runs = append(runs, run{sh, lo, hi, rows})
			rows, bytes = rows+hi-lo, bytes+(hi-lo)*each
			if bytes >= groupBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
	}
	return flush()
}

func (r *resident) group(ctx context.Context, t *table, at, rows int64, runs []run) error {
	if err := r.load.load(ctx, t, rows, runs); err != nil {
		return err
	}
	if r.set.verify == VerifyWhole {
		if err := r.check(t, runs); err != nil {
			return err
		}
	}
	// Once the group before is on the device, the next one may take its memory.
	if err := r.dev.stored(ctx, r.table); err != nil {
		return err
	}
	if err := r.dev.store(r.table, t, []copyRun{{0, rows, at}}); err != nil {
		return err
	}
	return r.append(t, at)
}

// check goes on with the checksums of the runs' shards.
func (r *resident) check(t *table, runs []run) error {
	for _, run := range runs {
		if run.lo == 0 {
			clear(r.sums)
		}
		if run.sh.tar == nil {
			for i := range t.layout.Tensors {
				lo, hi := t.span(i, run.row, run.row+run.hi-run.lo)
				r.sums[i] = index.CRC32C(r.sums[i], t.part(i, lo, hi))
			}
		}
		if run.hi == run.sh.record.Samples {
			if err := r.compare(run.sh); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare holds the checksums of a shard that was read to its end against its header;
// offsets, which memory has in another form, are read once more.
func (r *resident) compare(sh *shard) error {
	h, err := r.set.acquire(sh)
	if err != nil {
		return err
	}
	defer r.set.release(h)
	return shardify.Annotate(h.checkRead(func(i int) (uint32, int64) { return r.sums[i], h.mmap.Counts[h.tensors[i]] }), "verify", sh.path, "")
}

// append copies what the device does not hold behind the samples before.
func (r *resident) append(from *table, at int64) error {
	t := r.table
	for i := range t.layout.Tensors {
		if t.layout.Tensors[i].Lead == index.LeadOffsets {
			appendOffsets(t.int64s(i)[at:at+from.rows+1], from.int64s(i))
		}
	}
	for i := range t.layout.Tensors {
		spec := &t.layout.Tensors[i]
		switch {
		case spec.Lead == index.LeadSamples && !t.absent[i]:
			copy(t.part(i, at, at+from.rows), from.bytes(i))
		case spec.Lead == index.LeadLists:
			n, m := t.counts[i], from.counts[i]-1
			if err := t.extend(i, n+m); err != nil {
				return err
			}
			appendOffsets(t.int64s(i)[n-1:n+m], from.int64s(i))
		case spec.Lead == index.LeadElements:
			n, m := t.counts[i], from.counts[i]
			if err := t.extend(i, n+m); err != nil {
				return err
			}
			copy(t.part(i, n, n+m), from.bytes(i))
		}
	}
	return nil
}

// appendOffsets adds offsets from 0 on to those before, the last of which to[0] is.
func appendOffsets(to, from []int64) {
	base := to[0]
	for k, v := range from {
		to[k] = base + v
	}
}
