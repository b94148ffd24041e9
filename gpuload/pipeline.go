package gpuload

import (
	"context"
	"sync"
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
// so that the batch the consumer waits for always has a slot.
type pipeline struct {
	*Loader
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	queue  chan ticket

	mu    sync.Mutex
	epoch int
	at    int64 // first position of the next step
}

func (l *Loader) startPipeline() *pipeline {
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipeline{Loader: l, ctx: ctx, cancel: cancel, epoch: l.epoch, at: l.position, queue: make(chan ticket, len(l.slots)+2)}
	if l.windows != nil {
		l.windows.reset()
	}
	p.wg.Go(p.main)
	return p
}

// stop ends all goroutines. Slots that the consumer does not hold are free again.
func (p *pipeline) stop() {
	p.cancel()
	if p.windows != nil {
		p.windows.stop()
	}
	p.wg.Wait()
	p.Loader.mu.Lock()
	defer p.Loader.mu.Unlock()
	for len(p.free) > 0 {
		<-p.free
	}
	for _, s := range p.slots {
		for len(s.made) > 0 {
			<-s.made
		}
		if !s.held {
			p.free <- s
		}
	}
}

func (p *pipeline) main() {
	if p.pinned != nil && !p.pinned.filled {
		t := nanos()
		if err := p.pinned.fill(p.ctx, p.shards, p.crew); err != nil {
			p.send(ticket{err: err})
			return
		}
		p.stats.fill.Add(nanos() - t)
		p.trace.event("fill", "read", t, 0, p.pinned.table.size())
	}
	if p.windows != nil {
		epoch, at := p.epoch, p.at
		p.wg.Go(func() { p.windows.run(p.ctx, epoch, at) })
	}
	if a := p.advisor; a != nil {
		a.begun = false
		p.wg.Go(func() { a.run(p.ctx) })
	}
	for i := range p.makers {
		p.wg.Go(func() { p.work(i) })
	}
}

func (p *pipeline) send(t ticket) bool {
	select {
	case p.queue <- t:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// work makes one batch after the other.
func (p *pipeline) work(number int) {
	m := &maker{pipeline: p, number: number, load: loader{shardSet: p.shards, crew: p.crew}, rows: make([]int64, p.steps.batch)}
	for {
		var s *slot
		select {
		case s = <-p.free:
		case <-p.ctx.Done():
			return
		}
		if !p.next(s) {
			return
		}
		err := m.make(s)
		s.made <- err
		if err != nil {
			return
		}
	}
}

// next gives a slot the next step and puts it into the queue.
func (p *pipeline) next(s *slot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.steps.count(p.at) == 0 {
		if !p.send(ticket{epoch: p.epoch}) {
			return false
		}
		p.epoch, p.at = p.epoch+1, 0
	}
	st := &p.steps
	first, stride, rows := st.rows(p.at)
	s.epoch, s.from, s.step = p.epoch, p.at, p.at/st.global()
	s.first, s.stride, s.rows = first, stride, int(rows)
	p.at += st.global()
	if p.windows != nil && rows > 0 {
		p.windows.claim(s.generations(p.windows))
	}
	if p.advisor != nil && rows > 0 {
		p.advisor.touch(s.epoch, s.first)
	}
	return p.send(ticket{slot: s})
}

// generations is the range of those that a batch's rows lie in.
func (s *slot) generations(w *windows) (a, b generationKey) {
	return w.keyOf(s.epoch, s.first), w.keyOf(s.epoch, s.first+int64(s.rows-1)*s.stride)
}

// maker is one goroutine's memory.
type maker struct {
	*pipeline
	number int
	cursor *cursor
	load   loader
	rows   []int64
	runs   []run
}

// make fills a slot with its step's samples and sends it to the device.
func (m *maker) make(s *slot) error {
	if err := m.dev.reuse(m.ctx, s); err != nil {
		return err
	}
	if m.cursor == nil || m.cursor.epoch != uint64(s.epoch) {
		m.cursor = m.order.cursor(s.epoch)
	}
	if m.cfg.Synthetic && s.filled {
		return m.transfer(s)
	}
	s.known, s.filled = false, true
	var err error
	switch {
	case m.windows != nil && s.rows > 0:
		err = m.fromWindows(s)
	case m.pinned != nil:
		err = m.fromPinned(s)
	default:
		err = m.direct(s)
	}
	if err != nil {
		return err
	}
	return m.transfer(s)
}

// transfer sends a slot to the device.
func (m *maker) transfer(s *slot) error {
	t := nanos()
	err := m.dev.send(s)
	m.stats.copied.Add(nanos() - t)
	m.trace.event("copy", "copy", t, s.step, s.table.size())
	return err
}

func (m *maker) fromWindows(s *slot) error {
	a, b := s.generations(m.windows)
	defer m.windows.done(a, b)
	if err := m.windows.segments(s, m.cursor, m.rows); err != nil {
		return err
	}
	return m.gather(s)
}

func (m *maker) fromPinned(s *slot) error {
	m.items(s)
	s.segments = append(s.segments[:0], segment{m.pinned.table, s.ids[:s.rows], 0})
	return m.gather(s)
}

// items computes the samples of a batch, where they are needed to make it.
func (m *maker) items(s *slot) {
	s.cursor, m.cursor = m.cursor, s.cursor
	s.number(m.order)
	s.cursor, m.cursor = m.cursor, s.cursor
}

func (m *maker) gather(s *slot) error {
	t := nanos()
	var err error
	if g, ok := m.dev.(deviceGatherer); ok {
		err = g.gather(m.crew, s, m.steps.batch, s.segments)
	} else {
		err = gather(m.crew, s.table, m.steps.batch, s.segments)
	}
	m.stats.gathered.Add(nanos() - t)
	m.trace.event("gather", "gather", t, s.step, s.table.size())
	return err
}

// direct reads a batch's samples from the shards into the slot.
func (m *maker) direct(s *slot) error {
	t := nanos()
	m.items(s)
	m.runs = m.runs[:0]
	for j := 0; j < s.rows; {
		n := 1
		for j+n < s.rows && s.ids[j+n] == s.ids[j]+int64(n) {
			n++
		}
		m.runs = appendRuns(m.runs, m.shards, nil, s.ids[j], int64(n), int64(j))
		j += n
	}
	err := m.load.load(m.ctx, s.table, m.steps.batch, m.runs)
	if err == nil && int64(s.rows) < m.steps.batch {
		s.table.zero(int64(s.rows))
	}
	m.trace.event("read", "read", t, s.step, s.table.size())
	return err
}
