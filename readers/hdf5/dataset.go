package hdf5

import (
	"sync"

	"github.com/shardify/shardify/internal/rows"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/storage"
)

// file is an open input with what was found in it, used by several readers at once.
type file struct {
	*array.File

	mu      sync.Mutex
	sets    map[string]*dataset
	sparse  map[string]*sparse    // matrices that readers have found
	flat    map[string]*flatLists // by the path of their offsets, the same
	damaged []rows.Damage         // what a scan met
}

// newFile takes over an open file.
func newFile(fs storage.FS, f storage.File, name string, external bool) (*file, error) {
	in, err := array.Open(fs, f, name, external)
	if err != nil {
		return nil, err
	}
	return &file{File: in}, nil
}

// dataset is an array with the fields of its type.
type dataset struct {
	*array.Array
	once   sync.Once
	err    error
	leaves []leaf
}

// array opens the data set at a path, once.
func (f *file) array(p string) (*dataset, error) {
	a, err := f.File.Array(p)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.sets[p]; d != nil && d.Array == a {
		return d, nil
	}
	if f.sets == nil {
		f.sets = map[string]*dataset{}
	}
	d := &dataset{Array: a}
	f.sets[p] = d
	return d, nil
}

// dataset makes an object of the file a data set.
func (f *file) dataset(o *h5.Object, p string) (*dataset, error) {
	a, err := f.File.Dataset(o, p)
	if err != nil {
		return nil, err
	}
	return &dataset{Array: a}, nil
}
