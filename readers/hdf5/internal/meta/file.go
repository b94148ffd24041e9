package meta

import (
	"io"
	"sync"

	"github.com/shardify/shardify"
)

// Undefined is the address of what has no storage.
const Undefined int64 = -1

// File is the bytes of an open file, and what its superblock says of them.
type File struct {
	Version    int   // 0 to 3
	OffsetSize int   // bytes of an address: 2, 4 or 8
	LengthSize int   // bytes of a length: 2, 4 or 8
	Base       int64 // where the signature is; bytes before it are the user block
	EOF        int64 // end of the file as recorded, an offset in this file
	Root       int64 // object header of the root group
	Flags      uint32
	// Half the largest number of entries of a node.
	GroupLeafK, GroupInternalK, ChunkK int

	NoSums bool // tests: damage behind checksums is looked at as well

	name   string
	size   int64
	blocks *blocks

	mu       sync.Mutex
	warnings []string
	warned   map[string]bool
}

// New makes a file of which nothing is read yet. cacheBytes bounds the blocks of metadata
// that are kept in memory; 0 means 4 MiB.
func New(r io.ReaderAt, size int64, name string, cacheBytes int64) *File {
	return &File{name: name, size: size, blocks: newBlocks(r, size, cacheBytes)}
}

// Name returns the name that errors have.
func (f *File) Name() string { return f.name }

// Size returns the size of the file.
func (f *File) Size() int64 { return f.size }

// Warnings returns what was odd but readable so far: a file that was not closed,
// metadata beyond the recorded end.
func (f *File) Warnings() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.warnings...)
}

// Warn notes a text, once for each key.
func (f *File) Warn(key, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.warned[key] {
		return
	}
	if f.warned == nil {
		f.warned = map[string]bool{}
	}
	f.warned[key] = true
	f.warnings = append(f.warnings, text)
}

// Fail adds the file and the object to an error.
func (f *File) Fail(err error, path string) error {
	return shardify.Annotate(err, "read", f.name, path)
}

// RefSize is the bytes of a variable-length element in the file: u32 count,
// address, u32 index.
func (f *File) RefSize() int { return 8 + f.OffsetSize }
