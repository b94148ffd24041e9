package cuda

import (
	"context"
	"errors"
)

// Window is device memory that is filled from the host and that slots gather from,
// over and over.
type Window struct {
	d   *Device
	mem buffer
	// Inside visits:
	loaded, left event
	read         bool
	closed       bool
}

// NewWindow allocates a window of n bytes.
func (d *Device) NewWindow(n int64) (*Window, error) {
	w := &Window{d: d}
	err := d.do(func() (err error) {
		defer func() {
			if err != nil {
				err = errors.Join(err, w.destroy())
			}
		}()
		for _, e := range []*event{&w.loaded, &w.left} {
			if *e, err = d.newEvent(eventDisableTiming | eventBlockingSync); err != nil {
				return err
			}
		}
		if w.mem, err = d.newBuffer(n); err != nil {
			return err
		}
		d.live[w] = struct{}{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Load starts the copy of b, pinned memory, to byte at of the window, behind all
// gathers from it that began before. b must stay as it is until Wait.
func (w *Window) Load(at int64, b []byte) error {
	return w.LoadPieces([]Piece{{at, b}})
}

func (w *Window) load(pieces []Piece) error {
	if w.read {
		// The copies come behind the kernels that still read.
		if err := w.d.record(&w.left, w.d.gathers); err != nil {
			return err
		}
		if err := w.d.wait(w.d.copies, &w.left); err != nil {
			return err
		}
		w.read = false
	}
	for _, p := range pieces {
		if w.closed || p.At < 0 || !w.mem.inside(w.mem.at+uint64(p.At), int64(len(p.From))) {
			return errors.New("cuda: load outside of a window")
		}
		if err := w.d.copyIn(w.mem.at+uint64(p.At), addressOf(p.From), int64(len(p.From)), w.d.copies); err != nil {
			return err
		}
	}
	return w.d.record(&w.loaded, w.d.copies)
}

// Piece is pinned memory and the byte of a window that it goes to.
type Piece struct {
	At   int64
	From []byte
}

// visitPieces is how many copies are started by one visit, so that others get their turn.
const visitPieces = 64

// LoadPieces is Load of many pieces.
func (w *Window) LoadPieces(pieces []Piece) error {
	for len(pieces) > 0 {
		n := min(len(pieces), visitPieces)
		some := pieces[:n]
		if err := w.d.do(func() error { return w.load(some) }); err != nil {
			return err
		}
		pieces = pieces[n:]
	}
	return nil
}

// Wait waits on the host until all loads are done: their sources may be written.
func (w *Window) Wait(ctx context.Context) error {
	return w.d.await(ctx, &w.loaded)
}

// Close waits for what uses the window and gives its memory back.
func (w *Window) Close() error {
	d := w.d
	err := d.visit(func() error {
		if w.closed {
			return nil
		}
		return errors.Join(d.settle(), w.destroy())
	})
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

func (w *Window) destroy() error {
	w.closed = true
	delete(w.d.live, w)
	return errors.Join(w.d.destroyEvents(&w.loaded, &w.left), w.d.freeBuffer(&w.mem))
}
