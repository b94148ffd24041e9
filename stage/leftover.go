package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// errNotEmpty is what a rename onto a folder that holds something fails with, where
// it is not fs.ErrExist.
var errNotEmpty = syscall.ENOTEMPTY

// prepare makes the staging folder, or takes over that of an earlier run: it removes files that the
// data set does not have, and manifests, which come last.
func (p *plan) prepare(at *place) error {
	err := os.Mkdir(at.staging, 0o777)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	if st, err := os.Lstat(at.staging); err != nil || !st.IsDir() || !ofUser(at.staging) {
		return fmt.Errorf("%s is in the way: it is not a folder of this user", at.staging)
	}
	want := map[string]bool{}
	for i := range p.files {
		want[p.files[i].name] = true
	}
	return filepath.WalkDir(at.staging, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(at.staging, path)
		if err != nil {
			return err
		}
		if want[filepath.ToSlash(rel)] && e.Type().IsRegular() {
			return nil
		}
		return os.Remove(path)
	})
}

// litter reports whether something is beside a complete copy: a process may have ended just after
// the rename, or work on another copy.
func (p *place) litter() bool {
	for _, name := range []string{p.staging, p.removing, p.lock} {
		if _, err := os.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// tidy removes the files beside a complete copy. The lock is held.
func (p *place) tidy() error {
	return errors.Join(os.RemoveAll(p.staging), os.RemoveAll(p.removing))
}

// ofUser reports whether a folder belongs to this user, or to root. /dev/shm is for all users of a
// node.
func ofUser(dir string) bool {
	st, err := os.Stat(dir)
	if err != nil {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return !ok || int(sys.Uid) == os.Geteuid() || sys.Uid == 0
}

// left is the bytes of files that an earlier run had completed.
func (p *plan) left(at *place) (n int64) {
	for i := range p.files {
		f := &p.files[i]
		if st, err := os.Lstat(filepath.Join(at.staging, filepath.FromSlash(f.name))); err == nil && st.Size() == f.bytes {
			n += f.bytes
		}
	}
	return n
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // some file systems cannot sync a folder
	}
	return errors.Join(err, f.Close())
}
