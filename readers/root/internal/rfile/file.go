package rfile

import (
	"io"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// File is an open ROOT file. All methods may be called concurrently.
type File struct {
	r    io.ReaderAt
	size int64
	name string

	// Version is the release that wrote the file: 10000*major + 100*minor + patch.
	Version int
	// Compress is 100*algorithm + level, the default of the writer; records say
	// for themselves.
	Compress int

	begin, end int64
	seekFree   int64
	nbytesFree int64
	seekInfo   int64
	nbytesInfo int64
	nbytesName int64
	objects    []Object
	problems   []error
	infoOnce   sync.Once
	infos      *Infos
}

// bigFile is the version from which on the header has 8-byte offsets.
const bigFile = 1000000

// headerBytes covers both forms of the header.
const headerBytes = 75

// Open reads the header and all directories of a ROOT file. name is for errors.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{r: r, size: size, name: name}
	if err := f.open(); err != nil {
		return nil, shardify.Annotate(err, "open", name, "")
	}
	return f, nil
}

// What is announced of a file: its beginning, and its end. Writers put the lists of keys and of
// classes into one or the other.
const (
	firstBytes = 4 << 10
	tailBytes  = 8 << 10
)

func (f *File) open() error {
	f.Announce(func(yield func(storage.Range) bool) {
		_ = yield(storage.Range{Len: firstBytes}) && yield(storage.Range{Off: f.size - tailBytes, Len: tailBytes})
	})
	head, err := f.readAt(0, min(headerBytes, f.size))
	if err != nil {
		return err
	}
	if len(head) < 4 || string(head[:4]) != "root" {
		return shardify.Corrupt(0, "not a ROOT file")
	}
	c := NewCursor(head, 0)
	c.Skip(4)
	version := c.I32()
	big := version >= bigFile
	f.Version = int(version)
	if big {
		f.Version -= bigFile
	}
	offset := func() int64 {
		if big {
			return c.I64()
		}
		return int64(c.U32())
	}
	f.begin = int64(c.I32())
	f.end = offset()
	f.seekFree = offset()
	f.nbytesFree = int64(c.I32())
	c.Skip(4) // nfree
	f.nbytesName = int64(c.I32())
	c.Skip(1) // fUnits
	f.Compress = int(c.I32())
	f.seekInfo = offset()
	f.nbytesInfo = int64(c.I32())
	if err := c.Err(); err != nil {
		return err
	}
	if f.end > f.size {
		return shardify.Corrupt(-1, "the file is cut: its header says %d bytes, it has %d", f.end, f.size)
	}
	f.Announce(func(yield func(storage.Range) bool) { yield(storage.Range{Off: f.seekInfo, Len: f.nbytesInfo}) })
	return f.walk()
}

// Name is the name given to Open.
func (f *File) Name() string { return f.name }

// Size is the length of the file in bytes.
func (f *File) Size() int64 { return f.size }

// closed is false when the writer did not finish the file: it has no list of
// free blocks, which is written last.
func (f *File) closed() bool { return f.seekFree != 0 && f.nbytesFree != 0 }
