package gpuload

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Loader delivers one rank's batches, epoch after epoch. Next, SetEpoch, Restore
// and Close are called by one goroutine at a time; State, Stats and Release may be
// called from others.
type Loader struct {
	set     *Dataset
	cfg     Config
	order   *Order
	steps   steps
	layout  *index.Layout
	shards  *shardSet
	crew    *crew
	dev     device
	tier    Tier
	workers int
	makers  int
	pinned  *pinned
	windows *windows
	advisor *advisor
	trace   *tracer
	notes   []string
	columns []string

	slots []*slot
	free  chan *slot

	// use is held by the calls that consume, mu by those and by others for a moment.
	use      sync.Mutex
	pipeline *pipeline
	head     *ticket // taken from the queue, and the caller's context ended
	failed   error

	mu       sync.Mutex
	epoch    int
	position int64
	closed   bool
	stats    counters
}

// Loader starts reading nothing yet: that begins with the first Next.
func (d *Dataset) Loader(cfg Config) (*Loader, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l := &Loader{set: d, cfg: cfg, epoch: cfg.Epoch}
	if err := l.plan(); err != nil {
		return nil, err
	}
	var err error
	if l.dev, err = openDevice(cfg.Device); err != nil {
		return nil, err
	}
	if err := l.allocate(); err != nil {
		l.freeMemory()
		l.dev.close()
		return nil, err
	}
	return l, nil
}

// allocate makes the slots and what the tier needs.
func (l *Loader) allocate() error {
	switch {
	case l.cfg.Synthetic: // a few batches are read one by one
	case l.tier == TierPinned:
		l.pinned = &pinned{table: newTable(l.layout, l.dev, &l.stats.memory)}
	case l.order.windowed():
		w := newWindows(l.order, l.shards, l.crew, l.steps, l.dev, &l.stats.memory, l.trace)
		if l.direct() {
			l.advisor = newAdvisor(w)
		} else {
			l.windows = w
		}
	}
	l.free = make(chan *slot, l.cfg.Depth+1)
	for range l.cfg.Depth + 1 {
		s := &slot{table: newTable(l.layout, l.dev, &l.stats.memory), made: make(chan error, 1), keep: l.cfg.Synthetic, ids: make([]int64, l.steps.batch)}
		l.slots = append(l.slots, s)
		if err := s.table.reset(l.steps.batch); err != nil {
			return err
		}
		if err := l.dev.attach(s); err != nil {
			return err
		}
		l.free <- s
	}
	return nil
}

// largeRow is the bytes of a sample from which it is better read by itself: the
// call costs less than the second copy, out of a window that no cache holds.
const largeRow = 16 << 10

// direct reports that samples of a Block shuffle are read one by one.
func (l *Loader) direct() bool {
	return l.order.shape.block == 1 || l.set.columnBytes(l.layout)/max(l.set.samples, 1) >= largeRow*int64(len(l.layout.Tensors))
}

// windowed reports an order whose windows can be read ahead.
func (o *Order) windowed() bool { return o.shuffle == Block && !o.replaces() }

// Next returns the next batch, io.EOF at the end of an epoch. After that it goes on
// with the next epoch. It waits while the consumer holds all slots. An error of
// reading is final until SetEpoch or Restore; that of ctx is not.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	l.use.Lock()
	defer l.use.Unlock()
	switch {
	case l.isClosed():
		return nil, ErrClosed
	case l.failed != nil:
		return nil, l.failed
	}
	entered := nanos()
	if l.pipeline == nil {
		l.pipeline = l.startPipeline()
	}
	t, err := l.take(ctx)
	if err != nil {
		return nil, err
	}
	if t.err != nil {
		l.failed = t.err
		return nil, t.err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.slot == nil {
		l.epoch, l.position = t.epoch+1, 0
		return nil, io.EOF
	}
	t.slot.held = true
	l.epoch, l.position = t.slot.epoch, min(t.slot.from+l.steps.global(), l.steps.length)
	l.account(t.slot, entered)
	return &Batch{l, t.slot}, nil
}

// take waits for the next ticket and its batch.
func (l *Loader) take(ctx context.Context) (ticket, error) {
	if l.head == nil {
		select {
		case t := <-l.pipeline.queue:
			l.head = &t
		case <-ctx.Done():
			return ticket{}, context.Cause(ctx)
		}
	}
	t := *l.head
	if t.slot != nil {
		select {
		case t.err = <-t.slot.made:
		case <-ctx.Done():
			return ticket{}, context.Cause(ctx)
		}
	}
	l.head = nil
	return t, nil
}

