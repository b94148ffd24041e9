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
	waited       uint64 // the record of loaded that the gathers wait for already
	cleared      uint64 // the record of left that the copies wait for already
	kept         bool   // it is not meant to be loaded again
	read         bool   // behind left
	closed       bool
	pieces       pieceList
}

// NewWindow allocates a window of n bytes. With 0 it has no memory, and orders what is
// gathered from memory of the host. One that is kept is loaded once and costs batches
// nothing; loading it again waits for all gathers.
func (d *Device) NewWindow(n int64, kept bool) (*Window, error) {
	w := &Window{d: d, kept: kept}
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

// mark records left, unless that was done right behind the last gather.
func (w *Window) mark() error {
	if !w.read {
		return nil
	}
	if err := w.d.record(&w.left, w.d.gathers); err != nil {
		return err
	}
	w.read = false
	return nil
}

func (w *Window) load(pieces []Piece) error {
	// The copies come behind the kernels that still read.
	if err := w.mark(); err != nil {
		return err
	}
	w.pieces.clear()
	if w.left.recorded != w.cleared {
		if err := w.d.wait(w.d.copies, &w.left); err != nil {
			return err
		}
		w.cleared = w.left.recorded
	}
	for _, p := range pieces {
		if w.closed || p.At < 0 || !w.mem.inside(w.mem.at+uint64(p.At), int64(len(p.From))) {
			return errors.New("cuda: load outside of a window")
		}
		if err := w.pieces.add(w.d, w.mem.at+uint64(p.At), addressOf(p.From), int64(len(p.From))); err != nil {
			return err
		}
	}
	if err := w.pieces.flush(w.d); err != nil {
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
	if err := w.d.do(w.mark); err != nil {
		return err
	}
	return w.d.await(ctx, &w.left)
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
