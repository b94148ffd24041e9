package local

import (
	"os"

	"golang.org/x/sys/unix"
)

// openBelow opens a regular file below a folder by one call where the system resolves names so, instead of
// one for each part of the name. nil: nothing is known of it.
func openBelow(folder, name string) *os.File {
	dir, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil // to open a device may do something
	}
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | nonBlock, Resolve: unix.RESOLVE_BENEATH})
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), folder+"/"+name)
}
