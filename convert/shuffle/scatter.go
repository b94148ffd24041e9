package shuffle

import (
	"context"
	"math"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Shuffle is what the workers of one job share.
type Shuffle struct {
	Layout Layout
	Keyer  *Keyer
	// Bucket appends the bucket of each sample, where that is not what Keyer says; nil without.
	Bucket  func(dst []uint64, b *shardify.Batch) ([]uint64, error)
	Scratch storage.Store // of fragments
	Pool    *shardify.Pool
	// Keep is how many bytes one worker may keep before it writes a round. Buffers may have
	// half as much again in reserve.
	Keep int64

	mu   sync.Mutex
	free []*buffer // their memory is what costs most about them
}

// Buckets says where the buckets of each split begin, and how many there are.
type Buckets struct{ First, Count []int }

// Len is the number of all buckets.
func (b Buckets) Len() int {
	last := len(b.First) - 1
	return b.First[last] + b.Count[last]
}

// Scatter collects samples in buckets: in memory, and in a fragment once there are too many.
type Scatter struct {
	// Totals counts the samples of each split.
	Totals []int64

	s       *Shuffle
	kept    *buffer
	out     *fragWriter
	name    string
	buckets Buckets
}

// Scatter begins a fragment of that name.
func (s *Shuffle) Scatter(name string, b Buckets) *Scatter {
	return &Scatter{Totals: make([]int64, len(b.First)), s: s, kept: s.buffer(), name: name, buckets: b}
}

// Write adds samples of a split.
func (x *Scatter) Write(split int, b *shardify.Batch) error {
	x.Totals[split] += int64(b.Samples)
	if err := x.kept.add(split, b, x.s); err != nil {
		return err
	}
	if x.kept.bytes() >= x.s.Keep {
		return x.round()
	}
	return nil
}

// round writes what is kept.
func (x *Scatter) round() error {
	if x.out == nil {
		out, err := x.s.Scratch.Create(x.name)
		if err != nil {
			return err
		}
		x.out = &fragWriter{l: x.s.Layout, out: out, n: x.buckets.Len()}
	}
	err := x.out.round(x.kept, func(i int) int {
		split := x.kept.split[i]
		if x.s.Bucket != nil {
			return x.buckets.First[split] + int(x.kept.keys[i])
		}
		b, _ := bucketOf(x.kept.keys[i], x.buckets.Count[split])
		return x.buckets.First[split] + b
	}, x.s.Pool)
	x.kept.reset()
	return err
}

// Commit publishes the fragment.
func (x *Scatter) Commit(ctx context.Context) (shardify.File, error) {
	if err := x.round(); err != nil {
		return shardify.File{}, err
	}
	n, err := x.out.commit(ctx)
	if err != nil {
		return shardify.File{}, err
	}
	x.putBack()
	return shardify.File{Name: x.name, Bytes: n}, nil
}

// Abort gives up the fragment; after Commit or Drain it does nothing.
func (x *Scatter) Abort() {
	if x.out != nil {
		x.out.out.Abort()
	}
	x.putBack()
}

// Drain passes on the samples of each split in their order, instead of Commit. What did
// not fit in memory goes through a fragment, which is removed again.
func (x *Scatter) Drain(ctx context.Context, emit func(split int, b *shardify.Batch, mem *shardify.Arena) error) error {
	each := func(split int) Emit {
		return func(b *shardify.Batch, mem *shardify.Arena) error { return emit(split, b, mem) }
	}
	g := x.s.gatherer()
	if x.out == nil {
		for split := range x.buckets.First {
			if err := g.emit(&x.kept.b, x.kept.sorted(split), 0, math.MaxInt64, each(split)); err != nil {
				return err
			}
		}
		x.putBack()
		return nil
	}
	if _, err := x.Commit(ctx); err != nil {
		return err
	}
	defer x.s.Scratch.Remove(x.name)
	f, err := openFragment(x.s.Scratch, x.name)
	if err != nil {
		return err
	}
	defer f.blob.Close()
	g.inside = true
	for split, first := range x.buckets.First {
		for i := range x.buckets.Count[split] {
			if err := g.bucket(ctx, []*fragment{f}, first+i, x.buckets.Count[split], 0, math.MaxInt64, each(split)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *Scatter) putBack() {
	if x.kept != nil {
		x.s.put(x.kept)
		x.kept = nil
	}
}

// buffer is a buffer, one that was used before if there is any.
func (s *Shuffle) buffer() *buffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		return b
	}
	return newBuffer(&s.Layout)
}

func (s *Shuffle) put(b *buffer) {
	b.reset()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, b)
}

// Drop frees the buffers that are not in use.
func (s *Shuffle) Drop() { s.mu.Lock(); defer s.mu.Unlock(); s.free = nil }
