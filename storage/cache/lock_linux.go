package cache

import (
	"os"
	"syscall"
)

// ranges: tryRange locks a range of a file.
const ranges = true

// setRange is F_OFD_SETLK: the lock is that of an open file, and so excludes others of this
// process, too.
const setRange = 37

// tryRange takes the lock of n bytes of an open file; 0 is all of it from off on. taken: another
// has it. Where neither is, there are no such locks.
func tryRange(f *os.File, off, n int64) (own, taken bool) {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Start: off, Len: n}
	err := syscall.FcntlFlock(f.Fd(), setRange, &l)
	return err == nil, err == syscall.EAGAIN || err == syscall.EACCES
}

// freeRange gives back what tryRange took. To close the file does not, while a child of a fork
// has it open, too.
func freeRange(f *os.File, off, n int64) {
	_ = syscall.FcntlFlock(f.Fd(), setRange, &syscall.Flock_t{Type: syscall.F_UNLCK, Start: off, Len: n})
}
