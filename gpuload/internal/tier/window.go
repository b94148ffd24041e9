package tier

import (
	"context"
	"sync"

	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/trace"
	"github.com/shardify/shardify/gpuload/order"
)

// Windows reads the streams of a Block shuffle ahead, a generation at a time: the next
// stretch of every stream that this rank has. Two generations are in memory: batches are
// drawn from one while the other is read. A batch's rows are in one generation or in two
// consecutive ones.
type Windows struct {
	order.Windows
	shards *load.Shards
	crew   *load.Crew
	dev    device.Device
	// done is called after a generation was read, with its start, number and bytes.
	done func(start, k, bytes int64)
	From *Pinned // where the samples come from; nil is the shards
	// View is what a sample is, if not a row.
	View *load.View

	mu      sync.Mutex
	changed *sync.Cond
	states  map[order.Key]*generationState
	free    []*generation
	All     []*generation
	floor   order.Key // older ones are not needed any more
	stopped bool
	err     error
}

type generationState struct {
	refs   int // batches that are being made from it
	gen    *generation
	loaded bool
}

// NewWindows makes room for two generations when they are read.
func NewWindows(o *order.Order, s *load.Shards, c *load.Crew, st *order.Steps, dev device.Device, used *load.Usage, done func(start, k, bytes int64)) *Windows {
	w := &Windows{Windows: o.Windows(st), shards: s, crew: c, dev: dev, done: done, states: map[order.Key]*generationState{}}
	w.changed = sync.NewCond(&w.mu)
	for range 2 {
		w.All = append(w.All, &generation{
			Table: load.NewTable(s.Layout, dev, used),
			load:  load.Reader{Shards: s, Crew: c},
		})
	}
	return w
}

// Pin takes samples from pinned memory, and the absent tensors to the device's.
func (w *Windows) Pin(p *Pinned, dev device.GPU, absent []bool) error {
	w.From = p
	for _, g := range w.All {
		g.Table.Absent, g.Table.Rows = absent, w.Rows()
		for i := range g.Table.Counts {
			if absent[i] {
				g.Table.Counts[i] = w.Rows()
			}
		}
		if err := dev.Reserve(g.Table); err != nil {
			return err
		}
	}
	return nil
}

// Reset makes the windows ready for another run; nothing is in use.
func (w *Windows) Reset() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.states)
	w.free = append(w.free[:0], w.All...)
	w.floor, w.stopped, w.err = order.Key{}, false, nil
}

// Stop ends Run, and who waits for a generation.
func (w *Windows) Stop() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.changed.Broadcast()
}

// Close gives the memory back.
func (w *Windows) Close() {
	if w == nil {
		return
	}
	for _, g := range w.All {
		g.Table.Close()
	}
}

// Run reads generation after generation from a position on, until stopped.
func (w *Windows) Run(ctx context.Context, epoch int, from int64) {
	for ; ; epoch, from = epoch+1, 0 {
		k, last, first, ok := w.Epoch(epoch, from)
		if !ok {
			if from == 0 {
				return // as every epoch
			}
			continue
		}
		for ; !last.Before(k); k = k.Next() {
			if !w.read(ctx, k, first) {
				return
			}
		}
	}
}

// read reads one generation when there is memory for it.
func (w *Windows) read(ctx context.Context, key order.Key, first int64) bool {
	w.mu.Lock()
	for len(w.free) == 0 && !w.stopped {
		w.changed.Wait()
	}
	// Skip a generation that no batch needs; a batch that is being made may need an older one.
	if s := w.states[key]; w.stopped || key.Before(w.floor) && (s == nil || s.refs == 0) {
		defer w.mu.Unlock()
		return !w.stopped
	}
	g := w.free[len(w.free)-1]
	w.free = w.free[:len(w.free)-1]
	w.mu.Unlock()

	g.first = first
	t := trace.Nanos()
	err := g.read(ctx, w, key)
	w.done(t, key.K, g.Table.Size())

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

// Claim notes that a batch will be made from generations a to b, and that none
// older than a is needed any more. Claims come in order.
func (w *Windows) Claim(a, b order.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.floor = a
	for k := a; !b.Before(k); k = k.Next() {
		w.state(k).refs++
	}
	for k, s := range w.states {
		w.recycle(k, s)
	}
}

func (w *Windows) state(k order.Key) *generationState {
	s := w.states[k]
	if s == nil {
		s = &generationState{}
		w.states[k] = s
	}
	return s
}

// recycle frees a generation that no batch needs.
func (w *Windows) recycle(k order.Key, s *generationState) {
	if s.refs > 0 || !s.loaded || !k.Before(w.floor) {
		return
	}
	w.free = append(w.free, s.gen)
	delete(w.states, k)
	w.changed.Broadcast()
}

// wait returns a claimed generation once it is there.
func (w *Windows) wait(k order.Key) (*generation, error) {
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

// Unclaim ends a batch's claim.
func (w *Windows) Unclaim(a, b order.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := a; !b.Before(k); k = k.Next() {
		s := w.state(k)
		s.refs--
		w.recycle(k, s)
	}
}

// Loaded reports whether generations a to b are in memory.
func (w *Windows) Loaded(a, b order.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k := a; !b.Before(k); k = k.Next() {
		if s := w.states[k]; s == nil || !s.loaded {
			return false
		}
	}
	return true
}
