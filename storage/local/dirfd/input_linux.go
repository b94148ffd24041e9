//go:build linux && !portable

package dirfd

import (
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// input reads from an open file and keeps the processor as Pace does: as long as
// what is read is in the page cache.
type input struct {
	f           *os.File
	fd          uintptr
	local, keep bool
}

// quickRead is the time per 256 KiB, and for one more, of a read that did not wait.
const quickRead = 100 * time.Microsecond

// NewInput is f for reads of many kilobytes, one at a time.
func NewInput(f *os.File) io.ReaderAt { return &input{f: f, fd: f.Fd(), local: local(int(f.Fd()))} }

// ReadAt reads at off.
func (i *input) ReadAt(b []byte, off int64) (int, error) {
	start := time.Now()
	n, err := whole(b, func(p []byte, done int) (uintptr, unix.Errno) {
		return at(unix.SYS_PREAD64, i.fd, p, off+int64(done), i.keep)
	})
	i.keep = i.local && err == nil && time.Since(start) < quickRead*time.Duration(1+len(b)>>18)
	switch err {
	case nil:
	case errNothing:
		err = io.EOF
	default:
		err = &fs.PathError{Op: "read", Path: i.f.Name(), Err: err}
	}
	return n, err
}
