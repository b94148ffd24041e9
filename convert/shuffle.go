package convert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/store"
	"golang.org/x/sync/errgroup"
)

// A global shuffle has two stages. The units of the plan scatter their samples into
// buckets, a fragment each; when all fragments are there, each shard gathers its
// buckets from all of them and puts the samples in order. A block shuffle does both
// within one shard.

// ScratchDir is where fragments are if no other place is named.
const ScratchDir = store.Private + "/scratch"

const (
	// Buckets are small beside the memory that a set of such a size is likely to get.
	minBucket = 2 << 20
	maxBucket = 64 << 20
	// orderBytes is what it takes to put a sample in order, beside its values.
	orderBytes = 64
	// Portions are large, so that the pieces of a bucket are, but enough for many jobs.
	minPortion = 16 << 20
	maxPortion = 4 << 30
)

// repack makes portions of the spans, as the scattering stage has them, and fixes the
// number of shards and buckets.
func (r *Request) repack(p *Plan) {
	k := packer{p: p, factor: 1}
	if r.Output.SampleBytes != nil {
		k.fixed, k.factor = r.Output.SampleBytes(p.Schema, p.Keyed)
	}
	target := r.ShardSize
	if target <= 0 {
		target = DefaultShardSize(p.OutputBytes)
	}
	fixed, factor := p.growth()
	payload := int64(fixed*float64(p.Samples) + factor*float64(p.DecodedBytes))
	copies := int64(max(p.Copies, 1))
	switch {
	case p.Samples == 0:
		p.Gathers = 0
	case r.ShardSamples > 0:
		p.PerShard = r.ShardSamples
		p.Gathers = int((p.Samples*copies + p.PerShard - 1) / p.PerShard)
	default:
		p.Gathers = int(max((p.OutputBytes+target/2)/max(target, 1), 1))
		p.Gathers = int(min(int64(p.Gathers), p.Samples*copies))
	}
	weight := payload + p.Samples*copies*orderBytes
	bucket := min(max(weight/1024, minBucket), maxBucket)
	p.Buckets = int(max((weight+bucket-1)/bucket, 1))
	k = packer{p: p, factor: 1, target: min(max(p.DecodedBytes/64, minPortion), maxPortion)}
	p.Shards, p.Units = nil, nil
	for lo := 0; lo < len(p.Spans); {
		lo = k.unit(lo)
	}
}

// buckets is how many buckets each split has, and the number of its first one. With
// shards by size, those of one shard follow each other.
func (p *Plan) buckets() (first, count []int) {
	parts := max(len(p.SplitNames()), 1)
	at := 0
	for s := range parts {
		n := p.Buckets
		if p.Split != nil && p.Split.Parts[s].Share > 0 {
			n = int(math.Ceil(float64(n) * p.Split.Parts[s].Share))
		}
		if p.PerShard == 0 && p.Gathers > 0 {
			n = (max(n, 1) + p.Gathers - 1) / p.Gathers * p.Gathers
		}
		n = max(n, 1)
		first, count = append(first, at), append(count, n)
		at += n
	}
	return first, count
}

// scratch is where fragments are.
func (j *Job) scratch() shardify.Store {
	if j.Scratch != nil {
		return j.Scratch
	}
	return below{j.Store, ScratchDir + "/"}
}

func (p *Plan) scatterName(i int) string {
	return fmt.Sprintf("%s/scatter/portion-%06d.json", store.Private+"/receipts", i)
}

// portion is the receipt of the spans that plan entry i has.
func (j *Job) portion(i int) (*Receipt, error) {
	if j.Plan.Shuffle == ShuffleGlobal {
		return j.receiptAt(i, j.Plan.scatterName(i))
	}
	return j.receipt(i)
}