// account notes how long the consumer waited, and what it did before.
func (l *Loader) account(s *slot, entered int64) {
	c, now := &l.stats, nanos()
	if c.batches == 0 {
		c.firstWait = now - entered
	} else {
		c.wait += now - entered
		c.compute += entered - c.returned
		l.trace.event("step", "step", c.returned, s.step-1, 0)
	}
	l.trace.event("wait", "wait", entered, s.step, 0)
	c.returned = now
	c.batches++
	c.samples += int64(s.rows)
	c.bytes += s.table.size()
}

func (l *Loader) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// giveBack makes a slot free. A loader that was closed meanwhile has no use for it.
func (l *Loader) giveBack(s *slot, stream Stream) error {
	err := l.dev.release(s, stream)
	l.mu.Lock()
	defer l.mu.Unlock()
	s.held = false
	if l.closed {
		l.freeSlot(s)
	} else {
		l.free <- s
	}
	return err
}

// Steps is the number of batches of a whole epoch, the same on every rank.
func (l *Loader) Steps() int { return int(l.steps.count(0)) }

// Remaining is the number of batches up to the end of the epoch at hand.
func (l *Loader) Remaining() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.steps.count(l.position))
}

// Order is the order of the samples.
func (l *Loader) Order() *Order { return l.order }

// Notes tell, a sentence each, what the user may want to know: choices that were
// made, and settings that do not work out as asked.
func (l *Loader) Notes() []string { return append([]string(nil), l.notes...) }

// Columns are the names of what every batch has.
func (l *Loader) Columns() []string { return append([]string(nil), l.columns...) }

// Schema is the delivered fields, companions included.
func (l *Loader) Schema() []shardify.Field { return append([]shardify.Field(nil), l.layout.Schema...) }

// State is the place behind the last batch that Next returned.
func (l *Loader) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{stateVersion, l.set.fingerprint, l.order.String(), l.order.seed, l.epoch, l.position}
}

// Restore goes to the place of a state, in time that does not depend on it. World
// and batch size may differ from those of the loader that wrote it. Batches not yet
// released stay valid.
func (l *Loader) Restore(s State) error {
	if err := s.matches(l.set.fingerprint, l.order); err != nil {
		return err
	}
	return l.moveTo(s.Epoch, s.Position)
}

// SetEpoch goes to the beginning of an epoch. It costs nothing if that is where
// the Loader is.
func (l *Loader) SetEpoch(epoch int) error {
	if epoch < 0 || epoch >= maxEpoch {
		return fmt.Errorf("epoch %d: want 0 to 2^31-1", epoch)
	}
	return l.moveTo(epoch, 0)
}

func (l *Loader) moveTo(epoch int, position int64) error {
	l.use.Lock()
	defer l.use.Unlock()
	if l.isClosed() {
		return ErrClosed
	}
	l.mu.Lock()
	here := l.epoch == epoch && l.position == position
	l.mu.Unlock()
	if here && l.failed == nil {
		return nil
	}
	l.halt()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch, l.position = epoch, position
	return nil
}

// halt ends the pipeline.
func (l *Loader) halt() {
	if l.pipeline != nil {
		l.pipeline.stop()
	}
	l.pipeline, l.head, l.failed = nil, nil, nil
}

// Close ends all goroutines and gives memory and files back, that of batches not
// yet released when they are.
func (l *Loader) Close() error {
	l.use.Lock()
	defer l.use.Unlock()
	if l.isClosed() {
		return nil
	}
	l.halt()
	l.mu.Lock()
	l.closed = true
	l.freeMemory()
	l.mu.Unlock()
	l.shards.close()
	err := l.trace.close()
	if e := l.dev.close(); err == nil {
		err = e
	}
	return err
}

func (l *Loader) freeMemory() {
	for _, s := range l.slots {
		if !s.held {
			l.freeSlot(s)
		}
	}
	if l.pinned != nil {
		l.pinned.table.close()
	}
	if l.windows != nil {
		l.windows.close()
	}
}

func (l *Loader) freeSlot(s *slot) {
	l.dev.detach(s)
	s.table.close()
}
