package dataset

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// absentSet is fs.ErrNotExist that says what is in place of a data set.
type absentSet struct {
	why   string
	begun bool // a conversion into the folder is not finished
}

func (e *absentSet) Error() string { return "no data set: " + e.why }
func (e *absentSet) Unwrap() error { return fs.ErrNotExist }

// Absent says why there is no manifest of this name, where err is fs.ErrNotExist or of a
// file used as a folder; else it returns err.
func Absent(ctx context.Context, in storage.FS, name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	at := place{ctx, in}
	dir := storage.Dir(name)
	switch st, e := in.Stat(ctx, dir); {
	case e != nil:
		return &absentSet{why: at.noFolder(dir)}
	case st.Type != storage.Folder:
		return &absentSet{why: "a file, not a folder of shards: shardify convert makes such a folder from the files that it reads"}
	case at.unfinished(dir):
		return &absentSet{why: "the conversion is not finished: run its command again; shardify status shows what is missing", begun: true}
	}
	if at.is(storage.Regular, dir, "index.json") {
		return &absentSet{why: "the folder has an index.json, as sets of MosaicML Streaming have: shardify convert " + dir + " -o FOLDER converts it to shards"}
	}
	return &absentSet{why: "the folder has no " + index.ManifestName + ": shardify convert INPUT -o FOLDER makes one"}
}

// noFolder explains a missing folder; it names a split that the set does not have.
func (at place) noFolder(dir string) string {
	dir = storage.Clean(dir)
	parent, split := storage.Dir(dir), filepath.Base(dir)
	m, err := readManifest(at.ctx, at.in, storage.Join(parent, index.ManifestName))
	switch {
	case err != nil:
		return "there is no such folder"
	case len(m.Splits) == 0:
		return parent + " has no splits, so it has no " + split
	}
	return parent + " has no split " + split + "; it has " + strings.Join(slices.Sorted(maps.Keys(m.Splits)), ", ")
}

// place is where a data set is looked for.
type place struct {
	ctx context.Context
	in  storage.FS
}

// unfinished reports whether dir, or the set that it is a split of, has a conversion that is not finished.
func (at place) unfinished(dir string) bool {
	return at.is(storage.Folder, dir, storage.Private) || at.is(storage.Folder, dir, "../"+storage.Private) && !at.is(storage.Regular, dir, "../"+index.ManifestName)
}

// is reports whether a name from a folder on is of a type.
func (at place) is(t storage.Type, folder, name string) bool {
	st, err := storage.Lstat(at.ctx, at.in, storage.Join(folder, name))
	return err == nil && st.Type == t
}
