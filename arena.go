package shardify

import (
	"container/list"
	"context"
	"fmt"
	"math/bits"
	"sync"

	"github.com/shardify/shardify/internal/poison"
)

// Pool is the memory of one conversion: buffers by size class, reused, with one
// limit over all of them. Spans get their share through Grant, in the order of
// the calls.
type Pool struct {
	limit int64

	mu      sync.Mutex
	granted int64      // promised to arenas
	live    list.List  // of *Arena that were granted, oldest first
	scratch int64      // held by readers
	readers int        // that hold any
	rubbish int64      // dropped since garbage was collected last
	waiting list.List  // of *waiter, oldest first
	holding list.List  // of *waiter that want scratch
	free    [][][]byte // by class
	kept    int64      // bytes in free
	used    int64      // bytes in arenas
	peak    int64      // most of used+kept
	spares  []spare    // of released arenas
}

// spare is what a released arena leaves to the next one. The arena itself is never given out again:
// a second release must not release the arena of another caller.
type spare struct {
	bufs    []buffer
	columns []Column
	idents  []ID
}

type waiter struct {
	bytes int64
	arena *Arena // that was granted, or that scratch is wanted for
	ready chan struct{}
}

// NewPool makes a pool of at most limit bytes. One span larger than the limit
// is still granted, alone.
func NewPool(limit int64) *Pool {
	return &Pool{limit: max(limit, 1), free: make([][][]byte, classes)}
}

// Limit is the limit in bytes.
func (p *Pool) Limit() int64 { return p.limit }

// Peak is the most memory the pool has held, free buffers and scratch included.
func (p *Pool) Peak() int64 { p.mu.Lock(); defer p.mu.Unlock(); return p.peak }

// Grant waits until bytes fit under the limit and returns an arena that may
// allocate them. Grants are given first come, first served.
func (p *Pool) Grant(ctx context.Context, bytes int64) (*Arena, error) {
	bytes = min(max(bytes, 0), p.limit)
	p.mu.Lock()
	if p.waiting.Len() == 0 && p.fits(bytes) {
		a := p.grant(bytes)
		p.mu.Unlock()
		return a, nil
	}
	w := &waiter{bytes: bytes}
	if !p.await(ctx, &p.waiting, w, func() { p.release(w.arena) }) {
		return nil, ctx.Err()
	}
	return w.arena, nil
}

// await queues a waiter and reports whether it got what it waits for before the context ended. What
// came at the same time is given back. It is called with mu held and returns without it.
func (p *Pool) await(ctx context.Context, queue *list.List, w *waiter, giveBack func()) bool {
	w.ready = make(chan struct{})
	e := queue.PushBack(w)
	p.mu.Unlock()
	select {
	case <-w.ready:
		return true
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-w.ready:
		giveBack()
	default:
		queue.Remove(e)
	}
	p.wake()
	return false
}

// fits reports whether so much more may be granted. With nothing granted it always may, since no
// release would make room for it. Called with mu held, as are those below.
func (p *Pool) fits(bytes int64) bool {
	return p.granted+p.scratch+bytes <= p.limit || p.live.Len() == 0
}

func (p *Pool) grant(bytes int64) *Arena {
	p.granted += bytes
	a := p.arena(bytes)
	a.turn = p.live.PushBack(a)
	return a
}

func (p *Pool) release(a *Arena) {
	if a.turn != nil {
		p.live.Remove(a.turn)
		a.turn = nil
	}
	p.granted -= a.granted
	a.granted, a.used = 0, 0
}

// Overdraft returns an arena at once, whatever the limit: for repairing a span
// whose own memory is held meanwhile.
func (p *Pool) Overdraft() *Arena { p.mu.Lock(); defer p.mu.Unlock(); return p.arena(0) }

func (p *Pool) arena(granted int64) *Arena {
	a := &Arena{pool: p, granted: granted}
	if n := len(p.spares); n > 0 {
		s := p.spares[n-1]
		p.spares[n-1] = spare{}
		p.spares = p.spares[:n-1]
		a.bufs, a.batch.Columns, a.idents = s.bufs, s.columns, s.idents
	}
	return a
}

// wake wakes the waiters for scratch, then the waiters for a grant.
func (p *Pool) wake() {
	for e := p.holding.Front(); e != nil; {
		w, next := e.Value.(*waiter), e.Next()
		if p.mayHold(w) {
			p.hold(w.bytes)
			p.holding.Remove(e)
			close(w.ready)
		}
		e = next
	}
	for e := p.waiting.Front(); e != nil; e = p.waiting.Front() {
		w := e.Value.(*waiter)
		if !p.fits(w.bytes) {
			return
		}
		w.arena = p.grant(w.bytes)
		p.waiting.Remove(e)
		close(w.ready)
	}
}

