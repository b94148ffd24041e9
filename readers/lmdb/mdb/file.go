// Package mdb reads the pages of LMDB databases, without locks and without the library.
//
//	f, err := mdb.Open(file, size)
//	c := f.Cursor(f.Main())
//	for c.Next() { ... c.Key, c.Value ... }
//
// A file is pages of one size; the numbers are little-endian:
//
//	page 0, 1   16 bytes of head, then a meta record; that of the later transaction counts
//	head        u64 number, u16 size of keys (leaf2), u16 flags, u16 lower, u16 upper; u32 pages (overflow)
//	meta        u32 magic, u32 version, u64 address, u64 map size, record of the free pages,
//	            record of the main database, u64 last page, u64 transaction
//	record      u32 pad, u16 flags, u16 depth, u64 branch, leaf, overflow pages, u64 entries, u64 root
//	branch      u16 places of nodes; node: u32 + u16 page, u16 size of the key, key
//	leaf        u16 places of nodes; node: u32 size of the value, u16 flags, u16 size of the key, key, value
//	leaf2       keys of one size, one after the other
//	overflow    a value that does not fit into a leaf, over the pages that follow, too
//
// A pad of the record of the free pages is the size of pages. There are no sums: damage in values stays
// unseen. All places and sizes are checked against the file before they are used.
//
//	file.go    meta pages, records, named databases
//	cursor.go  the entries of a tree, in order; one by its key
package mdb

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/shardify/shardify"
)

// Flags of databases.
const (
	ReverseKey = 0x02
	DupSort    = 0x04
	IntegerKey = 0x08
)

const (
	magic    = 0xBEEFC0DE
	noPage   = 1<<64 - 1
	headSize = 16
	metaSize = headSize + 136

	pageBranch   = 1
	pageLeaf     = 2
	pageOverflow = 4
	pageMeta     = 8
	pageLeaf2    = 0x20

	nodeBig = 1 // the value is in overflow pages
	nodeSub = 2 // the value is a record
	nodeDup = 4 // the value is several, in a page or, with nodeSub, a tree

	recordSize = 48
	maxDepth   = 64
)

var le = binary.LittleEndian

// Tree is the record of a database.
type Tree struct {
	Flags   uint16
	Depth   int
	Entries uint64 // values
	root    uint64
	at      int64 // of the record in the file
}

func record(b []byte, at int64) Tree {
	return Tree{at: at, Flags: le.Uint16(b[4:]), Depth: int(le.Uint16(b[6:])), Entries: le.Uint64(b[32:]), root: le.Uint64(b[40:])}
}

// meta is what a meta page says.
type meta struct {
	page int // bytes
	main Tree
	free uint64 // the root of the list of free pages
	last uint64
	txn  uint64
}

// File is a database at one committed state.
type File struct {
	r    io.ReaderAt
	size int64
	meta
	// Damaged: one of the two meta pages is damaged, the other one is used.
	Damaged bool
}

// Is reports whether a file that begins with head is a database. It takes those of other machines, which Open refuses.
func Is(head []byte) bool {
	if len(head) < headSize+8 || head[10]&pageMeta == 0 && head[11]&pageMeta == 0 && le.Uint32(head[12:]) != magic {
		return false
	}
	return le.Uint32(head[16:]) == magic || binary.BigEndian.Uint32(head[16:]) == magic || le.Uint32(head[12:]) == magic
}

// readMeta reads the meta page at off; nil without one.
func (f *File) readMeta(off int64) (*meta, error) {
	var b [metaSize]byte
	if n, err := f.r.ReadAt(b[:], off); n < len(b) {
		if err == io.EOF {
			err = nil
		}
		return nil, err
	}
	switch {
	case le.Uint32(b[16:]) == magic:
	case binary.BigEndian.Uint32(b[16:]) == magic:
		return nil, shardify.Unsupported("written on a machine of the other byte order: mdb_dump there, mdb_load here")
	case le.Uint32(b[12:]) == magic:
		return nil, shardify.Unsupported("written on a 32-bit machine: mdb_dump there, mdb_load here")
	default:
		return nil, nil
	}
	if le.Uint16(b[10:])&pageMeta == 0 {
		return nil, nil
	}
	if v := le.Uint32(b[20:]); v != 1 {
		return nil, shardify.Unsupported("version %d of LMDB's files, not 1: \"mdb_dump\" of the program that wrote it, and mdb_load", v)
	}
	m := &meta{main: record(b[88:], off+88), free: record(b[40:], off+40).root, last: le.Uint64(b[136:]), txn: le.Uint64(b[144:])}
	size := le.Uint32(b[40:])
	if size < 256 || size > 1<<16 || size&(size-1) != 0 {
		return nil, shardify.Corrupt(off+40, "pages of %d bytes", size)
	}
	if m.page = int(size); m.last > 1<<47 {
		return nil, shardify.Corrupt(off+136, "a last page of number %d", m.last)
	}
	return m, nil
}

