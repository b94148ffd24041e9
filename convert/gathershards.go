package convert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"golang.org/x/sync/errgroup"
)

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
	if err == nil {
		err = j.flush(ctx)
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
	files *lent
	list  []*fragment
	sums  [][]int64 // with shards of exact numbers: by split, samples before each bucket
}

func (s *fragmentSet) close() {
	for _, f := range s.list {
		f.blob.Close()
	}
	s.files.close()
}

// Waiting is the error of a task of a global shuffle that cannot go on before others
// have scattered their samples.
type Waiting struct{ Portions []int }

func (w *Waiting) Error() string {
	what := "portions are"
	if len(w.Portions) == 1 {
		what = "portion is"
	}
	return fmt.Sprintf("%d %s not scattered yet: %s: %s", len(w.Portions), what, Ranges(w.Portions), ErrIncomplete.Error())
}

// Unwrap is ErrIncomplete.
func (w *Waiting) Unwrap() error { return ErrIncomplete }

// fragments opens all fragments, or tells which are missing.
func (j *Job) fragments(ctx context.Context) (*fragmentSet, error) {
	p := j.Plan
	s := &fragmentSet{files: newLent(j.scratch(), openFragments())}
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
		f, err := openFragment(s.files, r.Fragment.Name)
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
	post := j.posts.open()
	defer j.posts.close(post)
	post.at(atGathering, shard)
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
			post.at(atWriting, shard)
			defer post.at(atGathering, shard)
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
	post.at(atPublishing, shard)
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
	j.Progress.Made.Add(1)
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

// toldOrWaiting is told, which a missing receipt makes Waiting.
func (j *Job) toldOrWaiting(i int) (*Receipt, error) {
	r, err := j.told(i)
	if errors.Is(err, errNotExist) {
		err = &Waiting{Portions: []int{i}}
	}
	return r, err
}

// collectScatter adds what the first stage has to tell, and compares the samples that
// went in with those that came out.
func (j *Job) collectScatter(ctx context.Context, m *collected, all *proofs) error {
	p := j.Plan
	want := make([]int64, max(len(p.SplitNames()), 1))
	err := inOrder(ctx, len(p.Shards), j.toldOrWaiting, func(_ int, r *Receipt) error {
		all.add(r.Proofs...)
		r.Splits, r.Shard = nil, shardify.Shard{}
		m.receipt(p, r)
		for k := range want {
			want[k] += r.Written[k]
		}
		return nil
	})
	if err != nil {
		return err
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
