package fault

import (
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/shardify/shardify/storage"
)

// Fault is what happens to inputs. The zero Fault changes nothing.
type Fault struct {
	Name  string        // the end of the names that are concerned; "" is all
	Open  syscall.Errno // of opening a file
	Read  syscall.Errno // of reads that reach byte From
	From  int64
	End   int64         // files end there, whatever their size is said to be
	Short bool          // reads give half of what was asked for, and no error
	Slow  time.Duration // of each read
	// Stamp changes what is said about files.
	Stamp func(storage.Stamp) storage.Stamp
}

// Files injects a fault into the inputs of another FS.
type Files struct {
	storage.FS
	fault atomic.Pointer[Fault]
}

// NewFiles wraps an FS; there is no fault until Set.
func NewFiles(f storage.FS) *Files { return &Files{FS: f} }

// Set is what happens from now on, to files that are open, too.
func (f *Files) Set(x Fault) { f.fault.Store(&x) }

func (f *Files) of(name string) Fault {
	if x := f.fault.Load(); x != nil && strings.HasSuffix(name, x.Name) {
		return *x
	}
	return Fault{}
}

// Unwrap is the FS below.
func (f *Files) Unwrap() any { return f.FS }

// Path says that all is to be read through this FS.
func (f *Files) Path(string) (string, bool) { return "", false }

// OpenBelow opens a file below a folder.
func (f *Files) OpenBelow(ctx context.Context, folder, name string) (storage.File, error) {
	return f.open(name, func() (storage.File, error) { return storage.OpenBelow(ctx, f.FS, folder, name) })
}

// OpenOwn opens a file that must not be a link.
func (f *Files) OpenOwn(ctx context.Context, name string) (storage.File, error) {
	return f.open(name, func() (storage.File, error) { return storage.OpenOwn(ctx, f.FS, name) })
}

// Lstat looks at a file, which may be a link.
func (f *Files) Lstat(ctx context.Context, name string) (storage.Info, error) {
	info, err := storage.Lstat(ctx, f.FS, name)
	return f.info(name, info), err
}

// Open opens a file.
func (f *Files) Open(ctx context.Context, name string) (storage.File, error) {
	return f.open(name, func() (storage.File, error) { return f.FS.Open(ctx, name) })
}

func (f *Files) open(name string, open func() (storage.File, error)) (storage.File, error) {
	if e := f.of(name).Open; e != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: e}
	}
	x, err := open()
	if err != nil {
		return nil, err
	}
	return &file{x, f, name}, nil
}

// Stat looks at a file.
func (f *Files) Stat(ctx context.Context, name string) (storage.Info, error) {
	info, err := f.FS.Stat(ctx, name)
	return f.info(name, info), err
}

func (f *Files) info(name string, info storage.Info) storage.Info {
	if change := f.of(name).Stamp; change != nil {
		info.Stamp = change(info.Stamp)
	}
	return info
}

type file struct {
	storage.File
	f    *Files
	name string
}

// Unwrap is the file below.
func (x *file) Unwrap() any { return x.File }

// OSFile is nil: reads would go past this.
func (x *file) OSFile() *os.File { return nil }

func (x *file) Stamp() storage.Stamp {
	s := x.File.Stamp()
	if change := x.f.of(x.name).Stamp; change != nil {
		s = change(s)
	}
	return s
}

// Now is what the file is said to be now.
func (x *file) Now() (storage.Stamp, error) {
	s, err := storage.Now(x.File)
	if change := x.f.of(x.name).Stamp; change != nil {
		s = change(s)
	}
	return s, err
}

func (x *file) Size() int64 { return x.Stamp().Size }

func (x *file) ReadAt(b []byte, off int64) (int, error) {
	a := x.f.of(x.name)
	time.Sleep(a.Slow)
	if a.Read != 0 && off+int64(len(b)) > a.From {
		return 0, &fs.PathError{Op: "read", Path: x.name, Err: a.Read}
	}
	if a.End > 0 && off+int64(len(b)) > a.End {
		n, err := x.File.ReadAt(b[:max(0, min(int64(len(b)), a.End-off))], off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	if a.Short && len(b) > 1 {
		return x.File.ReadAt(b[:len(b)/2], off)
	}
	return x.File.ReadAt(b, off)
}