// Arena provides the buffers of one span and takes them all back at Release.
// It may be used by one goroutine at a time.
type Arena struct {
	pool    *Pool
	granted int64
	used    int64
	turn    *list.Element // among the pool's live ones; nil of an overdraft
	bufs    []buffer
	batch   Batch
	idents  []ID
}

type buffer struct {
	mem   []byte
	class int
}

const (
	align   = 64
	classes = 4 * 48
	// smallest is the size of class 0; below it memory is not worth counting.
	smallest = 1 << 10
)

// class is the smallest class of at least n bytes: four steps per power of two,
// so at most a quarter of a buffer is unused.
func class(n int) (c, size int) {
	if n <= smallest {
		return 0, smallest
	}
	shift := bits.Len(uint(n-1)) - 3 // n-1 has its top three bits above shift
	top := (n - 1) >> shift          // 4..7
	return (shift-8)*4 + top - 3, (top + 1) << shift
}

// ClassBytes is the memory that a buffer of n bytes takes: what a grant must
// allow for it.
func ClassBytes(n int64) int64 {
	if n <= 0 {
		return 0
	}
	_, size := class(int(n))
	return int64(size + align)
}

// Alloc returns n bytes, aligned to 64, with any content. Going over the grant
// is allowed (the estimate was low) and counted.
func (a *Arena) Alloc(n int) []byte {
	if n == 0 {
		return nil
	}
	if n < 0 {
		panic(fmt.Sprintf("shardify: Alloc(%d)", n))
	}
	c, size := class(n)
	p := a.pool
	p.mu.Lock()
	var mem []byte
	if l := p.free[c]; len(l) > 0 {
		mem = l[len(l)-1]
		p.free[c] = l[:len(l)-1]
		p.kept -= int64(size + align)
	}
	p.used += int64(size + align)
	p.trim()
	p.peak = max(p.peak, p.used+p.kept+p.scratch)
	p.mu.Unlock()
	if mem == nil {
		p.clean()
		mem = make([]byte, size+align)
	}
	a.used += int64(size + align)
	a.bufs = append(a.bufs, buffer{mem, c})
	return aligned(mem, n)
}

// Int64s is Alloc for n numbers.
func (a *Arena) Int64s(n int) []int64 { return View[int64](a.Alloc(n * 8)) }

// ids returns n identities of any content.
func (a *Arena) ids(n int) []ID {
	if n == 0 {
		return []ID{} // a list, if an empty one
	}
	if cap(a.idents)-len(a.idents) < n {
		a.idents = make([]ID, 0, max(n, 2*cap(a.idents)))
	}
	at := len(a.idents)
	a.idents = a.idents[:at+n]
	return a.idents[at : at+n : at+n]
}

// Overdraft is Pool.Overdraft of the arena's pool: for what is made on the way to a batch, and
// counted by a Scratch.
func (a *Arena) Overdraft() *Arena { return a.pool.Overdraft() }

// Used is the bytes allocated so far.
func (a *Arena) Used() int64 { return a.used }

// Batch returns an empty batch that lives in the arena, with room for n columns.
// It is valid until Release and there is one per arena.
func (a *Arena) Batch(n int) *Batch {
	cols := a.batch.Columns
	if cap(cols) < n {
		cols = make([]Column, 0, n)
	}
	a.batch = Batch{Columns: cols[:0]}
	return &a.batch
}

// Release gives all buffers and the grant back. Nothing allocated from the arena, nor the
// arena itself, may be used afterwards. A second Release does nothing.
func (a *Arena) Release() {
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.bufs == nil && a.granted == 0 && a.turn == nil {
		return
	}
	for i, b := range a.bufs {
		poison.Fill(b.mem)
		p.free[b.class] = append(p.free[b.class], b.mem)
		p.kept += int64(len(b.mem))
		p.used -= int64(len(b.mem))
		a.bufs[i] = buffer{}
	}
	clear(a.batch.Columns)
	p.spares = append(p.spares, spare{a.bufs[:0], a.batch.Columns[:0], a.idents[:0]})
	a.bufs, a.idents, a.batch = nil, nil, Batch{}
	p.release(a)
	p.trim()
	p.wake()
}

// trim drops free buffers, largest first, while the pool holds more than its
// limit. Called with mu held.
func (p *Pool) trim() {
	for c := len(p.free) - 1; c >= 0 && p.used+p.kept+p.scratch > p.limit; c-- {
		for l := p.free[c]; len(l) > 0 && p.used+p.kept+p.scratch > p.limit; l = p.free[c] {
			p.kept -= int64(len(l[len(l)-1]))
			p.rubbish += int64(len(l[len(l)-1]))
			l[len(l)-1] = nil
			p.free[c] = l[:len(l)-1]
		}
	}
}
