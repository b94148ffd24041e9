// Package memory keeps files in memory, for tests.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Store keeps published files in memory. Clone is the state a crash would leave:
// everything published, nothing pending.
type Store struct {
	mu    sync.Mutex
	files map[string][]byte
}

// New returns an empty store.
func New() *Store { return &Store{files: map[string][]byte{}} }

// Clone returns a store of what is published now.
func (m *Store) Clone() *Store {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Store{files: maps.Clone(m.files)}
}

// Files returns a copy of the table of published files; contents are shared.
func (m *Store) Files() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.files)
}

// Replace publishes a file that may take the place of another.
func (m *Store) Replace(_ context.Context, name string, content []byte) error {
	m.Set(name, content)
	return nil
}

// Set is Replace, for damage in tests.
func (m *Store) Set(name string, b []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = b
}

type memBlob struct{ *bytes.Reader }

func (memBlob) Close() error { return nil }

// Open opens a published file.
func (m *Store) Open(name string) (storage.Blob, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return memBlob{bytes.NewReader(b)}, nil
}

// Create starts a file.
func (m *Store) Create(name string) (storage.Pending, error) {
	if err := storage.CheckName(name); err != nil {
		return nil, err
	}
	return &memPending{m: m, name: name}, nil
}

// List yields the published files.
func (m *Store) List(dir string) iter.Seq2[storage.FileInfo, error] {
	return func(yield func(storage.FileInfo, error) bool) {
		files := m.Files()
		for _, n := range slices.Sorted(maps.Keys(files)) {
			if dir != "" && !strings.HasPrefix(n, dir+"/") {
				continue
			}
			if !yield(storage.FileInfo{Name: n, Size: int64(len(files[n]))}, nil) {
				return
			}
		}
	}
}

// Remove removes a published file.
func (m *Store) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

type memPending struct {
	m    *Store
	name string
	data []byte
	end  int64
	done bool
}

func (p *memPending) Write(b []byte) (int, error) {
	n, err := p.WriteAt(b, p.end)
	p.end += int64(n)
	return n, err
}

func (p *memPending) WriteAt(b []byte, off int64) (int, error) {
	if p.done || off < 0 {
		return 0, fs.ErrClosed
	}
	if need := off + int64(len(b)); need > int64(len(p.data)) {
		p.data = slices.Grow(p.data, int(need)-len(p.data))[:need]
	}
	return copy(p.data[off:], b), nil
}

func (p *memPending) Commit(ctx context.Context) error {
	if p.done {
		return fs.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.done = true
	p.m.mu.Lock()
	defer p.m.mu.Unlock()
	if old, ok := p.m.files[p.name]; ok && !bytes.Equal(old, p.data) {
		return fmt.Errorf("publish %s: a file of other content is there: %w", p.name, shardify.ErrExists)
	}
	p.m.files[p.name] = p.data
	return nil
}

func (p *memPending) Abort() error { p.done = true; p.data = nil; return nil }

var _ io.WriterAt = (*memPending)(nil)
