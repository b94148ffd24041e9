// Package fault injects faults into a storage, for tests.
package fault

import (
	"context"
	"errors"
	"iter"
	"os"
	"sync"

	"github.com/shardify/shardify/storage"
)

// ErrInjected is what a Store fails with.
var ErrInjected = errors.New("injected fault")

// Store counts the operations on a store and makes one, or every one from it on,
// fail. Reads count as well as writes. An operation that fails has no effect.
type Store struct {
	storage.Store
	mu   sync.Mutex
	n    int
	at   int
	from bool
}

// New fails operation number at (from 1; 0 fails none); from makes all
// later ones fail too, as after a power cut.
func New(s storage.Store, at int, from bool) *Store {
	return &Store{Store: s, at: at, from: from}
}

// Count is the operations seen so far.
func (f *Store) Count() int { f.mu.Lock(); defer f.mu.Unlock(); return f.n }

func (f *Store) step() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.at > 0 && (f.n == f.at || f.from && f.n > f.at) {
		return ErrInjected
	}
	return nil
}

// Open opens a published file.
func (f *Store) Open(name string) (storage.Blob, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	b, err := f.Store.Open(name)
	if err != nil {
		return nil, err
	}
	return &faultBlob{b, f}, nil
}

// Create starts a file.
func (f *Store) Create(name string) (storage.Pending, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	p, err := f.Store.Create(name)
	if err != nil {
		return nil, err
	}
	return &faultPending{p, f}, nil
}

// List yields the published files.
func (f *Store) List(dir string) iter.Seq2[storage.FileInfo, error] {
	if err := f.step(); err != nil {
		return func(yield func(storage.FileInfo, error) bool) { yield(storage.FileInfo{}, err) }
	}
	return f.Store.List(dir)
}

// Remove removes a published file.
func (f *Store) Remove(name string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Store.Remove(name)
}

// Unwrap is the store below.
func (f *Store) Unwrap() any { return f.Store }

// Flush makes durable what was published; no operation where there is nothing to do.
func (f *Store) Flush(ctx context.Context) error {
	if _, ok := storage.As[storage.Flusher](f.Store); !ok {
		return nil
	}
	if err := f.step(); err != nil {
		return err
	}
	return storage.Flush(ctx, f.Store)
}

// Names yields the names of published files.
func (f *Store) Names(dir string) iter.Seq2[string, error] {
	if err := f.step(); err != nil {
		return func(yield func(string, error) bool) { yield("", err) }
	}
	return storage.Names(f.Store, dir)
}

// Size is the size of a published file.
func (f *Store) Size(name string) (int64, error) {
	if err := f.step(); err != nil {
		return 0, err
	}
	return storage.Size(f.Store, name)
}

// Swap publishes a file in the place of one that the caller has read.
func (f *Store) Swap(ctx context.Context, name string, old, content []byte) error {
	if err := f.step(); err != nil {
		return err
	}
	return storage.Swap(ctx, f.Store, name, old, content)
}

// Place publishes a file in a folder that is no data set.
func (f *Store) Place(ctx context.Context, name string, content []byte) error {
	if err := f.step(); err != nil {
		return err
	}
	return storage.Place(ctx, f.Store, name, content)
}

// Replace publishes a file that may take the place of another.
func (f *Store) Replace(ctx context.Context, name string, content []byte) error {
	if err := f.step(); err != nil {
		return err
	}
	return storage.Replace(ctx, f.Store, name, content)
}

type faultBlob struct {
	storage.Blob
	f *Store
}

// Unwrap is the file below.
func (b *faultBlob) Unwrap() any { return b.Blob }

func (b *faultBlob) ReadAt(p []byte, off int64) (int, error) {
	if err := b.f.step(); err != nil {
		return 0, err
	}
	return b.Blob.ReadAt(p, off)
}

type faultPending struct {
	storage.Pending
	f *Store
}

// Unwrap is the file below.
func (p *faultPending) Unwrap() any { return p.Pending }

// CopyRange copies inside the kernel, where the file below can.
func (p *faultPending) CopyRange(off int64, src *os.File, from, n int64) (int64, error) {
	c, ok := storage.As[storage.RangeCopier](p.Pending)
	if !ok {
		return 0, nil
	}
	if err := p.f.step(); err != nil {
		return 0, err
	}
	return c.CopyRange(off, src, from, n)
}

func (p *faultPending) Write(b []byte) (int, error) {
	if err := p.f.step(); err != nil {
		return 0, err
	}
	return p.Pending.Write(b)
}

func (p *faultPending) WriteAt(b []byte, off int64) (int, error) {
	if err := p.f.step(); err != nil {
		return 0, err
	}
	return p.Pending.WriteAt(b, off)
}

func (p *faultPending) Commit(ctx context.Context) error {
	if err := p.f.step(); err != nil {
		return err
	}
	return p.Pending.Commit(ctx)
}
