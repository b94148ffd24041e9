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

// tryRange takes the lock of n bytes of an open file; 0 is all of it from off on.
func tryRange(f *os.File, off, n int64) bool {
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Start: off, Len: n}
	return syscall.FcntlFlock(f.Fd(), setRange, &l) == nil
}
