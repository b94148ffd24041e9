package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/shardify/shardify"
)

// Slot is the device memory of one batch: a stable address for each tensor.
//
// The order of calls is Reuse, then Fill, or Send as often as needed and Done, then
// Ready, Release.
type Slot struct {
	d       *Device
	tensors []buffer
	rows    []byte // pinned: row numbers, read by kernels where no formula computes them
	numbers buffer // I64: the batch's samples, where they are wanted
	casts   []*Cast
	affine  []buffer // by tensor: scales, then shifts

	// Inside visits:
	sent, gathered   event
	sends, gathers   bool    // in this round
	sending, listing bool    // copies, gathers: they read host memory of the batch
	entered          [2]bool // copies, gathers: they wait for left already
	done             bool
	handover
	closed    bool
	launch    launch
	reads     []*Window // since gathered was recorded
	pieces    pieceList
	addresses []atomic.Uint64
}

// SlotOptions says what a slot holds.
type SlotOptions struct {
	// Tensors is the bytes of each tensor. One that turns out longer is allocated again,
	// which waits for the device.
	Tensors []int64
	// Rows is the most rows of a batch whose numbers are Batch.IDs; 0 pins no memory for
	// them.
	Rows int64
	// Numbers is the most rows of a batch whose sample numbers the device writes; 0: it writes none.
	Numbers int64
	// Casts is, by tensor, what a batch's columns are converted to; shorter or nil: nothing.
	Casts []*Cast
}

// NewSlot allocates a slot.
func (d *Device) NewSlot(o SlotOptions) (*Slot, error) {
	s := &Slot{d: d, tensors: make([]buffer, len(o.Tensors)), affine: make([]buffer, len(o.Tensors)), casts: make([]*Cast, len(o.Tensors)), addresses: make([]atomic.Uint64, len(o.Tensors))}
	for i, c := range o.Casts[:min(len(o.Casts), len(o.Tensors))] {
		if c == nil {
			continue
		}
		k := *c
		if err := k.check(); err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, err)
		}
		s.casts[i] = &k
	}
	if o.Rows > 0 {
		b, err := d.Alloc(o.Rows*8, 8)
		if err != nil {
			return nil, err
		}
		s.rows = b
	}
	if err := d.do(func() error { return s.make(o) }); err != nil {
		return nil, errors.Join(err, d.Free(s.rows))
	}
	for i, c := range s.casts {
		if c == nil || len(c.Scale) == 0 {
			continue
		}
		if err := s.upload(i, c); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Slot) make(o SlotOptions) (err error) {
	d := s.d
	defer func() {
		if err != nil {
			err = errors.Join(err, s.destroy())
		}
	}()
	for _, e := range s.events() {
		if *e, err = d.newEvent(eventDisableTiming | eventBlockingSync); err != nil {
			return err
		}
	}
	for i, n := range o.Tensors {
		if s.tensors[i], err = d.newBuffer(n); err != nil {
			return fmt.Errorf("tensor %d: %w", i, err)
		}
		s.addresses[i].Store(s.tensors[i].at)
	}
	if s.numbers, err = d.newBuffer(o.Numbers * 8); err != nil {
		return fmt.Errorf("numbers of samples: %w", err)
	}
	for i, c := range s.casts {
		if c == nil || len(c.Scale) == 0 {
			continue
		}
		if s.affine[i], err = d.newBuffer(int64(len(c.Scale)) * 8); err != nil {
			return fmt.Errorf("scales of tensor %d: %w", i, err)
		}
	}
	d.live[s] = struct{}{}
	return nil
}

// upload copies scales and shifts to the device and waits.
func (s *Slot) upload(i int, c *Cast) error {
	d := s.d
	b, err := d.Alloc(int64(len(c.Scale))*8, 4)
	if err != nil {
		return err
	}
	f := shardify.View[float32](b)
	copy(f[copy(f, c.Scale):], c.Shift)
	err = d.do(func() error {
		return errors.Join(s.pieces.add(d, d.copies, s.affine[i].at, addressOf(b), int64(len(b))), s.pieces.flush(d, d.copies))
	})
	if err == nil {
		err = d.Drain(context.Background())
	}
	return errors.Join(err, d.Free(b))
}

// Numbers is the device address of the batch's samples, if SlotOptions wants them.
func (s *Slot) Numbers() uint64 { return s.numbers.at }

// Ptr is the device address of tensor i.
func (s *Slot) Ptr(i int) uint64 { return s.addresses[i].Load() }

// begin refuses to write a slot that is not free.
func (s *Slot) begin() error {
	switch {
	case s.done || s.closed:
		return errors.New("cuda: slot written between Done and Reuse")
	case s.handed:
		return errors.New("cuda: slot written before its consumer released it")
	}
	return nil
}

