//go:build !linux

package host

import "golang.org/x/sys/unix"

// remote reports whether other machines serve a file system.
func remote(st unix.Statfs_t) bool { return st.Flags&unix.MNT_LOCAL == 0 }

// bookkeeperOf knows of none: quotas are asked for on Linux alone.
func bookkeeperOf(unix.Statfs_t) bookkeeper { return nobody }
