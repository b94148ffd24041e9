package local

import (
	"os"

	"golang.org/x/sys/unix"
)

func renameNoReplace(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// startWriteback asks for the dirty pages to be written, without waiting. That
// it may fail does not matter: fsync decides.
func startWriteback(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

func syncFS(f *os.File) error {
	for {
		if err := unix.Syncfs(int(f.Fd())); err != unix.EINTR {
			return err
		}
	}
}

// copyRange copies n bytes inside the kernel. It returns how many it copied; the
// caller does the rest by hand.
func copyRange(dst *os.File, dstOff int64, src *os.File, srcOff, n int64) int64 {
	var done int64
	for done < n {
		s, d := srcOff+done, dstOff+done
		m, err := unix.CopyFileRange(int(src.Fd()), &s, int(dst.Fd()), &d, int(min(n-done, 1<<30)), 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil || m <= 0 {
			break
		}
		done += int64(m)
	}
	return done
}
