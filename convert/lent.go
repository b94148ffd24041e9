package convert

import (
	"context"
	"io/fs"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/openfiles"
)

// openFragments is how many fragments of a shuffle are kept open. Each bucket has a piece
// in every one of them, so that to open them anew would cost an open for each piece; but
// there may be more of them than a process may have open.
func openFragments() int {
	const few, many = 64, 4096
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil {
		return few
	}
	return int(max(min(r.Cur/2, many), few))
}

// lent keeps the files of a store open that are read again and again.
type lent struct {
	store shardify.Store
	files *openfiles.Cache[string, shardify.Blob]
}

func newLent(s shardify.Store, most int) *lent {
	return &lent{s, openfiles.New[string, shardify.Blob](most)}
}

func (l *lent) acquire(name string) (*openfiles.Handle[string, shardify.Blob], error) {
	return l.files.Acquire(context.Background(), name, func(context.Context) (shardify.Blob, error) { return l.store.Open(name) })
}

// close closes all files; nobody uses them any more.
func (l *lent) close() error { return l.files.Close() }

// lentBlob is a file of a lent, open while it is read.
type lentBlob struct {
	from *lent
	name string
	size int64
}

// Open is that of a shardify.Store.
func (l *lent) Open(name string) (shardify.Blob, error) {
	f, err := l.acquire(name)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	return &lentBlob{l, name, f.Value.Size()}, nil
}

func (b *lentBlob) Size() int64  { return b.size }
func (b *lentBlob) Close() error { return nil }

func (b *lentBlob) ReadAt(p []byte, off int64) (int, error) {
	f, err := b.from.acquire(b.name)
	if err != nil {
		return 0, err
	}
	defer f.Release()
	if f.Value.Size() != b.size { // made anew by somebody meanwhile
		return 0, &fs.PathError{Op: "read", Path: b.name, Err: shardify.ErrChanged}
	}
	return f.Value.ReadAt(p, off)
}
