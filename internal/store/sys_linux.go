package store

import (
	"io"
	"io/fs"
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

// writePieces appends the pieces to the file, in as few calls as there may be.
// It changes the list.
func writePieces(f *os.File, pieces [][]byte) (done int64, err error) {
	const most = 1024 // UIO_MAXIOV
	fd := int(f.Fd())
	for len(pieces) > 0 {
		n, err := unix.Writev(fd, pieces[:min(len(pieces), most)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return done, &fs.PathError{Op: "writev", Path: f.Name(), Err: err}
		}
		if n == 0 {
			return done, io.ErrShortWrite
		}
		done += int64(n)
		for n > 0 && n >= len(pieces[0]) {
			n -= len(pieces[0])
			pieces = pieces[1:]
		}
		if n > 0 {
			pieces[0] = pieces[0][n:]
		}
		for len(pieces) > 0 && len(pieces[0]) == 0 {
			pieces = pieces[1:]
		}
	}
	return done, nil
}

func syncFS(f *os.File) error { return unix.Syncfs(int(f.Fd())) }

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
