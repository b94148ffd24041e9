// Package dirfd lists, stats and opens files relative to an open directory,
// without a string per name. It exists because a data set of many small files
// costs 5 µs a file in the kernel, and building paths and os.Files around them
// costs as much again.
//
// On Linux these are the *at system calls; elsewhere (or with the build tag
// portable) package os does the same work, slower.
package dirfd

import "errors"

// Type is the kind of a directory entry.
type Type uint8

// The kinds. Unknown needs a Stat; Other is a pipe, socket or device, which must
// not be opened: that may block for ever.
const (
	Unknown Type = iota
	File
	Folder
	Link
	Other
)

// Info is what stat returns. ModTime is in nanoseconds since 1970.
type Info struct {
	Type          Type
	Size, ModTime int64
	Dev, Ino      uint64
}

// ErrNotFile is returned for something that is no regular file.
var ErrNotFile = errors.New("not a regular file")

// Name is a file name or slash path in the form that the kernel wants; reused, it
// does not allocate.
type Name struct{ buf []byte }

// Set replaces the name. It must not contain a zero byte.
func (n *Name) Set(b []byte) {
	n.buf = append(append(n.buf[:0], b...), 0)
}

// Bytes is the name.
func (n *Name) Bytes() []byte { return n.buf[:len(n.buf)-1] }
