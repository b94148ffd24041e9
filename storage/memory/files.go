package memory

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"

	"github.com/shardify/shardify/storage"
)

// Files are the files of a store as inputs: their addresses are their names behind Prefix.
type Files struct {
	Store  *Store
	Prefix string // like mem://
}

// Below is the store of an address.
func (f Files) Below(address string) (storage.Store, error) {
	return storage.Below(f.Store, f.name(address)), nil
}

func (f Files) name(address string) string {
	return strings.Trim(strings.TrimPrefix(address, f.Prefix), "/")
}

type file struct {
	storage.Blob
	stamp storage.Stamp
}

// Unwrap is the file of the store.
func (f file) Unwrap() any { return f.Blob }

func (f file) Stamp() storage.Stamp { return f.stamp }

// Open opens a file.
func (f Files) Open(ctx context.Context, address string) (storage.File, error) {
	info, err := f.Stat(ctx, address)
	if err == nil && info.Type != storage.Regular {
		err = &fs.PathError{Op: "open", Path: address, Err: storage.ErrNotFile}
	}
	if err != nil {
		return nil, err
	}
	b, err := f.Store.Open(f.name(address))
	return file{b, info.Stamp}, err
}

// Stat looks at a file, or at a folder, which is there as long as it holds a file.
func (f Files) Stat(ctx context.Context, address string) (storage.Info, error) {
	if ctx.Err() != nil {
		return storage.Info{}, context.Cause(ctx)
	}
	name := f.name(address)
	for n, b := range f.Store.Files() {
		if n == name {
			return storage.Info{Type: storage.Regular, Stamp: storage.Stamp{Size: int64(len(b)), ModTime: 1}}, nil
		}
		if name == "" || strings.HasPrefix(n, name+"/") {
			return storage.Info{Type: storage.Folder}, nil
		}
	}
	return storage.Info{}, &fs.PathError{Op: "stat", Path: address, Err: fs.ErrNotExist}
}

// List yields what is in a folder.
func (f Files) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		if info, err := f.Stat(ctx, folder); err != nil || info.Type != storage.Folder {
			yield(storage.Entry{}, errors.Join(err, &fs.PathError{Op: "list", Path: folder, Err: errors.New("not a folder")}))
			return
		}
		name, seen := f.name(folder), map[string]bool{}
		for x := range f.Store.List(name) {
			rest := strings.TrimPrefix(strings.TrimPrefix(x.Name, name), "/")
			e := storage.Entry{Name: rest, Type: storage.Regular, Size: x.Size, ModTime: 1}
			if first, _, below := strings.Cut(rest, "/"); below {
				e = storage.Entry{Name: first, Type: storage.Folder, Size: -1}
			}
			if seen[e.Name] {
				continue
			}
			if seen[e.Name] = true; !yield(e, nil) {
				return
			}
		}
	}
}
