package storage

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
)

// ContextReader is a File whose reads can be ended.
type ContextReader interface {
	// ReadContext is ReadAt until ctx ends. It does not touch b after it has returned.
	ReadContext(ctx context.Context, b []byte, off int64) (int, error)
}

// Bound is an FS whose reads end with a context, however long the storage takes to answer.
// Files of the operating system are not concerned: nothing ends a read of the kernel.
type Bound struct {
	FS
	ctx atomic.Pointer[context.Context]

	mu     sync.Mutex
	opened map[string]Stamp // the first one of each file that was opened: metadata are those of it
}

// mostOpened bounds the files whose stamps are kept.
const mostOpened = 1 << 17

// NewBound binds an FS to nothing yet.
func NewBound(f FS) *Bound { return &Bound{FS: f} }

// Until has the reads of all files end with ctx, in the place of the context that was named
// before: a source lives longer than the call that opens it.
func (b *Bound) Until(ctx context.Context) { b.ctx.Store(&ctx) }

// Until binds f to a context if it can be bound.
func Until(ctx context.Context, f FS) {
	if b, ok := As[*Bound](f); ok {
		b.Until(ctx)
	}
}

// Opened is what a file of another machine was when f opened it first. It makes no request;
// ok is false where that is not known.
func Opened(f FS, name string) (s Stamp, ok bool) {
	b, ok := As[*Bound](f)
	if !ok {
		return s, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok = b.opened[name]
	return s, ok
}

// Unwrap is the FS below.
func (b *Bound) Unwrap() any { return b.FS }

// Open opens a file.
func (b *Bound) Open(ctx context.Context, name string) (File, error) {
	f, err := b.FS.Open(ctx, name)
	return b.bind(name, f, err)
}

// OpenBelow opens a file below a folder.
func (b *Bound) OpenBelow(ctx context.Context, folder, name string) (File, error) {
	f, err := OpenBelow(ctx, b.FS, folder, name)
	return b.bind(Join(folder, name), f, err)
}

// OpenOwn opens a file that must not be a link.
func (b *Bound) OpenOwn(ctx context.Context, name string) (File, error) {
	f, err := OpenOwn(ctx, b.FS, name)
	return b.bind(name, f, err)
}

// Lstat looks at a file, which may be a link.
func (b *Bound) Lstat(ctx context.Context, name string) (Info, error) { return Lstat(ctx, b.FS, name) }

func (b *Bound) bind(name string, f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	if OSFile(f) != nil {
		return f, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened == nil {
		b.opened = map[string]Stamp{}
	}
	if _, known := b.opened[name]; !known && len(b.opened) < mostOpened {
		b.opened[name] = f.Stamp()
	}
	return &boundFile{f, b, name}, nil
}

type boundFile struct {
	File
	of   *Bound
	name string
}

// Unwrap is the file below.
func (f *boundFile) Unwrap() any { return f.File }

// ReadAt reads until the context ends. A storage that cannot be cancelled reads into a
// buffer of its own, and keeps that until it answers.
func (f *boundFile) ReadAt(b []byte, off int64) (int, error) {
	p := f.of.ctx.Load()
	if p == nil || (*p).Done() == nil {
		return f.File.ReadAt(b, off)
	}
	ctx := *p
	if ctx.Err() != nil {
		return 0, f.ended(ctx)
	}
	if r, ok := As[ContextReader](f.File); ok {
		return r.ReadContext(ctx, b, off)
	}
	type result struct {
		n   int
		err error
	}
	own, done := make([]byte, len(b)), make(chan result, 1)
	go func() {
		n, err := f.File.ReadAt(own, off)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return copy(b, own[:r.n]), r.err
	case <-ctx.Done():
		return 0, f.ended(ctx)
	}
}

func (f *boundFile) ended(ctx context.Context) error {
	return &fs.PathError{Op: "read", Path: f.name, Err: context.Cause(ctx)}
}
