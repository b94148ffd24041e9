// Package openfiles keeps files open that are read again and again.
package openfiles

import (
	"container/list"
	"context"
	"errors"
	"io"
	"sync"
)

// Cache keeps up to a number of files open, the least recently used closed
// first. When more are in use at once they are all open: no reader waits for another.
// K names a file, and T is what it takes to read it; it may be used by several readers
// at once.
type Cache[K comparable, T io.Closer] struct {
	most int

	mu     sync.Mutex
	files  map[K]*Handle[K, T]
	idle   list.List // of *Handle[K, T] that are not in use, the least recently used first
	closed bool
}

// Handle is a file in use.
type Handle[K comparable, T io.Closer] struct {
	Value T

	cache *Cache[K, T]
	key   K
	ready chan struct{} // closed when Value or err is set
	err   error
	users int
	stale bool          // not in the cache any more; see Reopen
	at    *list.Element // in idle
}

var errClosed = errors.New("the source is closed")

// New makes an empty cache of at most max files.
func New[K comparable, T io.Closer](most int) *Cache[K, T] {
	return &Cache[K, T]{most: most, files: map[K]*Handle[K, T]{}}
}

// Acquire returns a file, opened by open unless it is open. Several calls at once open
// it once. Errors are not kept: a later call tries again.
func (c *Cache[K, T]) Acquire(ctx context.Context, key K, open func(context.Context) (T, error)) (*Handle[K, T], error) {
	for {
		x, mine, err := c.lookup(key)
		if err != nil {
			return nil, err
		}
		if mine {
			return c.fill(ctx, x, open)
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
		// The goroutine that opened it may have been cancelled, which says nothing about the file.
		if !errors.Is(x.err, context.Canceled) && !errors.Is(x.err, context.DeadlineExceeded) {
			return nil, x.err
		}
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
	}
}

// lookup returns the handle of a file with one more user. If it is mine the caller
// must fill it.
func (c *Cache[K, T]) lookup(key K) (x *Handle[K, T], mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false, errClosed
	}
	x = c.files[key]
	if mine = x == nil; mine {
		x = &Handle[K, T]{cache: c, key: key, ready: make(chan struct{})}
		c.files[key] = x
	}
	x.users++
	if x.at != nil {
		c.idle.Remove(x.at)
		x.at = nil
	}
	return x, mine, nil
}

// fill opens the file of a new handle. Room is made first, so that there are never
// more open than there may be unless they are in use.
func (c *Cache[K, T]) fill(ctx context.Context, x *Handle[K, T], open func(context.Context) (T, error)) (*Handle[K, T], error) {
	c.evict()
	if x.Value, x.err = open(ctx); x.err != nil {
		c.mu.Lock()
		if c.files[x.key] == x {
			delete(c.files, x.key) // before ready, so that later callers do not find it
		}
		c.mu.Unlock()
	}
	close(x.ready)
	if x.err != nil {
		x.Release()
		return nil, x.err
	}
	return x, nil
}

// evict closes files that are not in use until there are no more than there may be. What
// Close says about a file that was only read is of no interest.
func (c *Cache[K, T]) evict() {
	for {
		c.mu.Lock()
		e := c.idle.Front()
		if e == nil || len(c.files) <= c.most {
			c.mu.Unlock()
			return
		}
		x := c.idle.Remove(e).(*Handle[K, T])
		x.at = nil
		delete(c.files, x.key)
		c.mu.Unlock()
		x.Value.Close()
	}
}

// Release ends the use of a file. It must be called once for each Acquire.
func (x *Handle[K, T]) Release() {
	if x.cache.release(x) {
		x.Value.Close()
	}
}

// release reports whether x is to be closed.
func (c *Cache[K, T]) release(x *Handle[K, T]) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.users--; x.users > 0 || x.err != nil {
		return false
	}
	if x.stale {
		return true
	}
	if c.closed || len(c.files) > c.most {
		delete(c.files, x.key)
		return true
	}
	x.at = c.idle.PushBack(x)
	return false
}

// Reopen has every file opened again when it is acquired next: what a network file system
// has lost stays lost for files that are open.
func (c *Cache[K, T]) Reopen() {
	var old []*Handle[K, T]
	c.mu.Lock()
	for key, x := range c.files {
		if x.at != nil {
			c.idle.Remove(x.at)
			x.at = nil
			old = append(old, x)
		}
		x.stale = true
		delete(c.files, key)
	}
	c.mu.Unlock()
	for _, x := range old {
		x.Value.Close()
	}
}

// Close closes the files not in use, and the others when they are released; nothing
// can be acquired afterwards. A second call does nothing.
func (c *Cache[K, T]) Close() error {
	c.mu.Lock()
	c.closed = true
	var all []*Handle[K, T]
	for e := c.idle.Front(); e != nil; e = c.idle.Front() {
		x := c.idle.Remove(e).(*Handle[K, T])
		x.at = nil
		delete(c.files, x.key)
		all = append(all, x)
	}
	c.mu.Unlock()
	var err error
	for _, x := range all {
		err = errors.Join(err, x.Value.Close())
	}
	return err
}
