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
	loaded event
	waited uint64 // the record of loaded that the gathers wait for already
	// left is the slot's event that was recorded behind the last gather from the window; nil
	// if the copies, or the host, have waited for it.
	left   *event
	closed bool
	pieces pieceList
}

// NewWindow allocates a window of n bytes. With 0 it has no memory, and orders what is
// gathered from memory of the host.
func (d *Device) NewWindow(n int64) (*Window, error) {
	w := &Window{d: d}
	err := d.do(func() (err error) {
		defer func() {
			if err != nil {
				err = errors.Join(err, w.destroy())
			}
		}()
		if w.loaded, err = d.newEvent(eventDisableTiming | eventBlockingSync); err != nil {
			return err
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

// reader is the event behind the last gather, or nil. One that was destroyed belonged to a slot
// whose work was waited for.
func (w *Window) reader() *event {
	if w.left != nil && w.left.handle == 0 {
		w.left = nil
	}
	return w.left
}

func (w *Window) load(pieces []Piece) error {
	w.pieces.clear()
	// The copies come behind the kernels that still read.
	if e := w.reader(); e != nil {
		if err := w.d.wait(w.d.copies, e); err != nil {
			return err
		}
		w.left = nil
	}
	for _, p := range pieces {
		if w.closed || p.At < 0 || !w.mem.inside(w.mem.at+uint64(p.At), int64(len(p.From))) {
			return errors.New("cuda: load outside of a window")
		}
		if err := w.pieces.add(w.d, w.d.copies, w.mem.at+uint64(p.At), addressOf(p.From), int64(len(p.From))); err != nil {
			return err
		}
	}
	if err := w.pieces.flush(w.d, w.d.copies); err != nil {
		return err
	}
	return w.d.record(&w.loaded, w.d.copies)
}

// Piece is pinned memory and the byte of a window that it goes to.
type Piece struct {
	At   int64
	From []byte
}

// visitPieces is how many copies are started by one visit, so that others get their turn: one
// call of the driver, where it takes many copies by one.
const visitPieces = maxPieces

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

// Left waits on the host until all gathers that began before are done: host memory that they
// read may be written.
func (w *Window) Left(ctx context.Context) error {
	w.d.order.Lock()
	e := w.reader()
	w.d.order.Unlock()
	if e == nil {
		return ctx.Err()
	}
	return w.d.await(ctx, e)
}

// Bytes is the memory of the window.
func (w *Window) Bytes() int64 { return w.mem.size }

// Close waits for what uses the window and gives its memory back.
func (w *Window) Close() error {
	d := w.d
	err := d.visit(func() error {
		if w.closed {
			return nil
		}
		return errors.Join(d.settle(), w.destroy())
	})
	if errors.Is(err, errClosed) {
		return nil
	}
	return err
}

func (w *Window) destroy() error {
	w.closed = true
	delete(w.d.live, w)
	return errors.Join(w.d.destroyEvents(&w.loaded), w.d.freeBuffer(&w.mem))
}
