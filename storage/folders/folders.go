// Package folders lists, looks at and opens many files of one folder, by names that are not
// made strings. On this machine these are calls relative to an open directory, which cost
// half of what paths and os.Files do; any other storage is asked file by file.
package folders

import (
	"context"
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local/dirfd"
)

// Folder is an open folder.
type Folder struct {
	dirfd.Dir            // of this machine
	fs        storage.FS // nil there
	path      string
}

// Open opens a folder. One of another machine is not looked at: that would be a request, and
// who may read a file may perhaps not list its folder.
func Open(f storage.FS, path string) (Folder, error) {
	if p, ok := storage.Path(f, path); ok {
		if d, err := dirfd.Open(p); err == nil || !errors.Is(err, syscall.ENOTDIR) {
			return Folder{Dir: d}, err
		} // an archive is a file there
	}
	return Folder{fs: f, path: strings.TrimSuffix(path, "/")}, nil
}

// Close closes the folder.
func (d Folder) Close() {
	if d.fs == nil {
		d.Dir.Close()
	}
}

// Local reports whether the folder is on a file system of this machine.
func (d Folder) Local() bool { return d.fs == nil && d.Dir.Local() }

// Info looks at the folder itself. On other machines folders have no numbers.
func (d Folder) Info() (dirfd.Info, error) {
	if d.fs == nil {
		return d.Dir.Info()
	}
	return dirfd.Info{Type: dirfd.Folder}, nil
}

// Stat looks at an entry, or a slash path below the folder, following links. keep is for a
// call that keeps its processor, see dirfd.Pace.
func (d Folder) Stat(ctx context.Context, n *dirfd.Name, keep bool) (dirfd.Info, error) {
	if d.fs == nil {
		return d.Dir.Stat(n, keep)
	}
	info, err := d.fs.Stat(ctx, d.join(n))
	return infoOf(info), err
}

func (d Folder) join(n *dirfd.Name) string { return d.path + "/" + string(n.Bytes()) }

func infoOf(i storage.Info) dirfd.Info {
	return dirfd.Info{Type: dirfd.Type(i.Type), Size: i.Size, ModTime: i.ModTime, Dev: i.Node.Dev, Ino: i.Node.Ino}
}

// List calls each for every entry, in the folder's own order. buf is scratch of at least 4 KiB;
// name is valid during the call. For folders of other machines it first calls known with the size
// and time that the listing has of a file, so that they need not be asked for, or with -1 and 0.
func (d Folder) List(ctx context.Context, buf []byte, known func(size, mtime int64), each func(name []byte, t dirfd.Type) error) error {
	if d.fs == nil {
		return d.Dir.List(buf, each)
	}
	for e, err := range d.fs.List(ctx, d.path) {
		if err == nil {
			if e.Type != storage.Regular || e.Size < 0 || e.ModTime == 0 {
				e.Size, e.ModTime = -1, 0
			}
			known(e.Size, e.ModTime)
			err = each([]byte(e.Name), dirfd.Type(e.Type))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Handle is an open file, read from its beginning on.
type Handle struct {
	dirfd.Handle
	file storage.File
	pos  int64
}

// OpenFile opens an entry for reading and never blocks on a pipe; see dirfd.Dir.OpenFile.
func (d Folder) OpenFile(ctx context.Context, n *dirfd.Name, noatime, keep bool) (Handle, error) {
	if d.fs == nil {
		h, err := d.Dir.OpenFile(n, noatime, keep)
		return Handle{Handle: h}, err
	}
	f, err := d.fs.Open(ctx, d.join(n))
	if errors.Is(err, storage.ErrNotFile) {
		err = dirfd.ErrNotFile
	}
	return Handle{file: f}, err
}

// Read reads at the current position; 0 bytes and no error is the end.
func (h *Handle) Read(p []byte) (int, error) {
	if h.file == nil {
		return h.Handle.Read(p)
	}
	n, err := h.file.ReadAt(p, h.pos)
	h.pos += int64(n)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Info looks at the open file.
func (h *Handle) Info() (dirfd.Info, error) {
	if h.file == nil {
		return h.Handle.Info()
	}
	return infoOf(storage.Info{Type: storage.Regular, Stamp: h.file.Stamp()}), nil
}

// Close closes the file.
func (h *Handle) Close() {
	if h.file == nil {
		h.Handle.Close()
		return
	}
	h.file.Close()
}
