package rntuple

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
)

// The anchor, big-endian:
//
//	 0  u32  byte count | 0x40000000
//	 4  u16  class version
//	 6  u16  epoch, major, minor, patch of the format
//	14  u64  seekHeader, nbytesHeader, lenHeader
//	38  u64  seekFooter, nbytesFooter, lenFooter
//	62  u64  maxKeySize
//	 -  u64  XXH3-64 of everything from byte 6; always the last 8 bytes
const (
	anchorSize = 78
	sumSize    = 8
)

// blob is something that the anchor or a cluster group points to.
type blob struct{ offset, disk, size uint64 }

type anchor struct {
	version        [4]uint16
	header, footer blob
	maxKey         uint64
}

func parseAnchor(b []byte) (a anchor, err error) {
	be := binary.BigEndian
	if len(b) < anchorSize {
		return a, shardify.Corrupt(-1, "anchor of %d bytes, at least %d are needed", len(b), anchorSize)
	}
	if sum, want := xxh3.Hash(b[6:len(b)-sumSize]), be.Uint64(b[len(b)-sumSize:]); sum != want {
		return a, shardify.Corrupt(-1, "anchor: xxh3 is %016x, stored %016x", sum, want)
	}
	for i := range a.version {
		a.version[i] = be.Uint16(b[6+2*i:])
	}
	if a.version[0] != 1 {
		return a, shardify.Unsupported("RNTuple format epoch %d (version %d.%d.%d.%d)", a.version[0], a.version[0], a.version[1], a.version[2], a.version[3])
	}
	word := func(i int) uint64 { return be.Uint64(b[14+8*i:]) }
	a.header = blob{word(0), word(1), word(2)}
	a.footer = blob{word(3), word(4), word(5)}
	a.maxKey = word(6)
	return a, nil
}
