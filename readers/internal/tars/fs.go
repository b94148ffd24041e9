package tars

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify/storage"
)

// Bounds of what stays open of tars that no reader uses.
const (
	maxOpen    = 64
	maxMembers = 1 << 20
)

// FS has the files of another FS, and those in its tars.
type FS struct {
	storage.FS
	mu     sync.Mutex
	open   []*archive // the last used one last
	closed bool
}

// Over has the files of f, and those in tars.
func Over(f storage.FS) *FS { return &FS{FS: f} }

// archive is an open tar. Its name and uses belong to FS.mu.
type archive struct {
	name string
	uses int
	once sync.Once
	file storage.File
	list []entry // by name
	err  error
}

// Unwrap is the FS below.
func (f *FS) Unwrap() any { return f.FS }

// Path is the path of a file that is in no tar.
func (f *FS) Path(name string) (string, bool) {
	if _, _, ok := Split(name); ok {
		return "", false
	}
	return storage.Path(f.FS, name)
}

// Open opens a file.
func (f *FS) Open(ctx context.Context, name string) (storage.File, error) {
	a, e, err := f.find(ctx, "open", name)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return f.FS.Open(ctx, name)
	}
	return &member{of: f, in: a, entry: e}, nil
}

// Stat looks up a file.
func (f *FS) Stat(ctx context.Context, name string) (storage.Info, error) {
	a, e, err := f.find(ctx, "stat", name)
	if err != nil {
		return storage.Info{}, err
	}
	if a == nil {
		return f.FS.Stat(ctx, name)
	}
	defer f.release(a)
	return storage.Info{Type: storage.Regular, Stamp: a.stamp(e)}, nil
}

// List lists a folder that is in no tar.
func (f *FS) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	return f.FS.List(ctx, folder)
}

// find opens the tar of a member; nil for a file that is in none.
func (f *FS) find(ctx context.Context, op, name string) (*archive, entry, error) {
	file, inside, ok := Split(name)
	if !ok {
		return nil, entry{}, nil
	}
	a := f.hold(file)
	a.once.Do(func() {
		if a.file, a.err = f.FS.Open(ctx, file); a.err == nil {
			a.list, _, a.err = scan(ctx, a.file)
			a.list = sorted(a.list)
		}
	})
	err := a.err
	if err == nil {
		if i, ok := slices.BinarySearchFunc(a.list, inside, func(e entry, name string) int { return strings.Compare(e.name, name) }); ok {
			return a, a.list[i], nil
		}
		err = &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	f.release(a)
	return nil, entry{}, err
}

// hold is the tar of a name, which release gives back.
func (f *FS) hold(name string) *archive {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.open, func(a *archive) bool { return a.name == name })
	a := &archive{name: name}
	if i >= 0 {
		a = f.open[i]
		f.open = slices.Delete(f.open, i, i+1)
	}
	f.open = append(f.open, a)
	a.uses++
	return a
}

func (f *FS) release(a *archive) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a.uses--
	n := 0
	for _, x := range f.open {
		if x.uses == 0 {
			n += len(x.list)
		}
	}
	for i := 0; i < len(f.open); {
		x := f.open[i]
		last := i == len(f.open)-1 // it stays, however large: else each of its members would read it again
		if x.uses > 0 || x.err == nil && !f.closed && (last || len(f.open) <= maxOpen && n <= maxMembers) {
			i++
			continue
		}
		n -= len(x.list)
		f.drop(i)
	}
}

// drop closes a tar. Called with mu held.
func (f *FS) drop(i int) {
	if x := f.open[i]; x.file != nil {
		x.file.Close()
	}
	f.open = slices.Delete(f.open, i, i+1)
}

// Close closes the tars that no reader uses.
func (f *FS) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for i := len(f.open) - 1; i >= 0; i-- {
		if f.open[i].uses == 0 {
			f.drop(i)
		}
	}
	return nil
}

// member is an open file in a tar.
type member struct {
	entry
	of   *FS
	in   *archive
	once sync.Once
}

func (a *archive) stamp(e entry) storage.Stamp {
	return storage.Stamp{Size: e.size, ModTime: a.file.Stamp().ModTime}
}

func (m *member) Stamp() storage.Stamp { return m.in.stamp(m.entry) }

func (m *member) Size() int64 { return m.size }

func (m *member) Close() error {
	m.once.Do(func() { m.of.release(m.in) })
	return nil
}

func (m *member) ReadAt(b []byte, off int64) (int, error) {
	if off >= m.size {
		return 0, io.EOF
	}
	n, err := m.in.file.ReadAt(b[:min(int64(len(b)), m.size-off)], m.at+off)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}
