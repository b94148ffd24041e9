// Package store finds the arrays of a Zarr store: a folder of any storage, or a zip file. It
// reads metadata and returns files; package node understands them.
//
//	files, err := store.Open(ctx, fs, "x.zarr/zarr.json", file)
//	tree, err := store.Scan(ctx, files, nil)
//	chunk, err := tree.Files.Open(ctx, "t2m/c/0/0")
package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Roots are the names of the files that make a folder a store, the one that counts first.
var Roots = []string{"zarr.json", ".zgroup", ".zarray", ".zmetadata"}

// Files are those of a store, by their slash paths below its root.
type Files interface {
	// Open opens a file; fs.ErrNotExist, storage.ErrNotFile.
	Open(ctx context.Context, name string) (storage.Blob, error)
	// List is what is in a folder, by name; fs.ErrNotExist, or errors.ErrUnsupported if
	// there are no lists.
	List(ctx context.Context, folder string) ([]storage.Entry, error)
	// Far: each file costs a request.
	Far() bool
	// Notes are what is odd.
	Notes() []string
	// CheckNames finds files that have another name than they were given, as far as that is known.
	CheckNames() error
}

// Open opens the store that a file stands for: one of Roots, or an archive. in is the file,
// open, and stays the caller's.
func Open(ctx context.Context, f storage.FS, name string, in storage.File) (Files, error) {
	if slices.Contains(Roots, path.Base(name)) {
		root := storage.Dir(name)
		_, own := storage.Path(f, root)
		return &folder{f, root, !own}, nil
	}
	return openZip(in)
}

// folder is a store in a folder.
type folder struct {
	fs   storage.FS
	root string
	far  bool
}

func (d *folder) Far() bool         { return d.far }
func (d *folder) Notes() []string   { return nil }
func (d *folder) CheckNames() error { return nil }

func (d *folder) Open(ctx context.Context, name string) (storage.Blob, error) {
	f, err := storage.OpenBelow(ctx, d.fs, d.root, name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *folder) List(ctx context.Context, name string) (all []storage.Entry, err error) {
	at := d.root
	if name != "" {
		at = storage.Join(at, name)
	}
	for e, err := range d.fs.List(ctx, at) {
		if err != nil {
			if d.far && (name == "" || !errors.Is(err, fs.ErrNotExist)) && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
			}
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortFunc(all, byName)
	return all, nil
}

func byName(a, b storage.Entry) int { return strings.Compare(a.Name, b.Name) }

// read reads a file of metadata; nil if it does not exist.
func read(ctx context.Context, f Files, name string, most int64) ([]byte, error) {
	b, err := f.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer b.Close()
	if b.Size() > most {
		return nil, shardify.Corrupt(-1, "%s: metadata of %d bytes", name, b.Size())
	}
	return whole(b, make([]byte, b.Size()))
}

// whole fills p with the file from its beginning on.
func whole(b storage.Blob, p []byte) ([]byte, error) {
	if len(p) == 0 {
		return p, nil
	}
	n, err := b.ReadAt(p, 0)
	if n == len(p) && (err == nil || err == io.EOF) {
		return p, nil
	}
	return nil, cmp.Or(err, io.ErrUnexpectedEOF)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "/" + b
}
