package local

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/host"
)

// Space is what a file system has free.
type Space = host.Space

// Failure is a call that the file system of a store has refused, with what was left
// there at that moment: a little later, when files being written are removed, the
// reason would not show any more.
type Failure struct {
	Path  string // of the folder that was written to
	Errno syscall.Errno
	Space Space // of Path
	// Written is the bytes that this process has put into the store.
	Written int64
	Err     error
}

// Error adds to an error about space which kind of it is missing.
func (f *Failure) Error() string {
	if f.Errno != syscall.ENOSPC {
		return f.Err.Error()
	}
	switch {
	case f.NoInodes():
		return fmt.Sprintf("%v: no inodes are left (%s free)", f.Err, shardify.FormatSize(f.Space.Bytes))
	case f.Space.Bytes < 0:
		return f.Err.Error()
	}
	return fmt.Sprintf("%v: %s free", f.Err, shardify.FormatSize(f.Space.Bytes))
}

// Unwrap returns the call's error.
func (f *Failure) Unwrap() error { return f.Err }

// NoInodes reports whether there is room for bytes, but not for another file.
func (f *Failure) NoInodes() bool {
	return f.Errno == syscall.ENOSPC && f.Space.Inodes == 0 && f.Space.Bytes != 0
}

// failed adds the facts to the error of a call; nil stays nil.
func (d *Dir) failed(dir string, err error) error {
	var errno syscall.Errno
	var known *Failure
	if err == nil || errors.As(err, &known) || !errors.As(err, &errno) {
		return err
	}
	return &Failure{Path: dir, Errno: errno, Space: host.SpaceOf(dir), Written: d.written.Load(), Err: err}
}
