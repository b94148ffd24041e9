package convert

import (
	"container/list"
	"errors"
	"io/fs"
	"sync"
	"syscall"

	"github.com/shardify/shardify"
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

// lent keeps the files of a store open that are read again and again, the least recently
// used closed first. Those in use are open in any case.
type lent struct {
	store shardify.Store
	most  int

	mu    sync.Mutex
	files map[string]*lentFile
	idle  list.List // of *lentFile that nobody uses, the least recently used first
}

type lentFile struct {
	name  string
	blob  shardify.Blob
	users int
	at    *list.Element // in idle
}

func newLent(s shardify.Store, most int) *lent {
	return &lent{store: s, most: most, files: map[string]*lentFile{}}
}

// acquire opens a file, unless it is open. Two that open one at the same time both do,
// and one of them is closed again.
func (l *lent) acquire(name string) (*lentFile, error) {
	l.mu.Lock()
	if f := l.take(name); f != nil {
		l.mu.Unlock()
		return f, nil
	}
	old := l.makeRoom()
	l.mu.Unlock()
	err := closeAll(old)
	blob, e := l.store.Open(name)
	if err = errors.Join(err, e); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.take(name); f != nil {
		return f, blob.Close()
	}
	f := &lentFile{name: name, blob: blob, users: 1}
	l.files[name] = f
	return f, nil
}

// take is called with mu held.
func (l *lent) take(name string) *lentFile {
	f := l.files[name]
	if f == nil {
		return nil
	}
	if f.users++; f.at != nil {
		l.idle.Remove(f.at)
		f.at = nil
	}
	return f
}

// makeRoom is called with mu held. It returns what is to be closed.
func (l *lent) makeRoom() (old []*lentFile) {
	for len(l.files) >= l.most && l.idle.Len() > 0 {
		f := l.idle.Remove(l.idle.Front()).(*lentFile)
		delete(l.files, f.name)
		old = append(old, f)
	}
	return old
}

func (l *lent) release(f *lentFile) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.users--; f.users == 0 {
		f.at = l.idle.PushBack(f)
	}
}

// close closes all files; nobody uses them any more.
func (l *lent) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*lentFile
	for _, f := range l.files {
		all = append(all, f)
	}
	clear(l.files)
	l.idle.Init()
	return closeAll(all)
}

func closeAll(list []*lentFile) (err error) {
	for _, f := range list {
		err = errors.Join(err, f.blob.Close())
	}
	return err
}

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
	defer l.release(f)
	return &lentBlob{l, name, f.blob.Size()}, nil
}

func (b *lentBlob) Size() int64  { return b.size }
func (b *lentBlob) Close() error { return nil }

func (b *lentBlob) ReadAt(p []byte, off int64) (int, error) {
	f, err := b.from.acquire(b.name)
	if err != nil {
		return 0, err
	}
	defer b.from.release(f)
	if f.blob.Size() != b.size { // made anew by somebody meanwhile
		return 0, &fs.PathError{Op: "read", Path: b.name, Err: shardify.ErrChanged}
	}
	return f.blob.ReadAt(p, off)
}
