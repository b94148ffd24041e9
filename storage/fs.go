package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
)

// FS is where inputs are read from. Names are what users give and what is below it: paths,
// or addresses. Methods may be called concurrently. Their errors, and those of reads but
// io.EOF, are *fs.PathError, so that none is taken for damage of the data; what is not
// there is fs.ErrNotExist. The context ends the call; a File lives until it is closed.
type FS interface {
	// Open opens a regular file. What else has the name is ErrNotFile, without a wait.
	Open(ctx context.Context, name string) (File, error)
	// Stat looks up a name without opening it. Links are followed.
	Stat(ctx context.Context, name string) (Info, error)
	// List yields what is in a folder, in any order, as the storage gives it: a page of
	// an object store, a block of a directory.
	List(ctx context.Context, folder string) iter.Seq2[Entry, error]
}

// File is an input, open for reads at any offset, by several goroutines. Reads are
// complete or give an error: io.EOF at the end alone.
type File interface {
	Blob
	// Stamp is what the file was when it was opened.
	Stamp() Stamp
}

// ErrOutside is wrapped by errors about names that lead out of a folder.
var ErrOutside = errors.New("leads out of the folder")

// ErrNotFile is wrapped by errors about what is not a regular file.
var ErrNotFile = errors.New("not a regular file")

// Type is the type of an entry.
type Type uint8

// The types. Unknown: the listing does not say. Other is a pipe, socket or device, which
// must not be opened: that may block for ever.
const (
	Unknown Type = iota
	Regular
	Folder
	Link
	Other
)

// Info is what Stat returns.
type Info struct {
	Type Type
	Stamp
}

// Entry is a name in a folder. Size is -1 where the listing does not say.
type Entry struct {
	Name          string // without the folder
	Type          Type
	Size, ModTime int64
}

// Stamp identifies the content of a file. What a storage does not know is zero.
type Stamp struct {
	Size    int64
	ModTime int64  // nanoseconds since 1970
	Version string // of an object store: its version, else the ETag
	Node    Node
}

// Node is which file something is on a machine. Plans do not have it: other machines may
// number the files of a server otherwise, and a copy that was made with care is as good as
// the original.
type Node struct {
	Dev, Ino uint64
	Changed  int64 // nanoseconds since 1970
	// What else changes the time of a change: names, owners and rights.
	Links uint64
	Owner [2]uint32
	Mode  uint32
}

// Replaced reports whether a file is another one than at first, or was written to since,
// although it may have the size and the time that it had. numbered: the storage keeps
// the number of a file for as long as it is there.
func (s *Stamp) Replaced(now Stamp, numbered func() bool) bool {
	if s.Version != now.Version {
		return true
	}
	a, b := s.Node, now.Node
	if a == (Node{}) || b == (Node{}) {
		return false
	}
	if a.Dev != b.Dev || a.Ino != b.Ino {
		return numbered()
	}
	return a.Changed != b.Changed && a.Links == b.Links && a.Owner == b.Owner && a.Mode == b.Mode
}

// Same reports whether two stamps are of one file.
func (s *Stamp) Same(o Stamp) bool {
	return s.Version != "" && s.Version == o.Version || s.Node.Ino != 0 && s.Node.Ino == o.Node.Ino && s.Node.Dev == o.Node.Dev
}

// Native is an FS whose names are paths of the operating system.
type Native interface {
	// Path is the path that a name is; ok is false for one that is to be read through
	// the FS alone.
	Path(name string) (path string, ok bool)
}

// Path is the path of a name that the operating system knows.
func Path(f FS, name string) (path string, ok bool) {
	if n, is := As[Native](f); is {
		return n.Path(name)
	}
	return "", false
}

// Numberer is an FS that numbers files.
type Numberer interface {
	// Numbered reports whether a file keeps its inode number for as long as it exists.
	// FUSE file systems may give a file another number each time they are asked.
	Numbered(name string) bool
}

// Numbered reports whether a file keeps its inode number.
func Numbered(f FS, name string) bool {
	n, ok := As[Numberer](f)
	return ok && n.Numbered(name)
}

// Linker is an FS that has symbolic links.
type Linker interface {
	// OpenBelow opens a file by its path below a folder, and follows no link that leads
	// out of it.
	OpenBelow(ctx context.Context, folder, name string) (File, error)
	// OpenOwn opens a file and refuses a link in its place: a link in a data set could pass
	// off any file of the user who opens the set as data. Folders may be links.
	OpenOwn(ctx context.Context, name string) (File, error)
	// Lstat is Stat without following a link.
	Lstat(ctx context.Context, name string) (Info, error)
}

// OpenBelow opens a file by its path below a folder.
func OpenBelow(ctx context.Context, f FS, folder, name string) (File, error) {
	if l, ok := As[Linker](f); ok {
		return l.OpenBelow(ctx, folder, name)
	}
	return f.Open(ctx, Join(folder, name))
}

// OpenOwn opens a file of a data set, which must not be a link.
func OpenOwn(ctx context.Context, f FS, name string) (File, error) {
	if l, ok := As[Linker](f); ok {
		return l.OpenOwn(ctx, name)
	}
	return f.Open(ctx, name)
}

// Lstat looks up a name, which may be a link.
func Lstat(ctx context.Context, f FS, name string) (Info, error) {
	if l, ok := As[Linker](f); ok {
		return l.Lstat(ctx, name)
	}
	return f.Stat(ctx, name)
}

// ReadOwn reads a small file of a data set, of at most so many bytes.
func ReadOwn(ctx context.Context, f FS, name string, most int64) ([]byte, error) {
	in, err := OpenOwn(ctx, f, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return ReadWhole(in, name, most)
}

// ReadWhole reads an open file of at most so many bytes.
func ReadWhole(in File, name string, most int64) ([]byte, error) {
	if in.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it has %d bytes, at most %d are read", in.Size(), most)}
	}
	b := make([]byte, in.Size())
	switch n, err := in.ReadAt(b, 0); {
	case n == len(b):
		return b, nil
	case err == nil || err == io.EOF:
		return nil, &fs.PathError{Op: "read", Path: name, Err: io.ErrUnexpectedEOF}
	default:
		return nil, err
	}
}
