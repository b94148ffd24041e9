package shuffle

import (
	"context"
	"io/fs"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/openfiles"
	"github.com/shardify/shardify/storage"
)

// openFragments is how many fragments of a shuffle are kept open. Each bucket has a piece
// in every one of them, so that to open them again would cost an open for each piece; but
// there may be more of them than a process may have open.
func openFragments() int {
	const few, many = 64, 4096
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return few
	}
	return int(max(min(r.Cur/2, many), few))
}

// files keeps the files of a store open that are read again and again.
type files struct {
	store storage.Store
	open  *openfiles.Cache[string, storage.Blob]
}

func newFiles(s storage.Store, most int) *files {
	return &files{s, openfiles.New[string, storage.Blob](most)}
}

func (l *files) acquire(name string) (*openfiles.Handle[string, storage.Blob], error) {
	return l.open.Acquire(context.Background(), name, func(context.Context) (storage.Blob, error) { return l.store.Open(name) })
}

// close closes all files, once no goroutine uses them.
func (l *files) close() error { return l.open.Close() }

// openedBlob is one of them, open while it is read.
type openedBlob struct {
	from *files
	name string
	size int64
}

// Open is that of a storage.Store.
func (l *files) Open(name string) (storage.Blob, error) {
	f, err := l.acquire(name)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	return &openedBlob{l, name, f.Value.Size()}, nil
}

func (b *openedBlob) Size() int64  { return b.size }
func (b *openedBlob) Close() error { return nil }

func (b *openedBlob) ReadAt(p []byte, off int64) (int, error) {
	f, err := b.from.acquire(b.name)
	if err != nil {
		return 0, err
	}
	defer f.Release()
	if f.Value.Size() != b.size { // another process rebuilt it meanwhile
		return 0, &fs.PathError{Op: "read", Path: b.name, Err: shardify.ErrChanged}
	}
	return f.Value.ReadAt(p, off)
}
