package rfile

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// Key is the head of a record, or the copy of it in a directory's key list.
type Key struct {
	Nbytes  int64 // key and payload, on disk
	Version int16
	ObjLen  int64 // payload when decompressed
	KeyLen  int   // bytes of the key in front of the payload
	Cycle   int
	Seek    int64 // of the record in the file
	Class   string
	Name    string
	Title   string
}

// bigKey is the version above which a key's offsets have 8 bytes. g4tools writes
// 1002, ROOT 1004 and groot 4 for the same content.
const bigKey = 1000

// fixedKey is the bytes of a key in front of its strings.
func fixedKey(version int16) int {
	if version > bigKey {
		return 34
	}
	return 26
}

// readKey reads a key at the cursor. Strings go through str.
func readKey(c *Cursor, str func([]byte) string) Key {
	k := readKeyHead(c)
	k.Class = str(c.CStr())
	k.Name = str(c.CStr())
	k.Title = str(c.CStr())
	return k
}

// readKeyHead reads the numbers of a key.
func readKeyHead(c *Cursor) Key {
	k := Key{Nbytes: int64(c.I32()), Version: c.I16(), ObjLen: int64(c.I32())}
	c.Skip(4) // fDatime
	k.KeyLen = int(c.I16())
	k.Cycle = int(c.U16())
	if k.Version > bigKey {
		k.Seek = c.I64()
		c.Skip(8) // fSeekPdir
	} else {
		k.Seek = int64(c.U32())
		c.Skip(4)
	}
	return k
}

// Header is what the key of a record in memory says of its payload.
type Header struct {
	Nbytes int // key and payload, on disk
	ObjLen int // payload when decompressed
	KeyLen int
}

// ParseHeader reads the key in front of a record, of which rec holds at least
// the first KeyLen bytes, and checks it against itself. It does not allocate.
func ParseHeader(rec []byte) (Header, error) {
	if len(rec) < 18 {
		return Header{}, shardify.Corrupt(0, "record of %d bytes", len(rec))
	}
	h := Header{
		Nbytes: int(int32(binary.BigEndian.Uint32(rec))),
		ObjLen: int(int32(binary.BigEndian.Uint32(rec[6:]))),
		KeyLen: int(int16(binary.BigEndian.Uint16(rec[14:]))),
	}
	version := int16(binary.BigEndian.Uint16(rec[4:]))
	if h.ObjLen < 0 || h.KeyLen < fixedKey(version)+3 || h.KeyLen > h.Nbytes || h.KeyLen > len(rec) {
		return Header{}, shardify.Corrupt(0, "key says %d bytes on disk, %d of them the key, %d decompressed", h.Nbytes, h.KeyLen, h.ObjLen)
	}
	return h, nil
}

// Compressed reports whether the payload is a chain of compression blocks. A
// stored payload may have slack behind it.
func (h Header) Compressed() bool { return h.ObjLen > h.Nbytes-h.KeyLen }
