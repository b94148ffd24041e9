package h5

import (
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// File is an open HDF5 file.
type File struct {
	*meta.File
	sohm   []sharedIndex // shared-message table, nil without one
	groups groupCache
	heaps  heap.Fractals
}

// Open reads the superblock and the root group's header. name appears in errors.
// The reader stays with the caller, who closes it after the last use of the File.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	return open(meta.New(r, size, name, 0))
}

func open(m *meta.File) (*File, error) {
	f := &File{File: m}
	if err := f.readSuperblock(); err != nil {
		return nil, shardify.Annotate(err, "open", f.Name(), "")
	}
	root, err := f.Object(f.Root, "/")
	if err != nil {
		return nil, err
	}
	if root.Kind != KindGroup {
		return nil, shardify.Annotate(shardify.Corrupt(f.Root, "the root is a %s, not a group", root.Kind), "open", f.Name(), "/")
	}
	return f, nil
}
