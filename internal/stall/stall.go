// Package stall reports when work waits for storage that does not answer: when nothing has moved
// for a while.
//
//	var board stall.Board
//	stop := board.Watch(5*time.Minute, active, func(s *stall.Stalled) { ... })
//	step := board.Begin("copying a.tar")
//	...
//	step.End()
package stall

import (
	"fmt"
	"sync"
	"time"
)

// Stalled is the error of work that does not move.
type Stalled struct {
	For     time.Duration
	Waiting []string // what its goroutines wait for
}

func (e *Stalled) Error() string { return fmt.Sprintf("nothing was read or written for %v", e.For) }

// Details is what is waited for.
func (e *Stalled) Details() []string { return e.Waiting }

// Most is how many goroutines an error describes.
const Most = 32

// Watch calls stalled, once, when moves has given the same number for so long. moved, if it is not
// nil, is called before that: it reports whether the process has done anything since the last call.
// Time in which the process itself was stopped, or the machine was, does not count. waiting
// describes what is waited for; it gets the time between two calls of moves.
func Watch(after time.Duration, moves func() int64, moved func() bool, waiting func(tick time.Duration) []string, stalled func(*Stalled)) (stop func()) {
	const ticks = 20
	every := max(after/ticks, time.Millisecond)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(every) // a stopped process finds one tick, however long it was stopped
		defer t.Stop()
		last, still := int64(-1), 0
		for {
			select {
			case <-done:
				return
			case <-t.C:
			}
			now := moves()
			if (moved != nil && moved()) || now != last {
				last, still = now, 0
				continue
			}
			if still++; still >= ticks {
				stalled(&Stalled{after, waiting(every)})
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// Board records what goroutines do while they may have to wait for storage. Its zero value is
// empty; nil takes steps that are not watched.
type Board struct {
	mu    sync.Mutex
	steps []*Step
	moves int64
	rests int
	also  []func() int64
}

// Step is one file, or anything else that takes long enough to be reported.
type Step struct {
	board *Board
	what  string
	ticks int
}

// Begin notes what a goroutine is at until End.
func (b *Board) Begin(what string) *Step {
	if b == nil {
		return nil
	}
	s := &Step{board: b, what: what}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps, b.moves = append(b.steps, s), b.moves+1
	return s
}

// End takes the note away.
func (s *Step) End() {
	if s == nil {
		return
	}
	b := s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moves++
	for i, x := range b.steps {
		if x == s {
			b.steps = append(b.steps[:i], b.steps[i+1:]...)
			return
		}
	}
}

// Rest marks a wait as expected, for another process or for room, until awake is called.
func (b *Board) Rest() (awake func()) {
	if b == nil {
		return func() {}
	}
	add := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.rests, b.moves = b.rests+n, b.moves+1
	}
	add(1)
	return func() { add(-1) }
}

// Also has a further number that changes while the work moves.
func (b *Board) Also(moves func() int64) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.also = append(b.also, moves)
}

// Watch watches the steps.
func (b *Board) Watch(after time.Duration, moved func() bool, stalled func(*Stalled)) (stop func()) {
	return Watch(after, b.tick, moved, b.waiting, stalled)
}

func (b *Board) tick() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rests > 0 {
		b.moves++
	}
	for _, s := range b.steps {
		s.ticks++
	}
	n := b.moves
	for _, f := range b.also {
		n += f()
	}
	return n
}

func (b *Board) waiting(tick time.Duration) (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.steps[:min(len(b.steps), Most)] {
		out = append(out, fmt.Sprintf("%s, for %v", s.what, time.Duration(s.ticks)*tick))
	}
	if n := len(b.steps) - Most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return out
}
