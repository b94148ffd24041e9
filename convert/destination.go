package convert

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/convert/shuffle"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
)

// destination takes the samples of one shard of the plan, split by split.
type destination interface {
	// write takes samples in order; b is valid during the call, and what it needs more
	// lives in mem.
	write(split int, b *shardify.Batch, mem *shardify.Arena) error
	// commit publishes what was written and fills in the receipt.
	commit(ctx context.Context, r *plan.Receipt) error
	abort()
}

// sinks is an outlet with a shard for each split, made with its first sample.
type sinks struct {
	j     *Job
	shard int
	list  []shardify.Sink // nil before the first sample
	wrote []int64         // samples
	// samples of each shard, if known before the first one: sinks then write in place what they
	// would otherwise buffer until its size is known.
	samples   []int64
	packs     []flow.Packing // by split, where sequences are made; nil before the first sample
	documents []int64        // that they were given
}

func (j *Job) newSinks(shard int) *sinks {
	n := len(j.flow.Splits)
	return &sinks{j: j, shard: shard, list: make([]shardify.Sink, n), wrote: make([]int64, n), packs: make([]flow.Packing, n), documents: make([]int64, n)}
}

// sink is that of a split.
func (k *sinks) sink(split int) (shardify.Sink, error) {
	if k.list[split] != nil {
		return k.list[split], nil
	}
	p := k.j.Plan
	spec := format.ShardSpec{
		Name: p.Names().InSplit(split, k.shard), Schema: p.Sample.Schema, Samples: p.Expected(k.shard),
		Exact: k.j.flow.Plain && p.OnError != plan.OnErrorSkip, Keyed: p.Sample.Keyed, Options: p.Out.Options,
	}
	if k.samples != nil && k.j.flow.Packer == nil {
		spec.Samples, spec.Exact = k.samples[split], true
	} else if spec.Exact && !p.Pack.InParts() {
		spec.Items = k.items(p.Pack.Spans[p.Pack.Shards[k.shard].Lo:p.Pack.Shards[k.shard].Hi])
	}
	s, err := k.j.Sink.New(k.j.Store, spec)
	if err == nil {
		k.list[split] = s
	}
	return s, err
}

// items are those of lists in the spans of a shard, as far as the source knows.
func (k *sinks) items(spans []shardify.Span) map[string]int64 {
	c, ok := k.j.Source.(format.ItemCounter)
	if !ok {
		return nil
	}
	items := map[string]int64{}
	for _, s := range spans {
		counter, n, ok := c.Items(s)
		if !ok {
			return nil
		}
		items[counter] += n
	}
	return items
}

func (k *sinks) write(split int, b *shardify.Batch, mem *shardify.Arena) error {
	if k.j.flow.Packer == nil {
		return k.put(split, b, mem)
	}
	p := k.packs[split]
	if p == nil {
		p = k.j.flow.Packer.New(k.j.Store, k.j.Pool, func(b *shardify.Batch, mem *shardify.Arena) error { return k.put(split, b, mem) })
		k.packs[split] = p
	}
	k.documents[split] += int64(b.Samples)
	return p.Add(b)
}

// pack makes the last sequences, and records what became of the samples.
func (k *sinks) pack(r *plan.Receipt) error {
	if k.j.flow.Packer == nil {
		return nil
	}
	r.Documents = k.documents
	for _, p := range k.packs {
		if p == nil {
			continue
		}
		if err := p.End(); err != nil {
			return err
		}
		for _, c := range p.Counts() {
			if c.N > 0 {
				r.Counts = flow.AddCounts(r.Counts, c)
			}
		}
	}
	return k.closePacks()
}

func (k *sinks) closePacks() (err error) {
	for i, p := range k.packs {
		if p != nil {
			err = errors.Join(err, p.Close())
			k.packs[i] = nil
		}
	}
	return err
}

// put hands samples to the sink of their split.
func (k *sinks) put(split int, b *shardify.Batch, mem *shardify.Arena) error {
	s, err := k.sink(split)
	if err != nil {
		return err
	}
	if !k.j.flow.Plain {
		if b, err = k.finished(split, b, mem); err != nil {
			return err
		}
	}
	k.wrote[split] += int64(b.Samples)
	return s.Write(b)
}

