package filemap

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// File is a file in memory.
type File struct {
	Bytes []byte
}

// local are the file systems whose pages are this machine's alone, so that a file does not change or
// end while its pages are read unless a program of this machine does that. All of them read pages of
// a mapping from the same cache as read does.
var local = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.RAMFS_MAGIC}

// Open maps the first n bytes of a file, which may be nil, for random reads. It fails where the file is not on a local
// file system, or belongs to another user: the system does not say then which of its pages are in
// memory.
func Open(f *os.File, n int64) (m *File, err error) {
	if f == nil {
		return nil, errors.ErrUnsupported
	}
	c, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := c.Control(func(fd uintptr) { m, err = open(int(fd), n) }); e != nil {
		return nil, e
	}
	return m, err
}

func open(fd int, n int64) (*File, error) {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fs)); err != nil {
		return nil, err
	}
	user := uint32(os.Geteuid())
	if n <= 0 || st.Size < n || user != 0 && st.Uid != user || !slices.Contains(local, int64(fs.Type)) {
		return nil, errors.ErrUnsupported
	}
	b, err := unix.Mmap(fd, 0, int(n), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	_ = unix.Madvise(b, unix.MADV_RANDOM) // a fault reads its page, and not those around it
	return &File{Bytes: b}, nil
}

// Close ends the mapping.
func (m *File) Close() {
	if m != nil {
		_ = unix.Munmap(m.Bytes)
	}
}

var page = int64(os.Getpagesize())

// pages are the whole pages that have the bytes of a range.
func (m *File) pagesOf(lo, hi int64) []byte {
	lo &^= page - 1
	hi = min((hi+page-1)&^(page-1), int64(len(m.Bytes)))
	return m.Bytes[lo:max(hi, lo)]
}

// Resident reports whether bytes [lo, hi) are in memory.
func (m *File) Resident(lo, hi int64) bool {
	b := m.pagesOf(lo, hi)
	var some [64]byte
	for len(b) > 0 {
		n := min(len(b), len(some)*int(page))
		// It does not wait, so the runtime need not know of the call.
		if _, _, e := unix.RawSyscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(n), uintptr(unsafe.Pointer(&some[0]))); e != 0 {
			return false
		}
		for _, p := range some[:(n+int(page)-1)/int(page)] {
			if p&1 == 0 {
				return false
			}
		}
		b = b[n:]
	}
	return true
}

// Drop takes bytes [lo, hi) out of the memory of this process. They stay in that of the system.
func (m *File) Drop(lo, hi int64) {
	if b := m.pagesOf(lo, hi); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_DONTNEED)
	}
}

// WillNeed has the system read bytes [lo, hi), and does not wait for them.
func (m *File) WillNeed(lo, hi int64) {
	if b := m.pagesOf(lo, hi); len(b) > 0 {
		_ = unix.Madvise(b, unix.MADV_WILLNEED)
	}
}

// Faults is how often this thread waited for a page of a file since it began.
func Faults() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &u) != nil {
		return -1
	}
	return u.Majflt
}

// busHandler is the address of the function that a SIGBUS calls.
func busHandler() uintptr {
	var old [20]uintptr // a struct sigaction, whose first word is the handler
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS), 0, uintptr(unsafe.Pointer(&old[0])), 8, 0, 0); e != 0 {
		return 0
	}
	return old[0]
}

// own is the handler of Go's runtime, which was installed before any package began.
var own = busHandler()

// Safe reports whether Guard can be relied on: faults are signals of Go's runtime.
func Safe() bool {
	switch runtime.GOARCH {
	case "amd64", "arm64":
		return own > 1 && busHandler() == own // 0 and 1: the default, or ignored
	}
	return false
}
