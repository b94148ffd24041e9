package rows

import (
	"container/list"
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/shardify/shardify"
)

// MaxOpen is how many files of a set are kept open.
const MaxOpen = 64

// Handles keeps the files of a Set open, at most MaxOpen of them, the least
// recently used closed first. When more are in use at once they are all open: no
// reader waits for another. T is what the format needs to read a file; it may be
// used by several readers at once.
type Handles[T io.Closer] struct {
	open func(ctx context.Context, f *os.File, in *Input) (T, error)

	mu     sync.Mutex
	files  map[uint32]*Handle[T]
	idle   list.List // of *Handle[T] that nobody uses, the least recently used first
	closed bool
}

// Handle is a file in use.
type Handle[T io.Closer] struct {
	Value T

	cache *Handles[T]
	input uint32
	ready chan struct{} // closed when Value or err is set
	err   error
	users int
	stale bool          // not in the cache any more; see Reopen
	at    *list.Element // in idle
}

var errClosed = errors.New("the source is closed")

// NewHandles makes an empty cache. open gets the file, opened and found to have the
// size that it had at the survey; after success the T owns f and closes it, after an
// error open need not close it.
func NewHandles[T io.Closer](open func(ctx context.Context, f *os.File, in *Input) (T, error)) *Handles[T] {
	return &Handles[T]{open: open, files: map[uint32]*Handle[T]{}}
}

// Acquire returns the file of an input, open. Several calls at once open it once.
// Errors are not kept: a later call tries again. They name the file.
func (h *Handles[T]) Acquire(ctx context.Context, in *Input) (*Handle[T], error) {
	for {
		x, mine, err := h.lookup(in)
		if err != nil {
			return nil, err
		}
		if mine {
			return h.fill(ctx, x, in)
		}
		select {
		case <-x.ready:
		case <-ctx.Done():
			x.Release()
			return nil, context.Cause(ctx)
		}
		if x.err == nil {
			return x, nil
		}
		x.Release()
		// Who opened it may have been cancelled: that is no news about the file.
		if !errors.Is(x.err, context.Canceled) && !errors.Is(x.err, context.DeadlineExceeded) {
			return nil, x.err
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
}

// lookup returns the handle of an input with one more user. If it is mine the caller
// must fill it.
func (h *Handles[T]) lookup(in *Input) (x *Handle[T], mine bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false, errClosed
	}
	x = h.files[in.Index]
	if mine = x == nil; mine {
		x = &Handle[T]{cache: h, input: in.Index, ready: make(chan struct{})}
		h.files[in.Index] = x
	}
	x.users++
	if x.at != nil {
		h.idle.Remove(x.at)
		x.at = nil
	}
	return x, mine, nil
}

// fill opens the file of a new handle. Room is made first, so that there are never
// more than MaxOpen open unless they are in use.
func (h *Handles[T]) fill(ctx context.Context, x *Handle[T], in *Input) (*Handle[T], error) {
	h.evict()
	v, err := h.openOne(ctx, in)
	if x.Value = v; err != nil {
		x.err = shardify.Annotate(err, "open", in.Name(), "")
		h.mu.Lock()
		if h.files[x.input] == x {
			delete(h.files, x.input) // before ready, so that nobody finds it who comes later
		}
		h.mu.Unlock()
	}
	close(x.ready)
	if x.err != nil {
		x.Release()
		return nil, x.err
	}
	return x, nil
}

func (h *Handles[T]) openOne(ctx context.Context, in *Input) (v T, err error) {
	f, _, err := OpenFile(in.Path(), in.Size)
	if err != nil {
		return v, err
	}
	if v, err = h.open(ctx, f, in); err != nil {
		f.Close()
	}
	return v, err
}

// evict closes files that nobody uses until there are at most MaxOpen. What Close
// says about a file that was only read is of no interest.
func (h *Handles[T]) evict() {
	for {
		h.mu.Lock()
		e := h.idle.Front()
		if e == nil || len(h.files) <= MaxOpen {
			h.mu.Unlock()
			return
		}
		x := h.idle.Remove(e).(*Handle[T])
		x.at = nil
		delete(h.files, x.input)
		h.mu.Unlock()
		x.Value.Close()
	}
}

// Release ends the use of a file. It must be called once for each Acquire.
func (x *Handle[T]) Release() {
	if x.cache.release(x) {
		x.Value.Close()
	}
}

// release tells whether x is to be closed.
func (h *Handles[T]) release(x *Handle[T]) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if x.users--; x.users > 0 || x.err != nil {
		return false
	}
	if x.stale {
		return true
	}
	if h.closed || len(h.files) > MaxOpen {
		delete(h.files, x.input)
		return true
	}
	x.at = h.idle.PushBack(x)
	return false
}

// Reopen has every file opened anew when it is acquired next: what a network file system
// has lost stays lost for files that are open.
func (h *Handles[T]) Reopen() {
	var old []*Handle[T]
	h.mu.Lock()
	for i, x := range h.files {
		if x.at != nil {
			h.idle.Remove(x.at)
			x.at = nil
			old = append(old, x)
		}
		x.stale = true
		delete(h.files, i)
	}
	h.mu.Unlock()
	for _, x := range old {
		x.Value.Close()
	}
}

// Close closes the files not in use, and the others when they are released; nothing
// can be acquired afterwards. A second call does nothing.
func (h *Handles[T]) Close() error {
	h.mu.Lock()
	h.closed = true
	var all []*Handle[T]
	for e := h.idle.Front(); e != nil; e = h.idle.Front() {
		x := h.idle.Remove(e).(*Handle[T])
		x.at = nil
		delete(h.files, x.input)
		all = append(all, x)
	}
	h.mu.Unlock()
	var err error
	for _, x := range all {
		err = errors.Join(err, x.Value.Close())
	}
	return err
}
