package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/shardify/shardify/storage"
)

// Open opens an input. Symbolic links are followed: the listing of inputs has decided
// which ones are allowed.
func Open(name string) (*os.File, fs.FileInfo, error) { return open(name, 0) }

// OpenOwn opens a file of a data set. A symbolic link in its place is refused: it could pass
// off any file of the user who opens the set as data. Folders may be links.
func OpenOwn(name string) (*os.File, fs.FileInfo, error) {
	f, st, err := open(name, noFollow)
	if errors.Is(err, syscall.ELOOP) {
		if own, e := os.Lstat(name); e == nil && !own.Mode().IsRegular() {
			err = NotFile(name, own.Mode())
		}
	}
	return f, st, err
}

func open(name string, flags int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|nonBlock|flags, 0)
	if errors.Is(err, syscall.ENXIO) { // a socket
		if st, e := os.Lstat(name); e == nil && !st.Mode().IsRegular() {
			return nil, nil, NotFile(name, st.Mode())
		}
	}
	if errors.Is(err, syscall.EAGAIN) { // some file servers lend files, and take them back for who waits
		f, err = again(name, flags)
	}
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = NotFile(name, st.Mode())
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, st, nil
}

func again(name string, flags int) (*os.File, error) {
	st, err := os.Stat(name)
	if err == nil && !st.Mode().IsRegular() {
		err = NotFile(name, st.Mode())
	}
	if err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_RDONLY|flags, 0)
}

// Stream opens what a user names to be read once, also a pipe.
func Stream(name string) (io.ReadCloser, error) { return os.Open(name) }

// ReadOwn reads a small file of a data set, of at most so many bytes.
func ReadOwn(name string, most int64) ([]byte, error) {
	f, st, err := OpenOwn(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %d bytes, at most %d are read", st.Size(), most)}
	}
	b := make([]byte, st.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return b, nil
}

// NotFile is the error of a file of another kind.
func NotFile(name string, m fs.FileMode) error {
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w but %s", storage.ErrNotFile, kind(m))}
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link, and those are not followed within a data set"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}
