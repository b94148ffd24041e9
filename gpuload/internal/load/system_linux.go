package load

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify/storage"
)

// WillNeed asks for bytes [lo, hi) of a file to be read into the page cache.
func WillNeed(f storage.File, lo, hi int64) {
	o := storage.OSFile(f)
	if o == nil {
		return
	}
	c, err := o.SyscallConn()
	if err != nil {
		return
	}
	_ = c.Control(func(fd uintptr) { _ = unix.Fadvise(int(fd), lo, hi-lo, unix.FADV_WILLNEED) })
}

// CoresAllowed is the cores that this process may run on.
func CoresAllowed() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return 0
	}
	return set.Count()
}

// allowed is those of some cores that this process may run on.
func allowed(cores []int) (some []int) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil
	}
	for _, c := range cores {
		if set.IsSet(c) {
			some = append(some, c)
		}
	}
	return some
}

// bindThread locks the goroutine to a thread that runs on these cores alone.
func bindThread(cores []int) (unbind func()) {
	runtime.LockOSThread()
	var old, set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	if unix.SchedGetaffinity(0, &old) != nil || unix.SchedSetaffinity(0, &set) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		if unix.SchedSetaffinity(0, &old) == nil {
			runtime.UnlockOSThread()
		} // else the thread ends with its goroutine
	}
}

// HugePages is the system's setting for anonymous memory.
func HugePages() string {
	b, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if _, s, ok := strings.Cut(string(b), "["); ok {
		s, _, _ = strings.Cut(s, "]")
		return s
	}
	return ""
}

// InMemory reports whether a folder is in tmpfs.
func InMemory(dir string) bool {
	const tmpfs = 0x01021994
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && int64(st.Type) == tmpfs
}

// MapFile maps the first n bytes of a file for reading.
func MapFile(f storage.File, n int64) (b []byte, err error) {
	o := storage.OSFile(f)
	if o == nil {
		return nil, errors.ErrUnsupported
	}
	c, err := o.SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := c.Control(func(fd uintptr) { b, err = unix.Mmap(int(fd), 0, int(n), unix.PROT_READ, unix.MAP_SHARED) }); e != nil {
		return nil, e
	}
	return b, err
}

// UnmapFile gives the mapping of MapFile back.
func UnmapFile(b []byte) {
	if b != nil {
		_ = unix.Munmap(b)
	}
}
