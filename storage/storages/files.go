package storages

import (
	"context"
	"iter"

	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/zips"
)

// Files are the files of all storages.
var Files storage.FS = files{}

// files hands each name to its storage.
type files struct{}

func (files) in(name string) (storage.FS, string, error) {
	s, name, err := find(name)
	if err != nil {
		return nil, name, err
	}
	f := storage.FS(local.Files)
	if s != nil {
		f = s.Files
	}
	if _, _, ok := zips.Cut(name); ok {
		f = zips.FS{Under: f}
	}
	return f, name, nil
}

func (x files) Open(ctx context.Context, name string) (storage.File, error) {
	f, name, err := x.in(name)
	if err != nil {
		return nil, err
	}
	return f.Open(ctx, name)
}

func (x files) Stat(ctx context.Context, name string) (storage.Info, error) {
	f, name, err := x.in(name)
	if err != nil {
		return storage.Info{}, err
	}
	return f.Stat(ctx, name)
}

func (x files) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	f, folder, err := x.in(folder)
	if err != nil {
		return func(yield func(storage.Entry, error) bool) { yield(storage.Entry{}, err) }
	}
	return f.List(ctx, folder)
}

func (x files) Path(name string) (string, bool) {
	f, name, err := x.in(name)
	if err != nil {
		return "", false
	}
	return storage.Path(f, name)
}

func (x files) Numbered(name string) bool {
	f, name, err := x.in(name)
	return err == nil && storage.Numbered(f, name)
}

func (x files) OpenBelow(ctx context.Context, folder, name string) (storage.File, error) {
	f, folder, err := x.in(folder)
	if err != nil {
		return nil, err
	}
	return storage.OpenBelow(ctx, f, folder, name)
}

func (x files) OpenOwn(ctx context.Context, name string) (storage.File, error) {
	f, name, err := x.in(name)
	if err != nil {
		return nil, err
	}
	return storage.OpenOwn(ctx, f, name)
}

func (x files) Lstat(ctx context.Context, name string) (storage.Info, error) {
	f, name, err := x.in(name)
	if err != nil {
		return storage.Info{}, err
	}
	return storage.Lstat(ctx, f, name)
}
