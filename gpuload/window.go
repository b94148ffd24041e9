package gpuload

import (
	"context"
	"sync"
)

// windows reads the streams of a Block shuffle ahead, a generation at a time: the
// next stretch of every stream that this rank has. Two generations are in memory,
// one being drawn from and one being read. A batch's rows lie in one generation or
// in two that follow each other.
type windows struct {
	order  *Order
	shards *shardSet
	crew   *crew
	steps  steps
	span   int64 // places of a stream in a generation, whole windows
	stride int64 // between this rank's streams
	trace  *tracer
	from   *pinned // where the samples come from; nil is the shards

	mu      sync.Mutex
	changed *sync.Cond
	states  map[generationKey]*generationState
	free    []*generation
	all     []*generation
	floor   generationKey // older ones are not needed any more
	stopped bool
	err     error
}

type generationKey struct {
	epoch int
	k     int64
}

func (a generationKey) before(b generationKey) bool {
	return a.epoch < b.epoch || a.epoch == b.epoch && a.k < b.k
}

type generationState struct {
	refs   int // batches that are being made from it
	gen    *generation
	loaded bool
}

func newWindows(o *Order, s *shardSet, c *crew, st steps, dev device, used *counters, trace *tracer) *windows {
	w := &windows{order: o, shards: s, crew: c, steps: st, trace: trace, states: map[generationKey]*generationState{}}
	w.changed = sync.NewCond(&w.mu)
	w.span, w.stride = generationShape(o, &st)
	for range 2 {
		w.all = append(w.all, &generation{
			table: newTable(s.layout, dev, used),
			load:  loader{shardSet: s, crew: c},
		})
	}
	return w
}

// generationShape is a generation's places of each stream, and the distance of the
// streams of one rank.
func generationShape(o *Order, st *steps) (span, stride int64) {
	c := o.shape.streams
	batch := (st.most()-1)*st.world/c + 2 // places of a stream that a batch may touch
	span = (batch + o.shape.window - 1) / o.shape.window * o.shape.window
	return min(span, (o.parts[0].n+c-1)/c), gcd(st.world, c)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// rows is the rows of a generation.
func (w *windows) rows() int64 { return w.order.shape.streams / w.stride * w.span }

// keyOf is the generation of a position.
func (w *windows) keyOf(epoch int, q int64) generationKey {
	return generationKey{epoch, q / w.order.shape.streams / w.span}
}

// reset makes the windows ready for another run; nothing is in use.
func (w *windows) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.states)
	w.free = append(w.free[:0], w.all...)
	w.floor, w.stopped, w.err = generationKey{}, false, nil
}

func (w *windows) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.changed.Broadcast()
}

func (w *windows) close() {
	for _, g := range w.all {
		g.table.close()
	}
}

// run reads generation after generation from a position on, until stopped.
func (w *windows) run(ctx context.Context, epoch int, from int64) {
	for ; ; epoch, from = epoch+1, 0 {
		n := w.steps.count(from)
		lo, stride, rows := w.steps.rows(from)
		if n == 0 || rows == 0 { // then later steps have none either
			if from == 0 {
				return // as every epoch
			}
			continue
		}
		end, _, last := w.steps.rows(from + (n-1)*w.steps.global())
		end += max(last-1, 0) * stride
		for k := w.keyOf(epoch, lo); k.k <= w.keyOf(epoch, end).k; k.k++ {
			if !w.read(ctx, k, lo%w.stride) {
				return
			}
		}
	}
}

// read reads one generation when there is memory for it.
func (w *windows) read(ctx context.Context, key generationKey, first int64) bool {
	w.mu.Lock()
	for len(w.free) == 0 && !w.stopped {
		w.changed.Wait()
	}
	// Passed over is what no batch needs; one in the making may need an older one.
	if s := w.states[key]; w.stopped || key.before(w.floor) && (s == nil || s.refs == 0) {
		defer w.mu.Unlock()
		return !w.stopped
	}
	g := w.free[len(w.free)-1]
	w.free = w.free[:len(w.free)-1]
	w.mu.Unlock()

	g.first = first
	t := nanos()
	err := g.read(ctx, w, key)
	w.trace.event("window", "read", t, key.k, g.table.size())

	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.err = err
	} else {
		s := w.state(key)
		s.gen, s.loaded = g, true
		w.recycle(key, s)
	}
	w.changed.Broadcast()
	return err == nil && !w.stopped
}

// claim notes that a batch will be made from generations a to b, and that none
// older than a is needed any more. Claims come in order.
func (w *windows) claim(a, b generationKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.floor = a
	for k := a; !b.before(k); k.k++ {
		w.state(k).refs++
	}
	for k, s := range w.states {
		w.recycle(k, s)
	}
}

func (w *windows) state(k generationKey) *generationState {
	s := w.states[k]
	if s == nil {
		s = &generationState{}
		w.states[k] = s
	}
	return s
}

// recycle frees a generation that nobody needs.
func (w *windows) recycle(k generationKey, s *generationState) {
	if s.refs > 0 || !s.loaded || !k.before(w.floor) {
		return
	}
	w.free = append(w.free, s.gen)
	delete(w.states, k)
	w.changed.Broadcast()
}

// wait returns a claimed generation once it is there.
func (w *windows) wait(k generationKey) (*generation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state(k)
	for !s.loaded && w.err == nil && !w.stopped {
		w.changed.Wait()
	}
	if s.loaded {
		return s.gen, nil
	}
	if w.err != nil {
		return nil, w.err
	}
	return nil, context.Canceled
}

// done ends a batch's claim.
func (w *windows) done(a, b generationKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := a; !b.before(k); k.k++ {
		s := w.state(k)
		s.refs--
		w.recycle(k, s)
	}
}

// loaded tells whether generations a to b are in memory.
func (w *windows) loaded(a, b generationKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := a; !b.before(k); k.k++ {
		if s := w.states[k]; s == nil || !s.loaded {
			return false
		}
	}
	return true
}
