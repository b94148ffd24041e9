package stage

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sequential asks the system to read far ahead.
func sequential(f *os.File) { _ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_SEQUENTIAL) }

// inMemory reports whether the file system of a folder keeps its files in memory.
func inMemory(dir string) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return false
	}
	const ramfs = 0x858458f6
	return int64(st.Type) == unix.TMPFS_MAGIC || uint32(st.Type) == ramfs
}

// sameFileSystem reports whether two folders are on one file system.
func sameFileSystem(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}

// mounted reports whether a folder is the root of a mounted file system: it cannot be renamed, so
// no other folder can take its place.
func mounted(dir string) bool {
	var here, above unix.Stat_t
	return unix.Stat(dir, &here) == nil && unix.Stat(filepath.Dir(dir), &above) == nil && here.Dev != above.Dev
}
