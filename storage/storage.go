package storage

import (
	"context"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
)

// Store is where a data set is published: a folder. Names are slash paths below
// it. Methods may be called concurrently.
type Store interface {
	Open(name string) (Blob, error)
	// Create starts a file, which is not visible before its Commit.
	Create(name string) (Pending, error)
	// List yields the published files below dir ("" is everything), sorted by
	// bytes, without temporary files.
	List(dir string) iter.Seq2[FileInfo, error]
	// Remove removes a published file; a missing one is no error.
	Remove(name string) error
}

// FileInfo is a published file.
type FileInfo struct {
	Name string
	Size int64
}

// Blob is a published file, open for reading.
type Blob interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Pending is a file being written, used by one goroutine.
type Pending interface {
	io.Writer   // appends at the current end
	io.WriterAt // writes anywhere; does not move the end that Write appends to
	// Commit makes the file durable and visible under its name. If the name is
	// taken by a file of equal content that is success (two live writers of one
	// unit are normal); other content is
	// shardify.ErrExists. A failed Commit publishes
	// nothing.
	Commit(ctx context.Context) error
	// Abort drops the file; after Commit it does nothing.
	Abort() error
}

// Private is the folder below a data set that readers never look into.
const Private = ".shardify"

// CheckName refuses a name that is not a clean slash path below the root.
func CheckName(name string) error {
	if name == "" || name == "." || path.Clean("/"+name) != "/"+name || strings.ContainsRune(name, 0) {
		return fmt.Errorf("file name %q is not a path below the data set's folder", name)
	}
	return nil
}
