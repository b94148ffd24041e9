package convert

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shardify/shardify"
)

// blockOutlet is the outlet of a shard whose samples are put in order.
type blockOutlet struct {
	*scatter
	shard int
}

func (j *Job) newBlock(i int) (outlet, error) {
	p := j.Plan
	var bytes int64
	s := p.Shards[i]
	for _, sp := range p.Spans[s.Lo:s.Hi] {
		bytes += sp.Bytes + sp.Samples()*orderBytes
	}
	n := int(max(bytes/minBucket, 1))
	var first, count []int
	for k := range j.flow.splits {
		first, count = append(first, k*n), append(count, n)
	}
	to, err := j.scatterTo(fmt.Sprintf("shard-%06d-%016x.fragment", i, rand.Uint64()), first, count)
	return &blockOutlet{to, i}, err
}

func (b *blockOutlet) commit(ctx context.Context, r *Receipt) error {
	out := b.j.newSinks(b.shard)
	out.samples = b.totals
	defer out.abort()
	var err error
	if b.w == nil {
		err = b.fromMemory(out)
	} else {
		err = b.fromFragment(ctx, out)
	}
	if err != nil {
		return err
	}
	return out.commit(ctx, r)
}

func (b *blockOutlet) fromMemory(out *sinks) error {
	g := b.j.gatherer()
	for split := range b.j.flow.splits {
		order := b.h.sorted(split)
		err := g.emit(&b.h.b, order, 0, math.MaxInt64, func(x *shardify.Batch, mem *shardify.Arena) error { return out.write(split, x, mem) })
		if err != nil {
			return err
		}
	}
	b.j.hoards.put(b.h)
	b.h = nil
	return nil
}

func (b *blockOutlet) fromFragment(ctx context.Context, out *sinks) error {
	if err := b.round(); err != nil {
		return err
	}
	if _, err := b.w.commit(ctx); err != nil {
		return err
	}
	defer b.j.scratch().Remove(b.name)
	b.j.hoards.put(b.h)
	b.h = nil
	f, err := openFragment(b.j.scratch(), b.name)
	if err != nil {
		return err
	}
	defer f.blob.Close()
	g := b.j.gatherer()
	g.inside = true
	for split, first := range b.first {
		for i := range b.count[split] {
			err := g.bucket(ctx, []*fragment{f}, first+i, b.count[split], 0, math.MaxInt64, func(x *shardify.Batch, mem *shardify.Arena) error { return out.write(split, x, mem) })
			if err != nil {
				return err
			}
		}
	}
	return nil
}
