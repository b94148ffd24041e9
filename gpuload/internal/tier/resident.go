package tier

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
)

// groupBytes is what is read at a time on its way to TierDevice.
const groupBytes = 64 << 20

// resident fills a table whose fields of fixed size live on a device. Samples pass
// through two tables in host memory, one being copied while the other is read.
type resident struct {
	*Pinned
	set    *load.Shards
	dev    device.GPU
	load   load.Reader
	passes [2]*load.Table
	// sums are the running checksums of the current shard, by tensor.
	sums []uint32
}

// fillDevice reads everything and checks it.
func (p *Pinned) fillDevice(ctx context.Context, s *load.Shards, c *load.Crew) (err error) {
	r := &resident{Pinned: p, set: s, dev: p.Dev.(device.GPU), load: load.Reader{Shards: s, Crew: c}, sums: make([]uint32, len(s.Layout.Tensors))}
	if err := r.reserve(); err != nil {
		return err
	}
	for i := range r.passes {
		r.passes[i] = load.NewTable(s.Layout, p.Dev, p.Table.Used)
		defer r.passes[i].Close()
	}
	s.Begin()
	if err := r.groups(ctx); err != nil {
		return err
	}
	if err := r.dev.Stored(ctx, p.Table); err != nil {
		return err
	}
	p.filled.Store(true)
	s.Drop()
	return nil
}

// reserve makes the table one of all samples, with empty lists.
func (r *resident) reserve() error {
	t := r.Table
	if err := t.Reset(r.set.Starts[len(r.set.Starts)-1]); err != nil {
		return err
	}
	for i := range t.Layout.Tensors {
		if t.Layout.Tensors[i].Lead == index.LeadLists {
			if err := t.Extend(i, 1); err != nil {
				return err
			}
			clear(t.Bytes(i))
		}
	}
	if t.Device != nil { // of an attempt before
		return nil
	}
	return r.dev.Reserve(t)
}

// groups reads all samples in order, so many at a time.
func (r *resident) groups(ctx context.Context) error {
	var runs []load.Run
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
	for _, sh := range r.set.Shards {
		count := sh.Record.Samples
		each := max(sh.Record.Bytes/max(count, 1), 1)
		step := max(pieceBytes/each, 1)
		for lo := int64(0); lo < count; lo += step {
			hi := min(lo+step, count)
			runs = append(runs, load.Run{Sh: sh, Lo: lo, Hi: hi, Row: rows})
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

func (r *resident) group(ctx context.Context, t *load.Table, at, rows int64, runs []load.Run) error {
	if err := r.load.Load(ctx, t, rows, runs); err != nil {
		return err
	}
	if r.set.Verify == load.VerifyWhole {
		if err := r.check(t, runs); err != nil {
			return err
		}
	}
	// Once the group before is on the device, the next one may take its memory.
	if err := r.dev.Stored(ctx, r.Table); err != nil {
		return err
	}
	if err := r.dev.Store(r.Table, t, []device.CopyRun{{Lo: 0, Hi: rows, Row: at}}); err != nil {
		return err
	}
	return r.append(t, at)
}

// check continues with the checksums of the runs' shards.
func (r *resident) check(t *load.Table, runs []load.Run) error {
	for _, run := range runs {
		if run.Lo == 0 {
			clear(r.sums)
		}
		if !run.Sh.Whole() {
			for i := range t.Layout.Tensors {
				lo, hi := t.Span(i, run.Row, run.Row+run.Hi-run.Lo)
				r.sums[i] = index.CRC32C(r.sums[i], t.Part(i, lo, hi))
			}
		}
		if run.Hi == run.Sh.Record.Samples {
			if err := r.compare(run.Sh); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare checks the checksums of a shard that was read to its end against its header.
// Offsets, which memory has in another form, are read again.
func (r *resident) compare(sh *load.Shard) error {
	if sh.Checked() {
		return nil
	}
	h, err := r.set.Acquire(sh)
	if err != nil {
		return err
	}
	defer r.set.Release(h)
	return shardify.Annotate(h.CheckRead(func(i int) (uint32, int64) { return r.sums[i], h.Mmap.Counts[h.Tensors[i]] }), "verify", sh.Path, "")
}

// append copies what the device does not hold behind the samples before.
func (r *resident) append(from *load.Table, at int64) error {
	t := r.Table
	for i := range t.Layout.Tensors {
		if t.Layout.Tensors[i].Lead == index.LeadOffsets {
			appendOffsets(t.Int64s(i)[at:at+from.Rows+1], from.Int64s(i))
		}
	}
	for i := range t.Layout.Tensors {
		spec := &t.Layout.Tensors[i]
		switch {
		case spec.Lead == index.LeadSamples && !t.Absent[i]:
			copy(t.Part(i, at, at+from.Rows), from.Bytes(i))
		case spec.Lead == index.LeadLists:
			n, m := t.Counts[i], from.Counts[i]-1
			if err := t.Extend(i, n+m); err != nil {
				return err
			}
			appendOffsets(t.Int64s(i)[n-1:n+m], from.Int64s(i))
		case spec.Lead == index.LeadElements:
			n, m := t.Counts[i], from.Counts[i]
			if err := t.Extend(i, n+m); err != nil {
				return err
			}
			copy(t.Part(i, n, n+m), from.Bytes(i))
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

// parts is how many parts of the set are looked at to find those that are drawn from most.
const parts = 1024

// MostDrawn is from where on n of some samples are drawn most, divisible by unit.
func MostDrawn(o *order.Order, weights []float64, samples, n, unit int64) int64 {
	var sums [parts + 1]float64
	each := (samples/parts/unit + 1) * unit
	for i := range o.Items() {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		sums[o.Item(i)/each+1] += w
	}
	for k := range parts {
		sums[k+1] += sums[k]
	}
	at := func(row int64) float64 { // drawn below it
		k := min(row/each, parts-1)
		return sums[k] + (sums[k+1]-sums[k])*float64(row-k*each)/float64(each)
	}
	best, most := int64(0), at(n)
	for lo := each; lo+n <= samples; lo += each {
		if w := at(lo+n) - at(lo); w > most {
			best, most = lo, w
		}
	}
	return best
}
