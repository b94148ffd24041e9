package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"syscall"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local/dirfd"
)

// Files are the files of this machine, by their paths.
var Files storage.FS = files{}

type files struct{}

// input is an open file of this machine.
type input struct {
	*os.File
	stamp storage.Stamp
}

func (i *input) Size() int64          { return i.stamp.Size }
func (i *input) Stamp() storage.Stamp { return i.stamp }
func (i *input) OSFile() *os.File     { return i.File }

// Now is what the open file is now.
func (i *input) Now() (storage.Stamp, error) {
	st, err := i.File.Stat()
	if err != nil {
		return storage.Stamp{}, err
	}
	return stampOf(st), nil
}

func (files) Open(ctx context.Context, name string) (storage.File, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return inputOf(Open(name))
}

func inputOf(f *os.File, st fs.FileInfo, err error) (storage.File, error) {
	if err != nil {
		return nil, err
	}
	return &input{f, stampOf(st)}, nil
}

func (files) OpenOwn(ctx context.Context, name string) (storage.File, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return inputOf(OpenOwn(name))
}

func (files) Lstat(ctx context.Context, name string) (storage.Info, error) {
	if ctx.Err() != nil {
		return storage.Info{}, context.Cause(ctx)
	}
	return infoOf(os.Lstat(name))
}

func infoOf(st fs.FileInfo, err error) (storage.Info, error) {
	if err != nil {
		return storage.Info{}, err
	}
	return storage.Info{Type: typeOf(st.Mode()), Stamp: stampOf(st)}, nil
}

// OpenBelow opens a regular file below a folder, whatever links there are: none leads out
// of it.
func (files) OpenBelow(ctx context.Context, folder, name string) (storage.File, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f := openBelow(folder, name)
	if f == nil {
		var err error
		if f, err = openRoot(folder, name); err != nil {
			return nil, err
		}
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = NotFile(name, st.Mode())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &input{f, stampOf(st)}, nil
}

// openRoot is OpenBelow part by part of the name.
func openRoot(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	st, err := root.Stat(name)
	if errno := syscall.Errno(0); err != nil && (!errors.As(err, &errno) || errno == syscall.ELOOP) {
		return nil, fmt.Errorf("%w: %w", storage.ErrOutside, err) // it comes from os.Root itself
	}
	if errors.Is(err, syscall.ENOTDIR) {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, NotFile(name, st.Mode())
	}
	return root.OpenFile(name, os.O_RDONLY|nonBlock, 0)
}

func (files) Stat(ctx context.Context, name string) (storage.Info, error) {
	if ctx.Err() != nil {
		return storage.Info{}, context.Cause(ctx)
	}
	return infoOf(os.Stat(name))
}

// listed is how many names are read at a time.
const listed = 1024

func (files) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		d, err := os.Open(folder)
		if err != nil {
			yield(storage.Entry{}, err)
			return
		}
		defer d.Close()
		for err == nil {
			var entries []fs.DirEntry
			entries, err = d.ReadDir(listed)
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			for _, e := range entries {
				if !yield(storage.Entry{Name: e.Name(), Type: typeOf(e.Type()), Size: -1}, nil) {
					return
				}
			}
		}
		if err != io.EOF {
			yield(storage.Entry{}, err)
		}
	}
}

func (files) Path(name string) (string, bool) { return name, true }

func typeOf(m fs.FileMode) storage.Type {
	switch {
	case m.IsRegular():
		return storage.Regular
	case m.IsDir():
		return storage.Folder
	case m&fs.ModeSymlink != 0:
		return storage.Link
	}
	return storage.Other
}

// Sequential is f for reads of many kilobytes, one at a time.
func Sequential(f storage.File) io.ReaderAt {
	if o := storage.OSFile(f); o != nil {
		return dirfd.NewInput(o)
	}
	return f
}
