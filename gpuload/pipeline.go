package gpuload

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
)

// ticket is what the consumer gets next: a batch being made, or the end of an
// epoch.
type ticket struct {
	slot  *slot
	epoch int // that ended
	err   error
}

// pipeline makes the batches from one place of the order on, until it is stopped.
// Goroutines take a free slot and the next step, in that order and under one lock,
// so that the batch the consumer waits for always has a slot. A consumer that is
// faster than they are makes batches too, where that is no more than copying memory:
// waking another goroutine for a small batch takes as long as making it.
type pipeline struct {
	*Loader
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	helper *maker        // of the consumer
	wake   chan struct{} // to the consumer that waits

	// Under Loader.mu:
	work    *sync.Cond // of makers that wait for a slot
	idle    int        // of them
	queue   []ticket   // in order
	ends    int        // in it, of epochs
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

// newPipeline is a stopped one.
func newPipeline(l *Loader) *pipeline {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipeline{Loader: l, ctx: ctx, cancel: cancel, wake: make(chan struct{}, 1)}
	l.shards.Until(ctx)
	p.work = sync.NewCond(&l.mu)
	p.helper = p.newMaker()
	return p
}

func (l *Loader) startPipeline() *pipeline {
	p := newPipeline(l)
	l.mu.Lock()
	p.epoch, p.at = l.epoch, l.position
	l.mu.Unlock()
	if l.windows != nil {
		l.windows.Reset()
	}
	p.wg.Go(func() {
		if err := p.main(); err != nil {
			p.fail(err)
		}
	})
	return p
}

// stop ends all goroutines. Slots that the consumer does not hold are free again.
func (p *pipeline) stop() {
	p.cancel()
	p.mu.Lock()
	p.stopped = true
	p.work.Broadcast()
	p.mu.Unlock()
	if p.windows != nil {
		p.windows.Stop()
	}
	p.wg.Wait()
	p.helper.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = p.free[:0]
	for _, s := range p.slots {
		if !s.held {
			p.free = append(p.free, s)
		}
	}
}

// main reads what there is to be read first, and starts the goroutines.
func (p *pipeline) main() error {
	if p.stage != nil && !p.staged {
		t, before := load.Nanos(), p.shards.ReadNanos.Load()
		if err := p.stage.Open(p.ctx, p.workers); err != nil {
			return err
		}
		for _, sh := range p.shards.Shards {
			sh.Path = dataset.FilePath(p.stage.Path(sh.Number), sh.Record.Name)
		}
		if p.mapped != nil {
			if err := p.mapped.Open(p.crew); err != nil {
				return err
			}
		}
		p.staged = true
		p.stats.stage.Add(load.Nanos() - t)
		p.stats.early.Add(p.shards.ReadNanos.Load() - before)
		p.stats.staged.Store(p.set.Bytes())
		p.trace.event("stage", "read", t, 0, p.set.Bytes())
	}
	if p.pinned != nil && !p.pinned.Filled {
		t, before := load.Nanos(), p.shards.ReadNanos.Load()
		if err := p.pinned.Fill(p.ctx, p.shards, p.crew); err != nil {
			return err
		}
		p.stats.fill.Add(load.Nanos() - t)
		p.stats.early.Add(p.shards.ReadNanos.Load() - before)
		p.trace.event("fill", "read", t, 0, p.pinned.Table.Size())
	}
	p.start()
	return nil
}

func (p *pipeline) start() {
	if p.windows != nil {
		epoch, at := p.epoch, p.at
		p.wg.Go(func() {
			defer p.crew.Bind()()
			defer p.Bind()()
			p.windows.Run(p.ctx, epoch, at)
		})
	}
	if a := p.advisor; a != nil {
		a.Begun = false
		p.wg.Go(func() { a.Run(p.ctx) })
	}
	if p.scrub != nil {
		if !p.set.remote() { // else what is read is another's, too
			p.scrub.Spare = p.spare
		}
		p.wg.Go(func() {
			if err := p.scrub.Run(p.ctx); err != nil {
				p.fail(err)
			}
		})
	}
	for range p.makers {
		m := p.newMaker()
		p.wg.Go(m.run)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = true
	p.rouse()
}

// spare reports whether all batches that there is room for are made, and no call waits for one.
func (p *pipeline) spare() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.idle == p.makers && !p.waiting
}

// fail keeps further batches from being delivered.
func (p *pipeline) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason == nil {
		p.reason = err
	}
	p.rouse()
}

