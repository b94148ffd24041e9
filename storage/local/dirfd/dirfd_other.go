//go:build !linux || portable

package dirfd

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Portable: package os does the work.
const Portable = true

// Dir is an open directory.
type Dir struct{ path string }

// Handle is an open file.
type Handle struct{ f *os.File }

// Open opens a directory.
func Open(path string) (Dir, error) {
	st, err := os.Stat(path)
	if err == nil && !st.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a directory")}
	}
	return Dir{path}, err
}

// Close closes the directory.
func (d Dir) Close() {}

// Info stats the directory itself.
func (d Dir) Info() (Info, error) { return stat(d.path) }

// Local is not known.
func (d Dir) Local() bool { return false }

// Stat stats an entry, or a slash path below the directory, following links.
func (d Dir) Stat(n *Name, _ bool) (Info, error) { return stat(d.join(n)) }

func (d Dir) join(n *Name) string {
	return filepath.Join(d.path, filepath.FromSlash(string(n.Bytes())))
}

func stat(path string) (Info, error) {
	st, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	return info(st), nil
}

func info(st fs.FileInfo) Info {
	i := Info{Type: kind(st.Mode()), Size: st.Size(), ModTime: st.ModTime().UnixNano()}
	i.Dev, i.Ino = identity(st)
	return i
}

func kind(m fs.FileMode) Type {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Folder
	case m&fs.ModeSymlink != 0:
		return Link
	}
	return Other
}

// List calls each for every entry but . and .., in the directory's own order.
func (d Dir) List(_ []byte, each func(name []byte, t Type) error) error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(1024)
		for _, e := range list {
			if err := each([]byte(e.Name()), kind(e.Type())); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// OpenFile opens an entry for reading. It looks at its type first, so as not to
// block on a pipe.
func (d Dir) OpenFile(n *Name, _, _ bool) (Handle, error) {
	path := d.join(n)
	st, err := os.Stat(path)
	if err != nil {
		return Handle{}, err
	}
	if !st.Mode().IsRegular() {
		return Handle{}, ErrNotFile
	}
	f, err := os.Open(path)
	return Handle{f}, err
}

// Refused reports that OpenFile may work without noatime.
func Refused(error) bool { return false }

// Transient reports an error that network file systems give for a moment.
func Transient(err error) bool {
	return errors.Is(err, syscall.ESTALE) || errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ETIMEDOUT) || errors.Is(err, syscall.EAGAIN)
}

// Read reads at the current position; 0 bytes and no error is the end.
func (h Handle) Read(p []byte) (int, error) {
	n, err := h.f.Read(p)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// Info stats the open file.
func (h Handle) Info() (Info, error) {
	st, err := h.f.Stat()
	if err != nil {
		return Info{}, err
	}
	return info(st), nil
}

// Close closes the file.
func (h Handle) Close() { h.f.Close() }
