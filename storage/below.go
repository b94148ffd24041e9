package storage

import (
	"context"
	"iter"
	"strings"
)

// Below is the folder dir of a store as a store of its own; the store itself if dir is "".
func Below(s Store, dir string) Store {
	if dir = strings.TrimSuffix(dir, "/"); dir == "" {
		return s
	}
	return below{s, dir + "/"}
}

// below adds its prefix to all names. Abilities that do not name files are those of the
// store.
type below struct {
	Store
	prefix string // ends with a slash
}

func (b below) Unwrap() any { return b.Store }

func (b below) Open(name string) (Blob, error) { return b.Store.Open(b.prefix + name) }

func (b below) Create(name string) (Pending, error) { return b.Store.Create(b.prefix + name) }

func (b below) Remove(name string) error { return b.Store.Remove(b.prefix + name) }

func (b below) folder(dir string) string { return strings.TrimSuffix(b.prefix+dir, "/") }

func (b below) List(dir string) iter.Seq2[FileInfo, error] {
	return func(yield func(FileInfo, error) bool) {
		for f, err := range b.Store.List(b.folder(dir)) {
			f.Name = strings.TrimPrefix(f.Name, b.prefix)
			if !yield(f, err) {
				return
			}
		}
	}
}

func (b below) Names(dir string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for name, err := range Names(b.Store, b.folder(dir)) {
			if !yield(strings.TrimPrefix(name, b.prefix), err) {
				return
			}
		}
	}
}

func (b below) RemoveFolder(name string) { RemoveFolder(b.Store, b.prefix+name) }

func (b below) Size(name string) (int64, error) { return Size(b.Store, b.prefix+name) }

func (b below) Swap(ctx context.Context, name string, old, content []byte) error {
	return Swap(ctx, b.Store, b.prefix+name, old, content)
}

func (b below) Place(ctx context.Context, name string, content []byte) error {
	return Place(ctx, b.Store, b.prefix+name, content)
}

func (b below) Replace(ctx context.Context, name string, content []byte) error {
	return Replace(ctx, b.Store, b.prefix+name, content)
}
