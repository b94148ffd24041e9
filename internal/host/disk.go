package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Space is what a file system has left for this user; -1 where it does not say. Quotas are not
// included.
type Space struct{ Bytes, Inodes int64 }

// SpaceOf looks at the file system where dir is, or will be.
func SpaceOf(dir string) Space {
	st, ok := statfs(dir)
	if !ok {
		return Space{-1, -1}
	}
	s := Space{int64(uint64(st.Bavail) * uint64(st.Bsize)), -1}
	if st.Files > 0 { // btrfs and others have no such limit
		s.Inodes = int64(st.Ffree)
	}
	return s
}

// FreeSpace is the bytes that this user may still write where dir is, or will
// be; -1 when the system does not say.
func FreeSpace(dir string) int64 { return SpaceOf(dir).Bytes }

func statfs(dir string) (st unix.Statfs_t, ok bool) {
	return st, unix.Statfs(existing(dir), &st) == nil
}

// existing is dir, or the first folder above it that exists.
func existing(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for {
		_, err := os.Stat(abs)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || filepath.Dir(abs) == abs {
			return abs
		}
		abs = filepath.Dir(abs)
	}
}

// Remote reports whether dir is on a file system that other machines serve.
func Remote(dir string) bool {
	st, ok := statfs(dir)
	return ok && remote(st)
}
