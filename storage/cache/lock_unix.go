//go:build unix

package cache

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from following a link, and from waiting for the other end of a pipe.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

// tryLock takes the lock of an open file, which ends with the process.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// private reports whether a folder is of this user alone.
func private(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