func (k *sinks) commit(ctx context.Context, r *plan.Receipt) error {
	if err := k.pack(r); err != nil {
		return err
	}
	shards := make([]shardify.Shard, len(k.list))
	for i, s := range k.list {
		var err error
		switch {
		case s == nil:
		case k.wrote[i] == 0: // opened for samples that could not be read
			err = s.Abort()
		default:
			shards[i], err = s.Commit(ctx)
		}
		if err != nil {
			return err
		}
	}
	if k.j.Plan.Splits.Rule == nil {
		r.Shard = shards[0]
	} else {
		r.Splits = shards
	}
	return nil
}

func (k *sinks) abort() {
	k.closePacks()
	for _, s := range k.list {
		if s != nil {
			s.Abort()
		}
	}
}

// finished is a batch as sinks see it: with its origins, and with names that distinguish copies.
func (k *sinks) finished(split int, b *shardify.Batch, mem *shardify.Arena) (*shardify.Batch, error) {
	out := *b
	out.Counts, out.Proofs = nil, nil
	if k.j.Plan.Asked.Provenance {
		origins(&out, k.j.Plan.Sample.Schema[len(k.j.Plan.Sample.Schema)-1], mem)
	}
	if k.j.flow.Times[split] > 1 && out.Keys != nil {
		copyKeys(&out, mem)
	}
	if err := out.Match(k.j.Plan.Sample.Schema); err != nil {
		return nil, fmt.Errorf("after the operations: %w", err)
	}
	return &out, nil
}

// copyKeys names each copy KEY-cCOPY, the first one too: every name has such an end
// then, and no two samples share one, whatever they were called. The copy is then part
// of the name and no longer of the ID.
func copyKeys(b *shardify.Batch, mem *shardify.Arena) {
	const most = 7 // "-c65535"
	old := b.Keys
	keys := *old
	n := len(old.Data) + most*b.Samples
	data := mem.Alloc(n)[:0]
	offsets := mem.Int64s(b.Samples + 1)
	offsets[0] = 0
	ids := make([]shardify.ID, b.Samples)
	for i := range b.Samples {
		ids[i] = b.ID(i)
		data = copyKey(append(data, b.Key(i)...), int(ids[i].Copy))
		offsets[i+1] = int64(len(data))
		ids[i].Copy = 0
	}
	keys.Data, keys.Offsets = data, [][]int64{offsets}
	b.Keys, b.IDs = &keys, ids
}

// scattering is the outlet of a portion of a global shuffle.
type scattering struct{ *shuffle.Scatter }

// fragmentName returns a name that no other worker uses.
func fragmentName(of string, i int) string {
	return fmt.Sprintf("%s-%06d-%016x%s", of, i, rand.Uint64(), plan.FragmentSuffix)
}

func (s *scattering) write(split int, b *shardify.Batch, _ *shardify.Arena) error {
	return s.Write(split, b)
}

func (s *scattering) commit(ctx context.Context, r *plan.Receipt) error {
	f, err := s.Commit(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(s.Totals, r.Written) {
		return fmt.Errorf("portion %d: %v samples for the fragment, %v handed on", r.Index, s.Totals, r.Written)
	}
	r.Fragment = &f
	return nil
}

func (s *scattering) abort() { s.Abort() }

// sorting is the outlet of a shard whose samples are put in order by themselves.
type sorting struct {
	scattering
	j     *Job
	shard int
}

func (s *sorting) commit(ctx context.Context, r *plan.Receipt) error {
	out := s.j.newSinks(s.shard)
	out.samples = s.Totals
	defer out.abort()
	if err := s.Drain(ctx, out.write); err != nil {
		return err
	}
	return out.commit(ctx, r)
}

func buckets(first, count []int) shuffle.Buckets { return shuffle.Buckets{First: first, Count: count} }

// destination is where the samples of portion i of the plan go.
func (j *Job) destination(i int) destination {
	switch j.Plan.Order.Shuffle {
	case plan.ShuffleGlobal:
		return &scattering{j.shuffle.Scatter(fragmentName("portion", i), buckets(j.Plan.Order.BucketsOf(&j.Plan.Splits)))}
	case plan.ShuffleBlock:
		return &sorting{scattering{j.shuffle.Scatter(fragmentName("shard", i), buckets(j.Plan.Pack.ShardBuckets(i, &j.Plan.Splits)))}, j, i}
	}
	return j.newSinks(i)
}

// copyKey appends the end of a copy's name.
func copyKey(dst []byte, copy int) []byte {
	return strconv.AppendUint(append(dst, "-c"...), uint64(copy), 10)
}