// rouse wakes the consumer if it waits. Under Loader.mu, as all that follows except for
// take.
func (p *pipeline) rouse() {
	if p.waiting {
		p.waiting = false
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// released makes a slot free that the consumer held.
func (p *pipeline) released(s *slot) {
	p.free = append(p.free, s)
	p.heldSince = time.Time{}
	p.rouse()
	if p.idle > 0 && len(p.free) >= p.wakeAt {
		p.work.Signal()
	}
}

// claim gives a free slot the next step and puts it into the queue. With ready it does so
// only if the step can be made without waiting. nil: no slot was claimed.
func (p *pipeline) claim(ready bool) *slot {
	if len(p.free) == 0 {
		return nil
	}
	for p.steps.Count(p.at) == 0 {
		if p.ends > 0 && p.steps.Count(0) == 0 {
			return nil // epochs without steps: one at a time
		}
		p.queue = append(p.queue, ticket{epoch: p.epoch})
		p.ends++
		p.epoch, p.at = p.epoch+1, 0
		p.rouse()
	}
	s := p.free[len(p.free)-1]
	s.Step = p.steps.At(p.epoch, p.at)
	if p.windows != nil && s.Rows > 0 {
		a, b := p.windows.Keys(&s.Step)
		if ready && !p.windows.Loaded(a, b) {
			return nil
		}
		p.windows.Claim(a, b)
	}
	p.free = p.free[:len(p.free)-1]
	p.at += s.Steps * p.steps.Global()
	if p.advisor != nil && s.Rows > 0 {
		p.advisor.Touch(s.Epoch, s.First)
	}
	s.made, s.err = false, nil
	p.queue = append(p.queue, ticket{slot: s})
	return s
}

// head is the next ticket once it can be delivered.
func (p *pipeline) head() (ticket, bool) {
	if len(p.queue) == 0 {
		return ticket{}, false
	}
	t := p.queue[0]
	switch {
	case t.slot == nil:
		p.ends--
	case !t.slot.made:
		return t, false
	default:
		t.err = t.slot.err
	}
	p.queue = p.queue[:copy(p.queue, p.queue[1:])]
	return t, true
}

// help is a slot that the consumer is to fill itself.
func (p *pipeline) help() *slot {
	if !p.running || !p.helps || len(p.queue) > 0 && !p.small {
		return nil
	}
	return p.claim(true)
}

// take waits for the next ticket and its batch. A context that has ended gets none, even
// if there is one: a consumer that never has to wait would not learn of it.
func (p *pipeline) take(ctx context.Context) (ticket, error) {
	if ctx.Err() != nil {
		return ticket{}, context.Cause(ctx)
	}
	for {
		p.mu.Lock()
		if err := p.reason; err != nil {
			p.mu.Unlock()
			return ticket{err: err}, nil
		}
		t, ok := p.head()
		if !ok {
			if s := p.help(); s != nil {
				p.mu.Unlock()
				p.helper.fill(s)
				continue
			}
			t, ok = p.head() // the end of an epoch may have come to light
		}
		if ok {
			p.mu.Unlock()
			return t, nil
		}
		if p.idle > 0 && len(p.free) > 0 {
			p.work.Signal()
		}
		late := p.late()
		p.waiting = true
		p.mu.Unlock()
		if err := p.wait(ctx, late); err != nil {
			return ticket{}, err
		}
	}
}

// late is when the patience with a consumer that holds all slots ends, or zero without such a
// consumer. The time runs on over several calls, each of which may wait for less.
func (p *pipeline) late() time.Time {
	switch {
	case len(p.queue) > 0 || len(p.free) > 0 || p.cfg.Patience <= 0:
		p.heldSince = time.Time{}
		return time.Time{}
	case p.heldSince.IsZero():
		p.heldSince = time.Now()
	}
	return p.heldSince.Add(p.cfg.Patience)
}

// wait waits until something has changed, or until it is late.
func (p *pipeline) wait(ctx context.Context, late time.Time) error {
	var tooLate <-chan time.Time
	if !late.IsZero() {
		t := time.NewTimer(time.Until(late))
		defer t.Stop()
		tooLate = t.C
	}
	select {
	case <-p.wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.closing:
		return ErrClosed
	case <-tooLate:
		p.mu.Lock()
		p.heldSince = time.Time{}
		p.mu.Unlock()
		return fmt.Errorf("%w: for %v none of %d was released (Depth %d)", ErrHeld, p.cfg.Patience, len(p.slots), p.cfg.Depth)
	}
}

// maker is one goroutine's memory.
type maker struct {
	*pipeline
	cursor *order.Cursor
	load   load.Reader
	rows   []int64
	runs   []load.Run
	raw    *load.Table // of direct, where there are casts or windows
	// Of windows: the rows of a side, where they are, and, of direct, whether a window's rows are
	// read with those between them.
	starts   []int64
	segments []load.Segment
	dense    []bool
	anchors  []int64
	straight bool  // they are long, and read where they are to be
	at       *slot // that is being made on a device
}

func (p *pipeline) newMaker() *maker {
	m := &maker{pipeline: p, load: load.Reader{Shards: p.shards, Crew: p.crew}, rows: make([]int64, p.steps.Most())}
	if p.casts != nil || p.view != nil {
		m.raw = load.NewTable(p.layout, load.HostMemory{}, &p.stats.usage)
	}
	if p.view != nil {
		m.straight = p.shards.Shards[0].Tar == nil
		for i := range p.view.Sides {
			m.straight = m.straight && p.view.Sides[i].Straight(p.casts)
		}
	}
	return m
}

func (m *maker) close() {
	if m.raw != nil {
		m.raw.Close()
	}
}

// run makes one batch after the other.
func (m *maker) run() {
	defer m.crew.Bind()()
	defer m.Bind()()
	defer m.close()
	for {
		m.mu.Lock()
		s := m.claim(false)
		for s == nil && !m.stopped {
			m.idle++
			m.work.Wait()
			m.idle--
			s = m.claim(false)
		}
		stopped := m.stopped
		if m.idle > 0 && len(m.free) > 0 && !m.small {
			m.work.Signal()
		}
		m.mu.Unlock()
		if stopped || !m.fill(s) {
			return
		}
	}
}

// fill makes a slot's batch and says that it is there. It returns false after an
// error.
func (m *maker) fill(s *slot) bool {
	err := m.make(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	s.made, s.err = true, err
	if len(m.queue) > 0 && m.queue[0].slot == s {
		m.rouse()
	}
	return err == nil
}
