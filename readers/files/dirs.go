package files

import (
	"container/list"
	"context"
	"sync"

	"github.com/shardify/shardify/readers/internal/tars"
	"github.com/shardify/shardify/storage/folders"
)

// maxDirs bounds the open folders that no reader is in at the moment.
const maxDirs = 64

// dirs keeps folders open for all readers of a source, the least recently used
// ones closed first. A reader holds the one that it is in.
type dirs struct {
	fs  *tars.FS
	max int

	mu     sync.Mutex
	byKey  map[string]*dir
	idle   list.List // of *dir that are not in use, oldest first
	closed bool
}

type dir struct {
	folders.Folder
	key    string
	holds  int
	idle   *list.Element
	listed bool // in byKey
}

func newDirs(fs *tars.FS, max int) *dirs { return &dirs{fs: fs, max: max, byKey: map[string]*dir{}} }

// hold returns the folder open under key, or opens path.
func (d *dirs) hold(ctx context.Context, key []byte, path func() string) (*dir, error) {
	d.mu.Lock()
	if x := d.byKey[string(key)]; x != nil {
		d.keep(x)
		d.mu.Unlock()
		return x, nil
	}
	d.mu.Unlock()
	fd, err := folders.Open(d.fs, path()) // not under the lock: it may take long
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if x := d.byKey[string(key)]; x != nil { // another reader was faster
		fd.Close()
		d.keep(x)
		return x, nil
	}
	x := &dir{Folder: fd, key: string(key), holds: 1, listed: true}
	d.byKey[x.key] = x
	return x, nil
}

// keep is called with mu held.
func (d *dirs) keep(x *dir) {
	x.holds++
	if x.idle != nil {
		d.idle.Remove(x.idle)
		x.idle = nil
	}
}

// release ends a hold.
func (d *dirs) release(x *dir) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x.holds--; x.holds > 0 {
		return
	}
	if !x.listed || d.closed {
		d.drop(x)
		return
	}
	x.idle = d.idle.PushBack(x)
	if d.idle.Len() > d.max {
		d.drop(d.idle.Front().Value.(*dir))
	}
}

// forget makes sure that a folder which gave an error is opened again.
func (d *dirs) forget(x *dir) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x.listed {
		x.listed = false
		delete(d.byKey, x.key)
	}
}

// drop closes a folder that is not in use. Called with mu held.
func (d *dirs) drop(x *dir) {
	if x.idle != nil {
		d.idle.Remove(x.idle)
		x.idle = nil
	}
	if x.listed {
		x.listed = false
		delete(d.byKey, x.key)
	}
	x.Close()
}

// close closes all that are not in use; the rest follows at its release.
func (d *dirs) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for e := d.idle.Front(); e != nil; e = d.idle.Front() {
		d.drop(e.Value.(*dir))
	}
	return d.fs.Close()
}
