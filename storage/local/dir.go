package local

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/shardify/shardify/storage"
)

// Sync says when a published file is made durable.
type Sync string

// The choices of --sync.
const (
	SyncShard Sync = "shard" // each file before it gets its name
	SyncEnd   Sync = "end"   // all files at once, before the manifest
	SyncNone  Sync = "none"  // never: for scratch; a power cut may lose or empty files
)

// Dir is a folder on a local or shared file system.
type Dir struct {
	root  string
	sync  Sync
	owner owner

	scratch  string // where shards are written; "" is the temporary folder
	written  atomic.Int64
	flushing atomic.Int32 // calls of Flush that wait for the disk

	mu    sync.Mutex
	known map[string]bool // folders that exist and are durable
}

// NewDir returns the store of a folder; it is created with the first file.
func NewDir(root string, s Sync) *Dir {
	return &Dir{root: root, sync: s, owner: thisProcess(), known: map[string]bool{}}
}

// Root is the folder.
func (d *Dir) Root() string { return d.root }

// Written is the bytes that were put into the folder by this process so far.
func (d *Dir) Written() int64 { return d.written.Load() }

// Moves is a number that changes while the store works: Written, and, while Flush waits,
// what the system has put on disks. A large machine may have more to write than a disk
// takes in minutes; nothing else distinguishes that from a disk that does not answer.
func (d *Dir) Moves() int64 {
	n := d.Written()
	if d.flushing.Load() > 0 {
		n += writtenBack() / flushStep
	}
	return n
}

// flushStep is what counts as progress: little beside what a disk writes in a minute, much
// beside the logs of a machine that does nothing.
const flushStep = 64 << 20

func (d *Dir) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

type blob struct {
	*os.File
	size int64
}

func (b *blob) Size() int64 { return b.size }

// Open opens a published file.
func (d *Dir) Open(name string) (storage.Blob, error) {
	if err := storage.CheckName(name); err != nil {
		return nil, err
	}
	f, st, err := OpenOwn(d.path(name))
	if err != nil {
		return nil, err
	}
	return &blob{f, st.Size()}, nil
}

// Create starts a file under a temporary name in the private folder, which is on
// the same file system as the data set.
func (d *Dir) Create(name string) (storage.Pending, error) {
	if err := storage.CheckName(name); err != nil {
		return nil, err
	}
	if d.scratch != "" && large(name) {
		return d.createScratch(name)
	}
	f, err := d.temp(path.Base(name))
	if err != nil {
		return nil, err
	}
	return &pending{dir: d, name: name, File: f, out: output(f)}, nil
}

// mkdir makes a folder and its parents and makes their entries durable.
func (d *Dir) mkdir(dir string) error {
	return d.failed(d.path(dir), d.makeFolder(dir))
}

func (d *Dir) makeFolder(dir string) error {
	if dir == "." || dir == "/" {
		dir = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[dir] {
		return nil
	}
	full := d.path(dir)
	var missing []string
	for p := full; ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, p)
		if filepath.Dir(p) == p {
			break
		}
	}
	if err := os.MkdirAll(full, 0o777); err != nil {
		return err
	}
	if d.sync == SyncShard {
		for i := len(missing) - 1; i >= 0; i-- {
			if err := syncDir(filepath.Dir(missing[i])); err != nil {
				return err
			}
		}
	}
	d.known[dir] = true
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // some network file systems cannot sync a folder
	}
	return errors.Join(err, closeFile(f))
}

// closeFile closes a file of which close must not hide what went wrong. After EINTR
// Linux has closed it all the same.
func closeFile(f *os.File) error {
	err := f.Close()
	if errors.Is(err, syscall.EINTR) {
		return nil
	}
	return err
}

// tempDir is where files are written before they have their final name.
const tempDir = storage.Private + "/tmp"

func isTemp(name string) bool { return name == tempDir || strings.HasPrefix(name, tempDir+"/") }

// The files that describe the other files of a data set.
const (
	manifestName = "shardify.json"
	planPrefix   = storage.Private + "/plan"
)

// durable reports whether a file is made durable before it gets its name. The files that
// describe the others always are, unless none is: after a power cut an empty plan or
// manifest would block the next run.
func (d *Dir) durable(name string) bool {
	switch d.sync {
	case SyncShard:
		return true
	case SyncEnd:
		return path.Base(name) == manifestName || strings.HasPrefix(name, planPrefix)
	}
	return false
}

// List yields the published files below dir in byte order of their names.
func (d *Dir) List(dir string) iter.Seq2[storage.FileInfo, error] {
	return func(yield func(storage.FileInfo, error) bool) {
		start := d.path(dir) + string(filepath.Separator) // the folder itself may be a link
		err := filepath.WalkDir(start, func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil // another process has removed it meanwhile
				}
				return err
			}
			rel, err := filepath.Rel(d.root, p)
			if err != nil {
				return err
			}
			name := filepath.ToSlash(rel)
			if e.IsDir() {
				if isTemp(name) {
					return fs.SkipDir
				}
				return nil
			}
			st, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if !yield(storage.FileInfo{Name: name, Size: st.Size()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(storage.FileInfo{}, err)
		}
	}
}

// Remove removes a published file; a missing one is no error.
func (d *Dir) Remove(name string) error {
	if err := storage.CheckName(name); err != nil {
		return err
	}
	err := os.Remove(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// RemoveFolder removes a folder if it is empty.
func (d *Dir) RemoveFolder(name string) {
	if storage.CheckName(name) == nil {
		_ = syscall.Rmdir(d.path(name))
	}
}

// RemoveAll removes a folder with all it holds, unless another process puts a file there at
// this moment.
func RemoveAll(folder string) error {
	err := os.RemoveAll(folder)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}

// Flush makes durable what was published so far, where Commit did not. Call it
// before publishing what vouches for the rest (the manifest).
func (d *Dir) Flush(context.Context) error {
	if d.sync != SyncEnd {
		return nil
	}
	f, err := os.Open(d.root)
	if err != nil {
		return err
	}
	d.flushing.Add(1)
	defer d.flushing.Add(-1)
	return errors.Join(syncAll(f), closeFile(f))
}