// metas reads both meta pages.
func (f *File) metas() (*meta, error) {
	first, err := f.readMeta(0)
	if err != nil {
		return nil, err
	}
	var second *meta
	if first != nil {
		second, err = f.readMeta(int64(first.page))
	}
	for size := 256; first == nil && second == nil && err == nil && size <= 1<<16; size *= 2 {
		if second, err = f.readMeta(int64(size)); second != nil && second.page != size {
			second = nil
		}
	}
	if err != nil {
		return nil, err
	}
	f.Damaged = first == nil || second == nil
	switch {
	case first == nil && second == nil:
		return nil, shardify.Corrupt(0, "no meta page: not an LMDB database, or both are damaged")
	case first == nil:
		return second, nil
	case second == nil:
		return first, nil
	case first.page != second.page:
		return nil, shardify.Corrupt(int64(first.page)+40, "pages of %d bytes, and of %d in the other meta page", second.page, first.page)
	case second.txn > first.txn:
		return second, nil
	}
	return first, nil
}

// Open finds the last committed state of a file of size bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: size}
	m, err := f.metas()
	if err != nil {
		return nil, err
	}
	f.meta = *m
	// The last pages need not be there: a writer that needs them no more before it commits does not write them.
	// What uses one of them is an error, as is a file that is cut.
	if pages := uint64(size) / uint64(m.page); pages < 2 {
		return nil, shardify.Corrupt(size, "the file ends early: two meta pages of %d bytes are more than %d", m.page, size)
	} else if m.last >= pages {
		f.last = pages - 1
	}
	return f, nil
}

// Txn is the number of the transaction whose state is read.
func (f *File) Txn() uint64 { return f.txn }

// Unchanged returns an error if a writer has committed since the file was opened: pages may be those of another state.
func (f *File) Unchanged() error {
	now := &File{r: f.r, size: f.size}
	m, err := now.metas()
	if err == nil && m.txn != f.txn {
		err = Changed(f.txn, m.txn)
	}
	return err
}

// Changed is the error of a database that is written while it is read.
func Changed(was, is uint64) error {
	return shardify.Hint(fmt.Errorf("%w: a program writes to it (transaction %d, then %d)", shardify.ErrChanged, was, is),
		"mdb_copy OLD NEW makes a copy of one state; or stop the writer")
}

// Main is the main database.
func (f *File) Main() Tree { return f.main }

// isRecord reports whether b is a record whose root is a page of the file: no value is like that by chance.
func (f *File) isRecord(b []byte) bool {
	if len(b) != recordSize { // it is in overflow pages, as no record is
		return false
	}
	t := record(b, -1)
	if t.Depth < 1 || t.Depth > maxDepth || t.Entries == 0 || t.root < 2 || t.root > f.last {
		return false
	}
	var head [headSize]byte
	if n, _ := f.r.ReadAt(head[:], int64(t.root)*int64(f.page)); n < len(head) {
		return false
	}
	return le.Uint64(head[:]) == t.root && (t.Depth == 1) == (le.Uint16(head[10:])&pageLeaf != 0)
}

// Named lists the named databases, and counts the other entries. It stops at most names.
func (f *File) Named(most int) (names []string, trees []Tree, others uint64, err error) {
	if f.main.Flags&DupSort != 0 {
		return nil, nil, f.main.Entries, nil
	}
	c := f.Cursor(f.main)
	for c.Next() {
		if !c.Sub {
			if others++; f.isRecord(c.Value) {
				return nil, nil, 0, shardify.Corrupt(c.at, "the value of the key %.80q is the record of a named database, its mark is damaged", c.Key)
			}
			if others > 1000 && len(names) == 0 { // a database of samples: names are among few entries
				return nil, nil, f.main.Entries, nil
			}
			continue
		}
		if names = append(names, string(c.Key)); len(names) > most {
			return nil, nil, 0, shardify.Unsupported("more than %d named databases", most)
		}
		trees = append(trees, record(c.Value, c.at+8+int64(len(c.Key))))
	}
	return names, trees, others, c.Err()
}
