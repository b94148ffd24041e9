package dataset

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/shardify/shardify/index"
)

// private is the folder of a data set in the making; store.Private, which loaders need
// not link.
const private = ".shardify"

// absent is fs.ErrNotExist that says what stands in place of a data set.
type absent struct{ why string }

func (e *absent) Error() string { return "no data set: " + e.why }
func (e *absent) Unwrap() error { return fs.ErrNotExist }

// Absent tells why there is no manifest of this name, where err says no more than that
// there is none; else it is err.
func Absent(name string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	dir := filepath.Dir(name)
	st, e := os.Stat(dir)
	switch {
	case e != nil:
		return &absent{noFolder(dir)}
	case !st.IsDir():
		return &absent{"a file, not a folder of shards: shardify convert makes one of what it reads"}
	case isDir(filepath.Join(dir, private)), isDir(filepath.Join(dir, "..", private)) && !isFile(filepath.Join(dir, "..", index.ManifestName)):
		return &absent{"the conversion is not finished: run its command again; shardify status tells what is missing"}
	}
	return &absent{"the folder has no " + index.ManifestName + ": shardify convert INPUT -o FOLDER makes one"}
}

// noFolder also tells that a split was meant which the set does not have.
func noFolder(dir string) string {
	parent, split := filepath.Split(filepath.Clean(dir))
	m, err := readManifest(filepath.Join(parent, index.ManifestName))
	switch {
	case err != nil:
		return "there is no such folder"
	case len(m.Splits) == 0:
		return filepath.Clean(parent) + " has no splits, so it has no " + split
	}
	return filepath.Clean(parent) + " has no split " + split + "; it has " + strings.Join(slices.Sorted(maps.Keys(m.Splits)), ", ")
}

func isDir(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.IsDir()
}

func isFile(name string) bool {
	st, err := os.Lstat(name)
	return err == nil && st.Mode().IsRegular()
}
