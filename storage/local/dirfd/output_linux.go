//go:build linux && !portable

package dirfd

import (
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// Output writes to an open file and keeps the processor as Pace does: as long as
// the page cache takes all there is at once. It reserves room on disk ahead of
// what is written where that makes writing cheaper.
type Output struct {
	fd       uintptr
	pos      int64 // of Write
	reserved int64 // bytes of the file that have their place on disk
	local    bool
	reserves bool
	keep     bool
}

const (
	// quickWrite is the time per mebibyte, and for one more, of a write that did not
	// wait.
	quickWrite = 2 * time.Millisecond
	// reserveFrom is the size from which a file has room reserved.
	reserveFrom = 1 << 20
	// reserveStep is how much more is reserved than is needed at once.
	reserveStep = 16 << 20
)

// NewOutput is for the file of this descriptor, new and empty, which the caller
// keeps open.
func NewOutput(fd uintptr) *Output {
	t := fsType(int(fd))
	// ext4 books each block of a write to no particular place in advance, for a
	// sixth of the whole cost of writing; not where the place is known already.
	return &Output{fd: fd, local: isLocal(t), reserves: t == unix.EXT4_SUPER_MAGIC}
}

// Write writes at the file's position.
func (o *Output) Write(b []byte) (int, error) {
	o.reserve(o.pos + int64(len(b)))
	start := time.Now()
	n, err := write(o.fd, b, o.keep)
	o.pos += int64(n)
	o.pace(start, len(b), err)
	return n, err
}

// WriteAt writes at off and leaves the position alone.
func (o *Output) WriteAt(b []byte, off int64) (int, error) {
	o.reserve(off + int64(len(b)))
	start := time.Now()
	n, err := whole(b, func(p []byte, done int) (uintptr, unix.Errno) {
		return at(unix.SYS_PWRITE64, o.fd, p, off+int64(done), o.keep)
	})
	if err == errNothing {
		err = io.ErrShortWrite
	}
	o.pace(start, len(b), err)
	return n, err
}

func (o *Output) pace(start time.Time, n int, err error) {
	o.keep = o.local && err == nil && time.Since(start) < quickWrite*time.Duration(1+n>>20)
}

// reserve sees to it that the file's first end bytes have their place. That it
// may fail does not matter: the write decides.
func (o *Output) reserve(end int64) {
	if !o.reserves || end <= o.reserved || end < reserveFrom {
		return
	}
	n := end + reserveStep - o.reserved
	if unix.Fallocate(int(o.fd), unix.FALLOC_FL_KEEP_SIZE, o.reserved, n) != nil {
		o.reserves = false // no room for so much, or no such call
		return
	}
	o.reserved += n
}

// Trim gives back what was reserved behind the file's end.
func (o *Output) Trim() error {
	if o.reserved == 0 {
		return nil
	}
	st, err := fstat(int(o.fd))
	if err != nil || st.Size >= o.reserved {
		return err
	}
	for {
		if err := unix.Ftruncate(int(o.fd), st.Size); err != unix.EINTR {
			return err
		}
	}
}
