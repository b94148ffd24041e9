package gpuload

import (
	"errors"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/internal/poison"
)

// slot is the memory of one batch, used again and again. It belongs to one
// goroutine at a time: the one that makes the batch, then the consumer.
type slot struct {
	turn
	Table *load.Table
	Sides []*load.Table // of windows: the table as rows
	On    device.Slot   // the same on the device
	order.Step
	numbers
	Keep   bool // Config.Synthetic: the content is to stay
	filled bool // once, which is enough for Config.Synthetic
}

// numbers are those of a batch's samples.
type numbers struct {
	ids    []int64
	naming sync.Mutex    // guards ids once the consumer has them
	known  bool          // ids are those of the batch; else they are computed when asked for
	cursor *order.Cursor // for that
}

// refill begins another batch in the slot. It returns false if the one that it has is to stay.
func (s *slot) refill() bool {
	if s.Keep && s.filled {
		return false
	}
	s.known, s.filled = false, true
	return true
}

// items are the samples of a batch that is being made; computed reports that they were not known.
func (s *slot) items(w *samples, cur *order.Cursor) (ids []int64, computed bool) {
	if !s.known {
		s.number(w, cur)
		computed = true
	}
	return s.ids[:s.Rows], computed
}

// names are the samples of a batch that the consumer has, and of its padding: -1.
func (s *slot) names(w *samples) []int64 {
	s.naming.Lock()
	defer s.naming.Unlock()
	if !s.known {
		if s.cursor == nil || s.cursor.Epoch() != s.Epoch {
			s.cursor = w.Order.Cursor(s.Epoch)
		}
		s.number(w, s.cursor)
	}
	return s.ids
}

func (s *slot) number(w *samples, cur *order.Cursor) {
	w.Steps.Fill(s.ids[:s.Rows], &s.Step, cur)
	for j := s.Rows; j < int(s.Size); j++ {
		s.ids[j] = -1
	}
	s.known = true
}

// poison makes what a released batch held unreadable in test builds.
func (s *slot) poison() {
	if s.Keep {
		return
	}
	for i := range s.Table.Data {
		poison.Fill(s.Table.Bytes(i))
	}
	poison.Fill(shardify.Bytes(s.ids))
}

// slots makes the memory of batches, which outlives the Loader as long as a batch is held.
type slots struct {
	Want *samples
	Dev  *target
	From *sources
	// Spares is memory of tensors that came back.
	Spares *load.Spares
	cfg    *Config
	usage  *load.Usage
	queue  *queue
}

// add makes another slot.
func (d *slots) add() error {
	w, absent := d.Want, d.From.Absent
	s := &slot{Table: load.NewTable(w.Out, d.Dev.Dev, d.usage), Keep: d.cfg.Synthetic, numbers: numbers{ids: make([]int64, w.Steps.Most())}}
	if s.Table.Casts = w.Casts; w.View != nil {
		s.Table.Casts = nil // its sides have them
		for i := range w.View.Sides {
			s.Sides = append(s.Sides, w.View.Sides[i].Table(s.Table, w.Casts))
		}
	}
	s.Table.Absent, s.On.Table, s.On.Listed = absent, s.Table, d.From.Listed
	s.On.Numbers = d.cfg.Numbers && absent != nil
	if d.Dev.Host {
		s.Table.Spares = d.Spares
	}
	err := s.Table.Reset(w.Steps.Most())
	if err == nil {
		err = d.Dev.Dev.Attach(&s.On)
	}
	if err != nil {
		s.Table.Close()
		return err
	}
	d.queue.add(s)
	return nil
}

// release takes a slot back that the consumer held. A loader that was closed meanwhile has no use
// for it.
func (d *slots) release(s *slot, streams []device.Stream) error {
	err := d.Dev.Dev.Release(&s.On, streams...)
	if errors.Is(err, ErrCapture) {
		return err
	}
	if d.Dev.Host {
		s.poison()
	}
	if closed := d.queue.giveBack(s); closed {
		d.free(s)
	}
	return err
}

func (d *slots) free(s *slot) {
	d.Dev.Dev.Detach(&s.On)
	s.Table.Close()
	for _, t := range s.Sides {
		t.Close()
	}
}

// close frees all memory but that of batches which the consumer holds.
func (d *slots) close() {
	for _, s := range d.queue.close() {
		d.free(s)
	}
	d.Spares.Close()
}
