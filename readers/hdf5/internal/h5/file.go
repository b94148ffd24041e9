package h5

import (
	"io"
	"sync"
)

// Undefined is the address of what has no storage.
const Undefined int64 = -1

// Options for Open. The zero value is what most callers want.
type Options struct {
	// Warn receives each warning once, in addition to File.Warnings. It may be
	// called by any goroutine that uses the file.
	Warn func(text string)
	// CacheBytes bounds the metadata blocks kept in memory; 0 means 4 MiB.
	CacheBytes int64

	noSums bool
}

// Superblock is what the start of the file says.
type Superblock struct {
	Version    int   // 0 to 3
	OffsetSize int   // bytes of an address: 2, 4 or 8
	LengthSize int   // bytes of a length: 2, 4 or 8
	Base       int64 // where the signature is; bytes before it are the user block
	EOF        int64 // end of the file as recorded, an offset in this file
	Root       int64 // object header of the root group
	Flags      uint32
	// Half the largest number of entries of a node.
	GroupLeafK, GroupInternalK, ChunkK int
}

// File is an open HDF5 file.
type File struct {
	Superblock
	name string
	size int64
	opts Options
	io   *blocks

	sohm []sharedIndex // shared-message table, nil without one

	noSums bool // tests: damage behind checksums is looked at as well

	mu       sync.Mutex
	warnings []string
	warned   map[string]bool
	groups   groupCache
	heaps    map[int64]*fractalHeap
}

// Open reads the superblock and the root group's header. name appears in errors.
// The reader stays with the caller, who closes it after the last use of the File.
func Open(r io.ReaderAt, size int64, name string, o Options) (*File, error) {
	return open(r, size, name, o)
}

// Name returns the name given to Open.
func (f *File) Name() string { return f.name }

// Size returns the size given to Open.
func (f *File) Size() int64 { return f.size }

// Warnings returns what was odd but readable so far: a file that was not closed,
// metadata beyond the recorded end.
func (f *File) Warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.warnings...)
}

func (f *File) warn(key, text string) {
	f.mu.Lock()
	if f.warned[key] {
		f.mu.Unlock()
		return
	}
	if f.warned == nil {
		f.warned = map[string]bool{}
	}
	f.warned[key] = true
	f.warnings = append(f.warnings, text)
	f.mu.Unlock()
	if f.opts.Warn != nil {
		f.opts.Warn(text)
	}
}