// enter makes a stream of the device wait, once a round, until the consumer left the
// slot. A stream that does not write the slot need not: loads of windows would queue
// behind a consumer at work.
func (s *Slot) enter(stream uintptr) error {
	k := 0
	if stream == s.d.gathers {
		k = 1
	}
	if s.entered[k] {
		return nil
	}
	s.entered[k] = true
	for i := range s.behind() {
		if err := s.d.wait(stream, &s.left[i]); err != nil {
			return err
		}
	}
	return nil
}

// Send starts the copy of b, pinned memory, to the beginning of tensor i. b must
// stay as it is until Reuse.
func (s *Slot) Send(i int, b []byte) error {
	return s.d.do(func() error { return s.send(i, b) })
}

func (s *Slot) send(i int, b []byte) error {
	if err := s.begin(); err != nil {
		return err
	}
	if err := s.room(i, int64(len(b))); err != nil {
		return err
	}
	if len(b) == 0 {
		return nil
	}
	if err := s.enter(s.d.copies); err != nil {
		return err
	}
	s.reading(s.d.copies)
	return errors.Join(s.pieces.add(s.d, s.d.copies, s.tensors[i].at, addressOf(b), int64(len(b))), s.pieces.flush(s.d, s.d.copies))
}

// room replaces tensor i if it is too small. The driver waits for all work before
// it frees memory.
func (s *Slot) room(i int, n int64) error {
	if n <= s.tensors[i].size {
		return nil
	}
	// What is freed below must not be the consumer's any more.
	if err := s.enter(s.d.copies); err != nil {
		return err
	}
	b, err := s.d.newBuffer(n + n/4)
	if err != nil {
		return fmt.Errorf("tensor %d: %w", i, err)
	}
	old := s.tensors[i]
	s.tensors[i] = b
	s.addresses[i].Store(b.at)
	if old.at == 0 {
		return nil
	}
	return errors.Join(s.d.settle(), s.d.freeBuffer(&old))
}

// Done ends a batch; name is for errors that show later.
func (s *Slot) Done(name string) error {
	return s.d.do(func() error { return s.finish(name) })
}

func (s *Slot) finish(name string) error {
	if err := s.begin(); err != nil {
		return err
	}
	if s.entered == [2]bool{} {
		// A batch without bytes comes behind the one before, too.
		if err := s.enter(s.d.copies); err != nil {
			return err
		}
	}
	if err := s.mark(); err != nil {
		return err
	}
	s.d.began(name)
	s.done, s.leaves, s.users, s.unknown = true, 0, s.users[:0], false
	return nil
}

// mark notes where the work on the batch ends.
func (s *Slot) mark() error {
	if s.sends || !s.gathers {
		if err := s.d.record(&s.sent, s.d.copies); err != nil {
			return err
		}
		s.sends = true
	}
	return s.markReads()
}

// Wait waits on the host for the batch: the memory it came from is then free.
func (s *Slot) Wait(ctx context.Context) error {
	var list []*event
	if s.sends {
		list = append(list, &s.sent)
	}
	if s.gathers {
		list = append(list, &s.gathered)
	}
	return s.d.await(ctx, list...)
}

// Reuse waits until host memory that was sent, and row numbers, may be written. The device
// orders the rest; Window.Left covers what sources read. Reuse also forgets a batch that failed
// halfway.
func (s *Slot) Reuse(ctx context.Context) error {
	if !s.done && (s.sends || s.gathers) {
		// Work was started but never ended: mark its end now.
		if err := s.d.do(s.mark); err != nil {
			return err
		}
	}
	var list []*event
	if s.sending {
		list = append(list, &s.sent)
	}
	if s.listing {
		list = append(list, s.d.behind(&s.gathered))
	}
	if err := s.d.await(ctx, list...); err != nil {
		return err
	}
	s.sends, s.gathers, s.sending, s.listing, s.done, s.entered = false, false, false, false, false, [2]bool{}
	return nil
}

// Close waits for the slot's work and gives its memory back. Closing twice does
// nothing.
func (s *Slot) Close() error {
	d := s.d
	err := d.visit(func() error {
		if s.closed {
			return nil
		}
		return errors.Join(d.settle(), s.destroy())
	})
	if errors.Is(err, errClosed) {
		return nil
	}
	rows := s.rows
	s.rows = nil
	return errors.Join(err, d.Free(rows))
}

func (s *Slot) events() []*event {
	list := []*event{&s.sent, &s.gathered}
	for i := range s.left {
		list = append(list, &s.left[i])
	}
	return list
}

// destroy runs inside a visit.
func (s *Slot) destroy() error {
	d := s.d
	s.closed = true
	delete(d.live, s)
	var all []error
	for i := range s.behind() {
		// The consumer may still be at work; freeing memory need not wait for it.
		all = append(all, d.given(d.drv.eventSynchronize(s.left[i].handle)))
	}
	all = append(all, d.destroyEvents(s.events()...))
	all = append(all, d.freeBuffer(&s.numbers))
	for i := range s.tensors {
		all = append(all, d.freeBuffer(&s.tensors[i]), d.freeBuffer(&s.affine[i]))
	}
	return errors.Join(all...)
}
