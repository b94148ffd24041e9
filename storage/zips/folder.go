// Package zips reads zip files: their directories, and their members as the files of a folder.
package zips

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// FS shows the zip files of another FS as folders: photos.zip/train/1.jpg is a member of photos.zip.
// An archive is one by the ending of its name and by its content; a folder of that name stays one,
// and so does the file of an archive that a reader takes whole (Zarr). An archive in an archive is a file.
// FS is comparable if Under is.
type FS struct{ Under storage.FS }

const ending = ".zip"

// IsArchive reports whether a name is that of a zip file.
func IsArchive(name string) bool {
	return len(name) > len(ending) && strings.EqualFold(name[len(name)-len(ending):], ending)
}

// Cut cuts a name behind the first part that is named like an archive. inside is "" for the archive.
func Cut(name string) (file, inside string, ok bool) {
	for at := storage.PathAt(name); ; {
		n := strings.IndexAny(name[at:], `/\`)
		if n < 0 {
			return name, "", IsArchive(name)
		}
		if n += at; IsArchive(name[at:n]) {
			return name[:n], strings.Trim(strings.ReplaceAll(name[n:], `\`, "/"), "/"), true
		}
		at = n + 1
	}
}

// Unwrap is the FS below.
func (x FS) Unwrap() any { return x.Under }

// key is which archive of which FS.
type key struct {
	fs   storage.FS
	name string
}

// maxOpen is how many archives stay open with their directories in memory.
const maxOpen = 8

var opened struct {
	sync.Mutex
	order []key // the one that was used last comes last
	all   map[key]*archive
}

// hold returns the archive that a name is in; nil if it is in none. look: compare it with the file
// that has the name now. The caller releases it.
func (x FS) hold(ctx context.Context, name string, look bool) (a *archive, inside string, err error) {
	file, inside, ok := Cut(name)
	if !ok {
		return nil, "", nil
	}
	k := key{x.Under, file}
	opened.Lock()
	a = opened.all[k]
	if a != nil {
		a.refs++
	}
	opened.Unlock()
	if a == nil || look {
		info, err := x.Under.Stat(ctx, file)
		if err != nil || info.Type != storage.Regular {
			a.release()
			return nil, "", nil // the FS below says what it is
		}
		if a != nil && a.stamp != info.Stamp {
			a.release()
			a = nil
		}
		if a == nil {
			if a, err = x.open(ctx, k); err != nil {
				return nil, "", err
			}
		}
	}
	if a.err != nil || a.whole {
		whole, err := a.whole, a.err
		a.release()
		if whole {
			return nil, "", nil
		}
		return nil, "", shardify.Annotate(err, "open", file, "")
	}
	return a, inside, nil
}

// open opens an archive and keeps it for the next call.
func (x FS) open(ctx context.Context, k key) (*archive, error) {
	f, err := x.Under.Open(ctx, k.name)
	if err != nil {
		return nil, err
	}
	a, err := read(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	a.refs = 2 // of the caller, and of the table
	opened.Lock()
	defer opened.Unlock()
	if opened.all == nil {
		opened.all = map[key]*archive{}
	}
	if old := opened.all[k]; old != nil {
		drop(k)
	}
	if len(opened.order) >= maxOpen {
		drop(opened.order[0])
	}
	opened.all[k], opened.order = a, append(opened.order, k)
	return a, nil
}

// drop forgets an archive. The caller has the lock.
func drop(k key) {
	opened.all[k].unref()
	delete(opened.all, k)
	for i := range opened.order {
		if opened.order[i] == k {
			opened.order = append(opened.order[:i], opened.order[i+1:]...)
			return
		}
	}
}

func (a *archive) unref() {
	if a.refs--; a.refs == 0 {
		a.in.Close()
	}
}

func (a *archive) release() {
	if a != nil {
		opened.Lock()
		defer opened.Unlock()
		a.unref()
	}
}

// Open implements storage.FS.
func (x FS) Open(ctx context.Context, name string) (storage.File, error) {
	a, inside, err := x.hold(ctx, name, false)
	if err != nil {
		return nil, err
	}
	if a == nil || inside == "" {
		a.release()
		return x.Under.Open(ctx, name)
	}
	m, err := a.open(inside)
	if err != nil {
		a.release()
		return nil, wrap("open", name, err)
	}
	return m, nil
}

// Stat implements storage.FS.
func (x FS) Stat(ctx context.Context, name string) (storage.Info, error) {
	a, inside, err := x.hold(ctx, name, true)
	if err != nil {
		return storage.Info{}, err
	}
	if a == nil {
		return x.Under.Stat(ctx, name)
	}
	defer a.release()
	if i, ok := a.find(inside); ok {
		return storage.Info{Type: storage.Regular, Stamp: a.stampOf(i)}, nil
	}
	if !a.isFolder(inside) {
		return storage.Info{}, wrap("stat", name, fs.ErrNotExist)
	}
	return storage.Info{Type: storage.Folder, Stamp: storage.Stamp{ModTime: a.stamp.ModTime}}, nil
}

// List implements storage.FS.
func (x FS) List(ctx context.Context, folder string) iter.Seq2[storage.Entry, error] {
	return func(yield func(storage.Entry, error) bool) {
		a, inside, err := x.hold(ctx, folder, true)
		switch {
		case err != nil:
			yield(storage.Entry{}, err)
		case a == nil:
			x.Under.List(ctx, folder)(yield)
		case !a.isFolder(inside):
			a.release()
			yield(storage.Entry{}, wrap("list", folder, fs.ErrNotExist))
		default:
			defer a.release()
			a.list(inside, func(e storage.Entry) bool { return yield(e, nil) })
		}
	}
}

// Path implements storage.Native: members have none.
func (x FS) Path(name string) (string, bool) {
	a, inside, err := x.hold(context.Background(), name, false)
	a.release()
	if err != nil || inside != "" {
		return "", false
	}
	return storage.Path(x.Under, name)
}

// Numbered implements storage.Numberer.
func (x FS) Numbered(name string) bool { return storage.Numbered(x.Under, name) }

// OpenBelow implements storage.Linker: members are no links.
func (x FS) OpenBelow(ctx context.Context, folder, name string) (storage.File, error) {
	a, _, err := x.hold(ctx, folder, false)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return storage.OpenBelow(ctx, x.Under, folder, name)
	}
	a.release()
	return x.Open(ctx, storage.Join(folder, name))
}

// OpenOwn implements storage.Linker.
func (x FS) OpenOwn(ctx context.Context, name string) (storage.File, error) {
	a, inside, err := x.hold(ctx, name, false)
	a.release()
	if err != nil || inside == "" {
		return storage.OpenOwn(ctx, x.Under, name)
	}
	return x.Open(ctx, name)
}

// Lstat implements storage.Linker.
func (x FS) Lstat(ctx context.Context, name string) (storage.Info, error) {
	if _, _, ok := Cut(name); ok {
		return x.Stat(ctx, name)
	}
	return storage.Lstat(ctx, x.Under, name)
}

// wrap names the file of an error that is not about its bytes.
func wrap(op, name string, err error) error {
	if errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
