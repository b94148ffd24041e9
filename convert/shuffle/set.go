package shuffle

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/shardify/shardify"
)

// Set is all fragments of a global shuffle.
type Set struct {
	s       *Shuffle
	files   *files
	list    []*fragment
	buckets Buckets
	perCut  int64     // exact samples of a shard, or 0
	cuts    int       // shards
	before  [][]int64 // with exact numbers: by split, samples in front of each bucket
}

// Open begins a set for so many shards of buckets, of exact numbers of samples or 0.
func (s *Shuffle) Open(b Buckets, shards int, exact int64) *Set {
	return &Set{s: s, files: newFiles(s.Scratch, openFragments()), buckets: b, perCut: exact, cuts: shards}
}

// Add opens a fragment. A damaged one is removed, so that the next run rebuilds it.
func (x *Set) Add(name string) error {
	f, err := openFragment(x.files, name)
	if err != nil {
		if errors.Is(err, shardify.ErrCorrupt) {
			err = errors.Join(err, x.s.Scratch.Remove(name))
		}
		return err
	}
	x.list = append(x.list, f)
	if n := x.buckets.Len(); f.n != n {
		err := shardify.Corrupt(-1, "%d buckets, the plan has %d", f.n, n)
		f.failed(err)
		return shardify.Annotate(err, "read", f.name, "")
	}
	return nil
}

// Close closes all fragments and removes those that were found damaged.
func (x *Set) Close() error {
	for _, f := range x.list {
		f.blob.Close()
	}
	x.files.close()
	for _, f := range x.list {
		if !f.damaged.Load() {
			continue
		}
		if err := x.s.Scratch.Remove(f.name); err != nil {
			return err
		}
	}
	return nil
}

// Count finds out which ranks the buckets have, for shards of exact numbers.
func (x *Set) Count() error {
	if x.perCut == 0 {
		return nil
	}
	sum := make([]int64, x.buckets.Len())
	for _, f := range x.list {
		if err := f.counts(sum); err != nil {
			return err
		}
	}
	for k, first := range x.buckets.First {
		before := make([]int64, x.buckets.Count[k]+1)
		for b := range x.buckets.Count[k] {
			before[b+1] = before[b] + sum[first+b]
		}
		x.before = append(x.before, before)
	}
	return nil
}

// Cut is what a shard has of a split: samples from the buckets [lo, hi), and with
// shards of exact numbers those of ranks [from, to).
type Cut struct {
	Samples  int64
	split    int
	lo, hi   int
	from, to int64
}

// Cuts are those of one shard, by split.
func (x *Set) Cuts(shard int) ([]Cut, error) {
	cuts := make([]Cut, len(x.buckets.First))
	for split := range cuts {
		var err error
		if cuts[split], err = x.cut(shard, split); err != nil {
			return nil, err
		}
	}
	return cuts, nil
}

func (x *Set) cut(shard, split int) (Cut, error) {
	c := Cut{split: split}
	first, count := x.buckets.First[split], x.buckets.Count[split]
	if x.before == nil {
		n := count / x.cuts
		c.lo, c.hi = shard*n, (shard+1)*n
		var list []piece
		var err error
		for b := c.lo; b < c.hi; b++ {
			list = list[:0]
			for _, f := range x.list {
				if list, err = f.pieces(list, first+b); err != nil {
					return c, err
				}
			}
			for _, p := range list {
				c.Samples += int64(p.rows)
			}
		}
		return c, nil
	}
	before := x.before[split]
	c.from = int64(shard) * x.perCut
	c.to = min(c.from+x.perCut, before[count])
	if c.from >= c.to {
		return c, nil
	}
	c.lo, _ = slices.BinarySearch(before, c.from+1)
	c.hi, _ = slices.BinarySearch(before, c.to)
	c.lo--
	c.Samples = c.to - c.from
	return c, nil
}

// Gather passes on the samples of a shard, split by split in their order.
func (x *Set) Gather(ctx context.Context, cuts []Cut, emit func(split int, b *shardify.Batch, mem *shardify.Arena) error) error {
	g := x.s.gatherer()
	for _, c := range cuts {
		each := func(b *shardify.Batch, mem *shardify.Arena) error { return emit(c.split, b, mem) }
		for b := c.lo; b < c.hi; b++ {
			lo, hi := int64(0), int64(math.MaxInt64)
			if x.before != nil {
				lo, hi = c.from-x.before[c.split][b], c.to-x.before[c.split][b]
			}
			if err := g.bucket(ctx, x.list, x.buckets.First[c.split]+b, x.buckets.Count[c.split], lo, hi, each); err != nil {
				return err
			}
		}
	}
	return nil
}
