package convert

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/shardify/shardify"
)

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
