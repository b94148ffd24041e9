package parquet

import (
	"context"
	"errors"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/parquet/internal/page"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

const (
	// headGuess is what is read to find a page header in it, at least.
	headGuess = 16 << 10
	// readAhead is how much of a chunk is read at a time where all of it is wanted.
	readAhead = 1 << 20
	// keepWindow bounds the window that is kept: a page may be very long.
	keepWindow = 8 << 20
)

// window is a piece of a file in memory.
type window struct {
	r   io.ReaderAt
	buf []byte
	off int64   // of buf in the file
	own *reader // whose memory it is; nil for a look at a few pages
}

// get returns n bytes at off, which are there, and reads up to ahead more of them
// before end. They are valid until the next call, with page.Slack bytes of capacity
// behind them.
func (w *window) get(ctx context.Context, off, n, ahead, end int64) ([]byte, error) {
	if off >= w.off && off+n <= w.off+int64(len(w.buf)) {
		at := off - w.off
		return w.buf[at : at+n], nil
	}
	want := min(max(n, ahead), end-off)
	if want < n {
		return nil, shardify.Corrupt(off, "the column ends inside of a page")
	}
	if int64(cap(w.buf)) < want+page.Slack || cap(w.buf) > keepWindow && want < keepWindow {
		if err := w.make(ctx, want+page.Slack); err != nil {
			return nil, err
		}
	}
	w.buf, w.off = w.buf[:want], off
	if k, err := w.r.ReadAt(w.buf, off); int64(k) < want {
		w.buf = w.buf[:0]
		if errors.Is(err, io.EOF) {
			return nil, shardify.Corrupt(off+int64(k), "the file ends")
		}
		return nil, err
	}
	return w.buf[:n], nil
}

// give leaves the buffer to those that hold a part of it.
func (w *window) give() {
	if w.own != nil {
		w.own.held(int64(cap(w.buf)), 0)
	}
	w.buf = nil
}

// make replaces the buffer.
func (w *window) make(ctx context.Context, n int64) error {
	if w.own != nil {
		w.give()
		if err := errors.Join(w.own.hold(ctx, 0), w.own.hold(ctx, n)); err != nil {
			return err
		}
		w.own.held(0, n)
	}
	w.buf = make([]byte, n)
	return nil
}

// header reads the page header at off and returns its length.
func (w *window) header(ctx context.Context, off, ahead, end int64, h *pq.PageHeader) (int64, error) {
	if off > end { // behind a page that is longer than its column
		return 0, shardify.Corrupt(off, "the column ends inside of a page")
	}
	for guess := int64(headGuess); ; guess *= 8 {
		n := min(guess, end-off)
		if have := w.off + int64(len(w.buf)) - off; off >= w.off && have > 0 && guess == headGuess {
			n = min(n, have)
		}
		b, err := w.get(ctx, off, n, ahead, end)
		if err != nil {
			return 0, err
		}
		k, err := pq.ReadPageHeader(b, h)
		switch {
		case err == nil:
			return int64(k), nil
		case !errors.Is(err, pq.ErrShort):
			return 0, at(err, off)
		case n == end-off:
			return 0, shardify.Corrupt(off, "the column ends inside of a page header")
		case guess > pq.MaxPageHeader:
			return 0, shardify.Corrupt(off, "a page header of more than %s", shardify.FormatSize(pq.MaxPageHeader))
		}
	}
}

// at gives an error the offset in the file, unless it has one.
func at(err error, off int64) error {
	return shardify.Amend(err, func(e *shardify.Error) {
		if e.Offset < 0 {
			e.Offset = off
		}
	})
}