// scattered tells whether the fragment of a receipt is there.
func (j *Job) scattered(r *Receipt) (bool, error) {
	b, err := j.scratch().Open(r.Fragment.Name)
	if errors.Is(err, errNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer b.Close()
	return b.Size() == r.Fragment.Bytes, nil
}

// checkOther is for a receipt that another worker has published first.
func (j *Job) checkOther(r *Receipt) error {
	o, err := j.portion(r.Index)
	if err == nil && (o == nil || o.written() != r.written()) {
		err = fmt.Errorf("portion %d has been done differently meanwhile", r.Index)
	}
	return err
}

// scatter is the outlet of a portion in the first stage.
type scatter struct {
	j     *Job
	h     *hoard
	w     *fragWriter
	keyer *keyer
	name  string
	limit int64
	first []int
	count []int
	// totals counts the samples of each split.
	totals []int64
}

func (j *Job) newScatter(i int) (outlet, error) {
	first, count := j.Plan.buckets()
	return j.scatterTo(fmt.Sprintf("portion-%06d-%016x.fragment", i, rand.Uint64()), first, count)
}

func (j *Job) scatterTo(name string, first, count []int) (*scatter, error) {
	k := j.flow.keyer
	l := j.layout()
	h := j.hoards.get(&l)
	return &scatter{j: j, h: h, keyer: &k, name: name, limit: j.hoardBytes(), first: first, count: count, totals: make([]int64, len(first))}, nil
}

// hoardBytes is what one unit may keep before it writes a round; buffers may have half
// as much again in reserve.
func (j *Job) hoardBytes() int64 { return max(j.memory/int64(3*j.jobs()), 256<<10) }

func (s *scatter) write(split int, b *shardify.Batch, _ *shardify.Arena) error {
	s.totals[split] += int64(b.Samples)
	if err := s.h.add(split, b, s.keyer); err != nil {
		return err
	}
	if s.h.bytes() >= s.limit {
		return s.round()
	}
	return nil
}

// round writes what is kept.
func (s *scatter) round() error {
	if s.w == nil {
		out, err := s.j.scratch().Create(s.name)
		if err != nil {
			return err
		}
		s.w = &fragWriter{l: s.j.layout(), out: out, n: s.first[len(s.first)-1] + s.count[len(s.count)-1]}
	}
	err := s.w.round(s.h, func(i int) int {
		split := s.h.split[i]
		b, _ := bucketOf(s.h.keys[i], s.count[split])
		return s.first[split] + b
	}, s.j.Pool)
	s.h.reset()
	return err
}

func (s *scatter) commit(ctx context.Context, r *Receipt) error {
	if err := s.round(); err != nil {
		return err
	}
	n, err := s.w.commit(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(s.totals, r.Written) {
		return fmt.Errorf("portion %d: %v samples for the fragment, %v handed on", r.Index, s.totals, r.Written)
	}
	r.Fragment = &shardify.File{Name: s.name, Bytes: n}
	s.j.hoards.put(s.h)
	s.h = nil
	return nil
}

func (s *scatter) abort() {
	if s.w != nil {
		s.w.out.Abort()
	}
	s.j.hoards.put(s.h)
	s.h = nil
}

// hoards are kept for the next portion: their memory is the dearest part of them.
type hoards struct {
	mu   sync.Mutex
	free []*hoard
}

func (h *hoards) get(l *layout) *hoard {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.free); n > 0 {
		x := h.free[n-1]
		h.free = h.free[:n-1]
		return x
	}
	return newHoard(l)
}

func (h *hoards) put(x *hoard) {
	if x == nil {
		return
	}
	x.reset()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free = append(h.free, x)
}

// drop frees the memory.
func (h *hoards) drop() { h.mu.Lock(); defer h.mu.Unlock(); h.free = nil }

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

// Gather does the shards of a global shuffle that have no receipt yet. Every portion
// must have been scattered.
func (j *Job) Gather(ctx context.Context, shards []int) error {
	if err := j.bind(); err != nil {
		return err
	}
	j.hoards.drop()
	todo, err := j.ungathered(ctx, shards)
	if err != nil || len(todo) == 0 {
		return err
	}
	all, err := j.fragments(ctx)
	if err != nil {
		return err
	}
	defer all.close()
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(j.jobs())
	for _, i := range todo {
		if each.Err() != nil {
			break
		}
		g.Go(func() error { return j.gather(each, all, i) })
	}
	err = g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return why(ctx, errors.Join(err, j.discard(all.list)))
}

// discard removes fragments that were found damaged.
func (j *Job) discard(list []*fragment) error {
	for _, f := range list {
		if !f.damaged.Load() {
			continue
		}
		if err := j.scratch().Remove(f.name); err != nil {
			return err
		}
	}
	return nil
}

// ungathered are the shards without a receipt.
func (j *Job) ungathered(ctx context.Context, shards []int) (todo []int, err error) {
	for _, i := range shards {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := j.receipt(i)
		if err != nil {
			return nil, err
		}
		if r == nil {
			todo = append(todo, i)
			continue
		}
		j.Progress.Shards.Add(1)
	}
	return todo, nil
}

// fragmentSet is all fragments of a shuffle.
type fragmentSet struct {
	list []*fragment
	sums [][]int64 // with shards of exact numbers: by split, samples before each bucket
}

func (s *fragmentSet) close() {
	for _, f := range s.list {
		f.blob.Close()
	}
}

// Waiting is the error of a task of a global shuffle that cannot go on before others
// have scattered their samples.
type Waiting struct{ Portions []int }

func (w *Waiting) Error() string {
	what := "portions are"
	if len(w.Portions) == 1 {
		what = "portion is"
	}
	return fmt.Sprintf("%d %s not scattered yet: %s: %s", len(w.Portions), what, ranges(w.Portions), ErrIncomplete.Error())
}

// Unwrap is ErrIncomplete.
func (w *Waiting) Unwrap() error { return ErrIncomplete }

// fragments opens all fragments, or tells which are missing.
func (j *Job) fragments(ctx context.Context) (*fragmentSet, error) {
	p := j.Plan
	s := &fragmentSet{}
	first, count := p.buckets()
	n := first[len(first)-1] + count[len(count)-1]
	var missing []int
	for i := range p.Shards {
		if ctx.Err() != nil {
			s.close()
			return nil, context.Cause(ctx)
		}
		r, err := j.portion(i)
		if err != nil {
			s.close()
			return nil, err
		}
		if r == nil {
			missing = append(missing, i)
			continue
		}
		f, err := openFragment(j.scratch(), r.Fragment.Name)
		if err != nil {
			s.close()
			if errors.Is(err, shardify.ErrCorrupt) {
				err = errors.Join(err, j.scratch().Remove(r.Fragment.Name))
			}
			return nil, err
		}
		s.list = append(s.list, f)
		if f.n != n {
			f.damaged.Store(true)
			s.close()
			if err := j.discard(s.list); err != nil {
				return nil, err
			}
			return nil, shardify.Annotate(shardify.Corrupt(-1, "%d buckets, the plan has %d", f.n, n), "read", f.name, "")
		}
	}
	var err error
	if len(missing) > 0 {
		err = &Waiting{missing}
	} else if p.PerShard > 0 {
		err = s.count(first, count, n)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// count finds out which ranks the buckets have.
func (s *fragmentSet) count(first, count []int, n int) error {
	sum := make([]int64, n)
	for _, f := range s.list {
		if err := f.counts(sum); err != nil {
			return err
		}
	}
	for k := range first {
		before := make([]int64, count[k]+1)
		for b := range count[k] {
			before[b+1] = before[b] + sum[first[k]+b]
		}
		s.sums = append(s.sums, before)
	}
	return nil
}

// gather makes one shard of each split.
func (j *Job) gather(ctx context.Context, all *fragmentSet, shard int) error {
	out := j.newSinks(shard)
	defer out.abort()
	g := j.gatherer()
	first, count := j.Plan.buckets()
	written := make([]int64, len(first))
	cuts := make([]shardCut, len(first))
	out.samples = make([]int64, len(first))
	for split := range first {
		var err error
		if cuts[split], err = j.cutOf(all, shard, split, first[split], count[split]); err != nil {
			return err
		}
		out.samples[split] = cuts[split].samples
	}
	for split, c := range cuts {
		emit := func(b *shardify.Batch, mem *shardify.Arena) error {
			written[split] += int64(b.Samples)
			j.Progress.Gathered.Add(int64(b.Samples))
			return out.write(split, b, mem)
		}
		for b := c.lo; b < c.hi; b++ {
			a, z := int64(0), int64(math.MaxInt64)
			if all.sums != nil {
				a, z = c.from-all.sums[split][b], c.to-all.sums[split][b]
			}
			if err := g.bucket(ctx, all.list, first[split]+b, count[split], a, z, emit); err != nil {
				return err
			}
		}
	}
	r := &Receipt{Plan: j.Plan.Digest(), Index: shard}
	if j.Plan.Split != nil {
		r.Written = written
	}
	if err := out.commit(ctx, r); err != nil {
		return err
	}
	if err := r.wrote(written); err != nil {
		return err
	}
	r.Read = r.written()
	if err := j.publish(ctx, r); err != nil {
		return err
	}
	j.Progress.Shards.Add(1)
	return nil
}

// shardCut is what a shard has of a split: samples from the buckets [lo, hi), and with
// shards of exact numbers those of ranks [from, to).
type shardCut struct {
	lo, hi   int
	from, to int64
	samples  int64
}

func (j *Job) cutOf(all *fragmentSet, shard, split, first, count int) (c shardCut, err error) {
	if all.sums == nil {
		n := count / j.Plan.Gathers
		c.lo, c.hi = shard*n, (shard+1)*n
		var list []piece
		for b := c.lo; b < c.hi; b++ {
			list = list[:0]
			for _, f := range all.list {
				if list, err = f.pieces(list, first+b); err != nil {
					return c, err
				}
			}
			for _, p := range list {
				c.samples += int64(p.rows)
			}
		}
		return c, nil
	}
	sums := all.sums[split]
	c.from = int64(shard) * j.Plan.PerShard
	c.to = min(c.from+j.Plan.PerShard, sums[count])
	if c.from >= c.to {
		return c, nil
	}
	c.lo, _ = slices.BinarySearch(sums, c.from+1)
	c.hi, _ = slices.BinarySearch(sums, c.to)
	c.lo--
	c.samples = c.to - c.from
	return c, nil
}

// collectScatter adds what the first stage has to tell, and compares the samples that
// went in with those that came out.
func (j *Job) collectScatter(ctx context.Context, m *collected, all *proofs) error {
	p := j.Plan
	want := make([]int64, max(len(p.SplitNames()), 1))
	for i := range p.Shards {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, err := j.told(i)
		if err != nil {
			return err
		}
		all.add(r.Proofs...)
		r.Splits, r.Shard = nil, shardify.Shard{}
		m.receipt(p, r)
		for k := range want {
			want[k] += r.Written[k]
		}
	}
	have := []int64{m.Samples}
	if p.Split != nil {
		have = nil
		for _, s := range m.splits {
			have = append(have, s.Samples)
		}
	}
	if !slices.Equal(have, want) {
		return fmt.Errorf("%v samples were scattered, %v gathered", want, have)
	}
	return nil
}
