package array

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

// File is an open input, used by several readers at once.
type File struct {
	fs   storage.FS
	in   *rows.Watched
	H5   *h5.File
	Size int64
	Path string // for what is named relative to it
	// external: data in other files of its folder may be read.
	external bool
	depth    int // of files that were opened for another's sake

	mu     sync.Mutex
	arrays map[string]*Array
	turns  map[string]*Order // of data sets whose axes are not read as stored
	dirs   map[string]int64  // groups that paths led through
	others map[string]*File
	raws   map[string]storage.File
	lost   error // of a file that it refers to and that could not be opened
}

const (
	// itself is how a virtual data set names its own file.
	itself = "."
	// maxNested bounds files and virtual data sets that lead to others.
	maxNested = 8
	// maxOthers bounds the files that one file may have opened, as all stay open.
	maxOthers = 512
)

// Open takes over an open file.
func Open(fs storage.FS, f storage.File, name string, external bool) (*File, error) {
	in := rows.Watch(f)
	h, err := h5.Open(in, f.Size(), "")
	if err != nil {
		return nil, err
	}
	return &File{fs: fs, in: in, H5: h, Size: f.Size(), Path: name, external: external,
		arrays: map[string]*Array{}, dirs: map[string]int64{}, others: map[string]*File{}, raws: map[string]storage.File{}}, nil
}

// Close closes it with all that it led to.
func (f *File) Close() error {
	err := f.in.Close()
	for _, o := range f.others {
		err = errors.Join(err, o.Close())
	}
	for _, r := range f.raws {
		err = errors.Join(err, r.Close())
	}
	return err
}

// ReadFull fills b with the bytes of the file from off on.
func (f *File) ReadFull(b []byte, off int64) error { return readAt(f.in, b, off) }

// Failed is the error of a read that failed, here or in a file that this one led to.
func (f *File) Failed() error {
	if err := f.in.Failed(); err != nil {
		return err
	}
	for _, o := range f.others {
		if err := o.Failed(); err != nil {
			return err
		}
	}
	return f.lost
}

// Array opens the data set at a path, once.
func (f *File) Array(p string) (*Array, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := f.arrays[p]; a != nil {
		return a, nil
	}
	a, err := f.open(p)
	if err != nil {
		return nil, err
	}
	f.arrays[p] = a
	return a, nil
}

// open is called with mu held.
func (f *File) open(p string) (*Array, error) {
	o, in, err := f.object(p)
	if err != nil {
		return nil, err
	}
	a, err := in.Dataset(o, p)
	if how := f.turns[p]; how != nil && err == nil {
		return a.turned(how)
	}
	return a, err
}

// Dataset makes an object an array.
func (f *File) Dataset(o *h5.Object, p string) (*Array, error) {
	if o.Kind != h5.KindDataset {
		return nil, shardify.Mismatch("a %s, no data set", o.Kind)
	}
	d, err := o.Dataset()
	if err != nil {
		return nil, err
	}
	return New(f, p, d)
}

// SetOrder says in which order the axes of a data set are read; nil for that stored.
func (f *File) SetOrder(p string, how *Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.arrays, p)
	if how == nil {
		delete(f.turns, p)
		return
	}
	if f.turns == nil {
		f.turns = map[string]*Order{}
	}
	f.turns[p] = how
}

// Lookup finds what a path leads to, and the file that it is in.
func (f *File) Lookup(p string) (*h5.Object, *File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.object(p)
}

// object finds what a path leads to, in this file or behind external links. Called with mu
// held.
func (f *File) object(p string) (*h5.Object, *File, error) {
	if o := f.sibling(p); o != nil {
		return o, f, nil
	}
	for range maxNested {
		found, err := f.H5.Lookup(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, shardify.Mismatch("there is no %s", p)
		}
		if err != nil {
			return nil, nil, err
		}
		if !found.External {
			o, err := f.H5.Object(found.Addr, p)
			return o, f, err
		}
		if !f.external {
			return nil, nil, shardify.Unsupported("an external link to %s; --external follows links to files below the input's folder", found.File)
		}
		if f, err = f.other(found.File); err != nil {
			return nil, nil, err
		}
		if p = found.Target; !strings.HasPrefix(p, "/") {
			p = "/" + p
		}
	}
	return nil, nil, shardify.Corrupt(-1, "an endless chain of external links")
}

// maxDirs bounds the groups that are remembered.
const maxDirs = 1 << 16

// sibling finds an object in a group that was found before: data sets of one
// group are mostly asked for one after the other. nil leaves it to the whole path.
func (f *File) sibling(p string) *h5.Object {
	dir, name := path.Split(p)
	if name == "" || name == "." || name == ".." {
		return nil
	}
	addr, ok := f.dirs[dir]
	if !ok {
		found, err := f.H5.Lookup(cmp.Or(strings.TrimSuffix(dir, "/"), "/"))
		if err != nil || found.External || len(f.dirs) >= maxDirs {
			return nil
		}
		addr = found.Addr
		f.dirs[dir] = addr
	}
	g, err := f.H5.Object(addr, dir)
	if err != nil || g.Kind != h5.KindGroup {
		return nil
	}
	l, ok, err := g.Child(name)
	if err != nil || !ok || l.Kind != h5.HardLink || l.Err != nil {
		return nil
	}
	o, err := f.H5.Object(l.Addr, p)
	if err != nil {
		return nil
	}
	return o
}

// other opens another HDF5 file of the folder; called with mu held.
func (f *File) other(name string) (*File, error) {
	if o := f.others[name]; o != nil {
		return o, nil
	}
	if f.depth >= maxNested || len(f.others) >= maxOthers {
		return nil, shardify.Unsupported("it refers to more than %d files, or more than %d deep", maxOthers, maxNested)
	}
	in, place, err := f.openBelow(name)
	if err != nil {
		return nil, err
	}
	o, err := Open(f.fs, in, place, f.external)
	if err != nil {
		in.Close()
		err = shardify.Annotate(err, "read", place, "")
		if !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrCorrupt) {
			f.lost = err // it could not be read, and may be all right
		}
		return nil, err
	}
	o.depth = f.depth + 1
	f.others[name] = o
	return o, nil
}

// openBelow opens a regular file below this file's folder: nothing else may be
// named by data, be it through "..", an absolute path or a symbolic link.
func (f *File) openBelow(name string) (storage.File, string, error) {
	if name == itself {
		o, err := f.fs.Open(context.Background(), f.Path)
		return o, f.Path, err
	}
	clean := filepath.FromSlash(name)
	if !filepath.IsLocal(clean) || strings.Contains(name, "..") {
		return nil, "", shardify.Unsupported("refers to the file %q, which is not below the folder of the input", name)
	}
	o, err := storage.OpenBelow(context.Background(), f.fs, storage.Dir(f.Path), clean)
	switch {
	case errors.Is(err, storage.ErrNotFile):
		return nil, "", shardify.Unsupported("refers to %s, which is not a regular file", name)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, storage.ErrOutside):
		return nil, "", shardify.Unsupported("refers to the file %s: %v", name, unwrapPath(err))
	case err != nil: // it may be there, and is not taken for absent
		f.lost = err
	}
	return o, storage.Join(storage.Dir(f.Path), clean), err
}

func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// located adds to an error where in the file and in what it is.
func located(err error, off int64, format string, args ...any) error {
	if err == nil {
		return nil
	}
	what := fmt.Sprintf(format, args...)
	var e *shardify.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", what, err)
	}
	c := *e
	if c.Offset < 0 {
		c.Offset = off
	}
	c.Err = fmt.Errorf("%s: %w", what, e.Err)
	return &c
}
