package storage

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
)

// ErrReadOnly is wrapped by errors about writes to a store that is only read.
var ErrReadOnly = errors.New("data sets are not published there")

// mostDepth bounds the folders below a data set.
const mostDepth = 16

// ReadOnly is the folder of an FS as a store in which nothing can be published.
func ReadOnly(f FS, folder string) Store { return readOnly{f, folder} }

type readOnly struct {
	fs     FS
	folder string
}

// Open opens a published file.
func (r readOnly) Open(name string) (Blob, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return r.fs.Open(context.Background(), Join(r.folder, name))
}

func (r readOnly) refused(op, name string) error {
	return &fs.PathError{Op: op, Path: Join(r.folder, name), Err: ErrReadOnly}
}

func (r readOnly) Create(name string) (Pending, error) { return nil, r.refused("create", name) }

func (r readOnly) Remove(name string) error { return r.refused("remove", name) }

// Size asks for the size of a file.
func (r readOnly) Size(name string) (int64, error) {
	info, err := r.fs.Stat(context.Background(), Join(r.folder, name))
	return info.Size, err
}

// List looks into all folders.
func (r readOnly) List(dir string) iter.Seq2[FileInfo, error] {
	return func(yield func(FileInfo, error) bool) {
		files, err := r.below(dir, nil, 0)
		if err != nil {
			yield(FileInfo{}, err)
			return
		}
		slices.SortFunc(files, func(a, b FileInfo) int { return strings.Compare(a.Name, b.Name) })
		for _, f := range files {
			if !yield(f, nil) {
				return
			}
		}
	}
}

func (r readOnly) below(dir string, files []FileInfo, depth int) ([]FileInfo, error) {
	if depth > mostDepth {
		return nil, r.refused("list", dir)
	}
	for e, err := range r.fs.List(context.Background(), Join(r.folder, dir)) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(dir+"/"+e.Name, "/")
		if e.Type == Folder {
			if files, err = r.below(name, files, depth+1); err != nil {
				return nil, err
			}
			continue
		}
		if e.Size < 0 {
			if e.Size, err = r.Size(name); err != nil {
				return nil, err
			}
		}
		files = append(files, FileInfo{name, e.Size})
	}
	return files, nil
}
