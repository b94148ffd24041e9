package gpuload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shardify/shardify/gpuload/order"
)

// ticket is what the consumer gets next: a batch being made, or the end of an
// epoch.
type ticket struct {
	Slot  *slot
	Epoch int // that ended
	Err   error
}

// turn is a slot's part in the queue, guarded by its lock.
type turn struct {
	made bool // the batch is there, or could not be made
	err  error
	held bool // by the consumer
}

// queue gives free slots the steps of the order, and the batches to the consumer, in that order.
// Goroutines take a free slot and the next step under one lock, so that the batch the consumer
// waits for always has a slot. A consumer that is faster than they are makes batches too, where
// that is no more than copying memory: waking another goroutine for a small batch takes as long
// as making it.
type queue struct {
	steps    *order.Steps
	from     *sources
	makers   int
	depth    int
	patience time.Duration
	helps    bool          // the consumer makes batches too
	small    bool          // batches are
	wakeAt   int           // free slots from which another goroutine is woken
	wake     chan struct{} // to the consumer that waits
	closing  chan struct{} // closed by end

	mu      sync.Mutex
	slots   []*slot
	free    []*slot
	closed  bool
	work    sync.Cond // of makers that wait for a slot
	idle    int       // of them
	tickets []ticket  // in order
	ends    int       // in it, of epochs
	epoch   int
	at      int64 // first position of the next step
	running bool  // what is read before the first batch is there
	stopped bool
	waiting bool // the consumer
	// heldSince is when the consumer began to wait with all slots in its hands.
	heldSince time.Time
	reason    error // why no more batches may be delivered
}

// helpBytes is the size of batches below which the consumer makes one while another
// is being made.
const helpBytes = 1 << 20

func newQueue(cfg *Config, w *samples, from *sources) *queue {
	q := &queue{
		steps: &w.Steps, from: from, makers: from.makers(), depth: cfg.Depth, patience: cfg.Patience,
		helps: from.inMemory(), small: w.Steps.Most()*w.Out.RowBytes() < helpBytes, wakeAt: 1,
		wake: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	if q.work.L = &q.mu; q.helps {
		q.wakeAt = (cfg.Depth + 1) / 2
	}
	return q
}

// begin makes the queue one of steps from a position on. No goroutine uses it.
func (q *queue) begin(epoch int, at int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tickets, q.ends, q.epoch, q.at = q.tickets[:0], 0, epoch, at
	q.running, q.stopped, q.reason, q.heldSince = false, false, nil, time.Time{}
}

// run lets the consumer help.
func (q *queue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running = true
	q.rouse()
}

// stop ends what makers wait for.
func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.work.Broadcast()
}

// clear makes slots free that the consumer does not hold, once all makers have ended.
func (q *queue) clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free = q.free[:0]
	for _, s := range q.slots {
		if !s.held {
			q.free = append(q.free, s)
		}
	}
}

// add puts another slot to the free ones.
func (q *queue) add(s *slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slots = append(q.slots, s)
	q.released(s)
}

// giveBack makes a slot free that the consumer held. closed reports that there is no use for it.
func (q *queue) giveBack(s *slot) (closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.held = false; !q.closed {
		q.released(s)
	}
	return q.closed
}

// end ends a wait of the consumer, once.
func (q *queue) end() { close(q.closing) }

// close ends the queue, and returns the slots that the consumer does not hold.
func (q *queue) close() (free []*slot) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, s := range q.slots {
		if !s.held {
			free = append(free, s)
		}
	}
	return free
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// spare reports whether all batches that there is room for are made, and no call waits for one.
func (q *queue) spare() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.idle == q.makers && !q.waiting
}

// fail keeps further batches from being delivered.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reason == nil {
		q.reason = err
	}
	q.rouse()
}

// next is the slot that a maker is to fill, or nil once the queue was stopped.
func (q *queue) next() *slot {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.claim(false)
	for s == nil && !q.stopped {
		q.idle++
		q.work.Wait()
		q.idle--
		s = q.claim(false)
	}
	if q.idle > 0 && len(q.free) > 0 && !q.small {
		q.work.Signal()
	}
	if q.stopped {
		return nil
	}
	return s
}

// made says that a slot's batch is there, or could not be made.
func (q *queue) made(s *slot, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.made, s.err = true, err
	if len(q.tickets) > 0 && q.tickets[0].Slot == s {
		q.rouse()
	}
}

