package store

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/shardify/shardify"
)

// ErrInjected is what a Fault store fails with.
var ErrInjected = errors.New("injected fault")

// Fault counts the operations on a store and makes one, or every one from it on,
// fail. Reads count as well as writes. An operation that fails has no effect.
type Fault struct {
	shardify.Store
	mu   sync.Mutex
	n    int
	at   int
	from bool
}

// NewFault fails operation number at (from 1; 0 fails none); from makes all
// later ones fail too, as after a power cut.
func NewFault(s shardify.Store, at int, from bool) *Fault {
	return &Fault{Store: s, at: at, from: from}
}

// Count is the operations seen so far.
func (f *Fault) Count() int { f.mu.Lock(); defer f.mu.Unlock(); return f.n }

func (f *Fault) step() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.at > 0 && (f.n == f.at || f.from && f.n > f.at) {
		return ErrInjected
	}
	return nil
}

// Open opens a published file.
func (f *Fault) Open(name string) (shardify.Blob, error) {
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
func (f *Fault) Create(name string) (shardify.Pending, error) {
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
func (f *Fault) List(dir string) iter.Seq2[shardify.FileInfo, error] {
	if err := f.step(); err != nil {
		return func(yield func(shardify.FileInfo, error) bool) { yield(shardify.FileInfo{}, err) }
	}
	return f.Store.List(dir)
}

// Remove removes a published file.
func (f *Fault) Remove(name string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.Store.Remove(name)
}

type faultBlob struct {
	shardify.Blob
	f *Fault
}

func (b *faultBlob) ReadAt(p []byte, off int64) (int, error) {
	if err := b.f.step(); err != nil {
		return 0, err
	}
	return b.Blob.ReadAt(p, off)
}

type faultPending struct {
	shardify.Pending
	f *Fault
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
