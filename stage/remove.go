package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Removed is what Remove has done.
type Removed struct {
	Path  string
	Bytes int64
	// None: there was nothing.
	None bool
}

// Remove removes a staged copy and the files of an unfinished one. A folder that was not staged, or
// that holds files which are not part of the copy, is left unchanged.
func Remove(ctx context.Context, o Options) (*Removed, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	at, err := placeOf(o.Dest)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(at.parent); errors.Is(err, fs.ErrNotExist) {
		return &Removed{Path: at.dest, None: true}, nil
	}
	l, _, err := acquire(ctx, &o, at.lock)
	if err != nil {
		return nil, err
	}
	r, err := remove(&at)
	if e := l.release(); err == nil {
		err = e
	}
	return r, err
}

func remove(at *place) (*Removed, error) {
	r := &Removed{Path: at.dest, None: true}
	for _, dir := range []string{at.staging, at.removing} {
		if _, err := os.Lstat(dir); err == nil {
			n, _ := size(dir)
			r.None, r.Bytes = false, r.Bytes+n
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	none, err := empty(at.dest)
	if err != nil || none {
		return r, err
	}
	if _, err := readMark(at.dest); err != nil {
		return nil, err
	}
	if err := onlyOurs(at.dest); err != nil {
		return nil, err
	}
	n, err := size(at.dest)
	if err != nil {
		return nil, err
	}
	r.None, r.Bytes = false, r.Bytes+n
	if err := os.Rename(at.dest, at.removing); err != nil {
		return nil, err
	}
	return r, os.RemoveAll(at.removing)
}

// onlyOurs refuses a staged folder to which other files were added. With damaged manifests this
// cannot be known, and it refuses nothing.
func onlyOurs(dest string) error {
	p, err := load(dest)
	switch {
	case errors.Is(err, shardify.ErrCorrupt), errors.Is(err, shardify.ErrSchema), errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	ours := map[string]bool{MarkName: true}
	for i := range p.files {
		ours[p.files[i].name] = true
	}
	for i := range p.manifests {
		ours[p.manifests[i].name] = true
	}
	return filepath.WalkDir(dest, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dest, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if ours[name] || strings.HasPrefix(name, storage.Private+"/") {
			return nil
		}
		return fmt.Errorf("%s holds %s, which is not of the copy: take it elsewhere first: %w", dest, name, ErrNotOurs)
	})
}

// size is the bytes of all files below a folder; 0 if it is not there.
func size(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		st, err := e.Info()
		if err == nil {
			n += st.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return n, err
}