// take waits for the next ticket and its batch, which the consumer then holds; fill makes a batch
// meanwhile. A context that has ended gets none, even if there is one: a consumer that never has to
// wait would not learn of it.
func (q *queue) take(ctx context.Context, fill func(*slot) bool) (ticket, error) {
	if ctx.Err() != nil {
		return ticket{}, context.Cause(ctx)
	}
	for {
		q.mu.Lock()
		if err := q.reason; err != nil {
			q.mu.Unlock()
			return ticket{Err: err}, nil
		}
		t, ok := q.head()
		if !ok {
			if s := q.help(); s != nil {
				q.mu.Unlock()
				fill(s)
				continue
			}
			t, ok = q.head() // the end of an epoch may have come to light
		}
		if ok {
			q.mu.Unlock()
			return t, nil
		}
		if q.idle > 0 && len(q.free) > 0 {
			q.work.Signal()
		}
		late := q.late()
		q.waiting = true
		q.mu.Unlock()
		if err := q.wait(ctx, late); err != nil {
			return ticket{}, err
		}
	}
}

// wait waits until something has changed, or until it is late.
func (q *queue) wait(ctx context.Context, late time.Time) error {
	var tooLate <-chan time.Time
	if !late.IsZero() {
		t := time.NewTimer(time.Until(late))
		defer t.Stop()
		tooLate = t.C
	}
	select {
	case <-q.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-q.closing:
		return ErrClosed
	case <-tooLate:
		q.mu.Lock()
		defer q.mu.Unlock()
		q.heldSince = time.Time{}
		return fmt.Errorf("%w: for %v none of %d was released (Depth %d)", ErrHeld, q.patience, len(q.slots), q.depth)
	}
}

// What follows is called with the lock.

// rouse wakes the consumer if it waits.
func (q *queue) rouse() {
	if q.waiting {
		q.waiting = false
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// released makes a slot free.
func (q *queue) released(s *slot) {
	q.free = append(q.free, s)
	q.heldSince = time.Time{}
	q.rouse()
	if q.idle > 0 && len(q.free) >= q.wakeAt {
		q.work.Signal()
	}
}

// claim gives a free slot the next step and puts it into the queue. With ready it does so
// only if the step can be made without waiting. nil: no slot was claimed.
func (q *queue) claim(ready bool) *slot {
	if len(q.free) == 0 {
		return nil
	}
	for q.steps.Count(q.epoch, q.at) == 0 {
		if q.ends > 0 && q.steps.Count(q.epoch, 0) == 0 {
			return nil // epochs without steps: one at a time
		}
		q.tickets = append(q.tickets, ticket{Epoch: q.epoch})
		q.ends++
		q.epoch, q.at = q.epoch+1, 0
		q.rouse()
	}
	s := q.free[len(q.free)-1]
	s.Step = q.steps.At(q.epoch, q.at)
	if !q.from.claim(&s.Step, ready) {
		return nil
	}
	q.free = q.free[:len(q.free)-1]
	q.at += s.Steps * q.steps.Global()
	s.made, s.err = false, nil
	q.tickets = append(q.tickets, ticket{Slot: s})
	return s
}

// head is the next ticket once it can be delivered.
func (q *queue) head() (ticket, bool) {
	if len(q.tickets) == 0 {
		return ticket{}, false
	}
	t := q.tickets[0]
	switch {
	case t.Slot == nil:
		q.ends--
	case !t.Slot.made:
		return t, false
	default:
		t.Err = t.Slot.err
		t.Slot.held = t.Err == nil
	}
	q.tickets = q.tickets[:copy(q.tickets, q.tickets[1:])]
	return t, true
}

// help is a slot that the consumer is to fill itself.
func (q *queue) help() *slot {
	if !q.running || !q.helps || len(q.tickets) > 0 && !q.small {
		return nil
	}
	return q.claim(true)
}

// late is when the patience with a consumer that holds all slots ends, or zero without such a
// consumer. The time runs on over several calls, each of which may wait for less.
func (q *queue) late() time.Time {
	switch {
	case len(q.tickets) > 0 || len(q.free) > 0 || q.patience <= 0:
		q.heldSince = time.Time{}
		return time.Time{}
	case q.heldSince.IsZero():
		q.heldSince = time.Now()
	}
	return q.heldSince.Add(q.patience)
}
