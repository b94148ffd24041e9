package shardify

import (
	"context"
	"runtime"
)

// Scratch is the memory that one reader holds beside batches: what it decodes with, and
// what it keeps of one span for the next. It counts against the limit of the pool that
// the spans are read into. The zero value holds nothing. It may be used by one goroutine
// at a time.
type Scratch struct {
	pool *Pool
	held int64
}

// Hold says that the reader will hold n bytes in all from now on, on the way to reading a span into
// mem. An increase waits until it fits, unless mem is the oldest that was granted: no release would
// make room for that one, so it passes, as a span does that is larger than the pool. Buffers are
// made after Hold, and dropped before.
func (s *Scratch) Hold(ctx context.Context, mem *Arena, n int64) error {
	p := mem.pool
	if s.pool != p {
		s.Close()
		s.pool = p
		p.mu.Lock()
		p.readers++
		p.mu.Unlock()
	}
	w := &waiter{bytes: n - s.held, arena: mem}
	if w.bytes == 0 {
		return nil
	}
	p.mu.Lock()
	if w.bytes < 0 || p.mayHold(w) {
		p.hold(w.bytes)
		if s.held = n; w.bytes < 0 {
			p.wake()
		}
		p.mu.Unlock()
		if w.bytes > 0 {
			p.clean()
		}
		return nil
	}
	if !p.await(ctx, &p.holding, w, func() { p.hold(-w.bytes) }) {
		return context.Cause(ctx)
	}
	s.held = n
	p.clean()
	return nil
}

// Share is how much the reader should hold between spans: a quarter of the pool is for
// that, and all readers have the same part of it. Before the first Hold it is nothing.
func (s *Scratch) Share() int64 {
	if s.pool == nil {
		return 0
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.limit / 4 / int64(max(s.pool.readers, 1))
}

// Close says that the reader holds nothing any more.
func (s *Scratch) Close() {
	p := s.pool
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readers--
	p.hold(-s.held)
	p.wake()
	*s = Scratch{}
}

// mayHold reports whether a waiter need not wait for scratch. A reader that reads into an overdraft
// repairs a span whose own memory is held meanwhile. Called with mu held, as is hold.
func (p *Pool) mayHold(w *waiter) bool {
	return w.arena.turn == nil || p.granted+p.scratch+w.bytes <= p.limit || p.live.Front() == w.arena.turn
}

func (p *Pool) hold(bytes int64) {
	p.scratch += bytes
	p.rubbish += max(-bytes, 0)
	p.trim()
	p.peak = max(p.peak, p.used+p.kept+p.scratch)
}

// worthwhile is the amount of garbage from which on it pays to collect it at once.
const worthwhile = 16 << 20

// clean collects garbage when dropped buffers would otherwise be in memory together with those that
// are about to be made: buffers may be so large that a few of them are the limit, and the runtime
// counts what is dropped as in use until then.
func (p *Pool) clean() {
	p.mu.Lock()
	due := p.rubbish > max(p.limit/8, worthwhile) && p.used+p.kept+p.scratch+p.rubbish > p.limit
	if due {
		p.rubbish = 0
	}
	p.mu.Unlock()
	if due {
		runtime.GC()
	}
}
