// Package block decodes the compressed payloads of ROOT files, of keys and of
// RNTuple pages alike: a chain of blocks, each with a header of nine bytes.
//
//	offset width
//	  0     2    magic    ZL     XZ          L4              ZS     CS
//	  2     1    method   8      0           lz4 major       1      8
//	  3     3    c        bytes after this header, little-endian
//	  6     3    u        bytes they decode to, little-endian
//	  9     c    data     zlib   .xz stream  XXH64 and LZ4   zstd   raw deflate
//
// The 8 bytes of XXH64 before an LZ4 block are big-endian, count into c, and cover
// the rest. The number of blocks is stored nowhere: they follow each other until
// the size known from elsewhere is reached, and each may be of another kind.
//
//	err := block.Decode(dst, payload)
package block

import (
	"encoding/binary"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/codecs/inflate"
)

// headerSize is the bytes before the data of each block.
const headerSize = 9

// maxBlock is the most that one block decodes to: u has 24 bits.
const maxBlock = 0xFFFFFF

// lz4Sum is the bytes of the checksum before an LZ4 block.
const lz4Sum = 8

// header is one block's header.
type header struct {
	magic  [2]byte
	method byte
	c, u   int
}

// Decode fills dst from the chain at the start of src. Bytes behind the chain are
// ignored: writers leave slack there. An error wraps shardify.ErrCorrupt (or
// ErrUnsupported for an unknown kind of block), and its Offset is that of the
// block's header in src; dst is then undefined. Safe to call concurrently.
func Decode(dst, src []byte) error {
	for n, at := 0, 0; n < len(dst); {
		h, err := parse(src, at, len(dst)-n)
		if err != nil {
			return err
		}
		body := src[at+headerSize:][:h.c]
		if err := h.decode(dst[n:n+h.u], body); err != nil {
			return located(err, h, at)
		}
		n += h.u
		at += headerSize + h.c
	}
	return nil
}

// Check walks the headers alone: it reports whether the chain in src may decode to
// size bytes. It costs nothing, so that callers ask before they allocate size bytes
// for the claim of a file.
func Check(size int64, src []byte) error {
	at := 0
	for n := int64(0); n < size; {
		h, err := parse(src, at, int(min(size-n, maxBlock)))
		if err != nil {
			return err
		}
		n += int64(h.u)
		at += headerSize + h.c
	}
	return nil
}

// parse reads the header at src[at:], of a block of which at most room bytes are
// still wanted.
func parse(src []byte, at, room int) (h header, err error) {
	if len(src)-at < headerSize {
		return h, shardify.Corrupt(int64(at), "%d bytes left, a compression block has a header of %d", len(src)-at, headerSize)
	}
	b := src[at:]
	h = header{magic: [2]byte(b), method: b[2], c: size24(b[3:]), u: size24(b[6:])}
	switch {
	case !h.known():
		return h, located(shardify.Unsupported("compression block of kind %q method %d", h.magic[:], h.method), h, at)
	case h.c > len(b)-headerSize:
		return h, shardify.Corrupt(int64(at), "%s block of %d bytes, %d are left", h.magic[:], h.c, len(b)-headerSize)
	case h.u == 0:
		return h, shardify.Corrupt(int64(at), "%s block that decodes to nothing", h.magic[:])
	case h.c == 0 || h.u > h.ratio()*(h.c+16):
		return h, shardify.Corrupt(int64(at), "%s block of %d bytes that decodes to %d", h.magic[:], h.c, h.u)
	case h.u > room:
		return h, shardify.Corrupt(int64(at), "%s block of %d decoded bytes, %d are wanted", h.magic[:], h.u, room)
	}
	return h, nil
}

func size24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// ratio bounds what an algorithm makes of one byte.
func (h *header) ratio() int {
	switch h.magic[0] {
	case 'Z', 'X': // ZS: 128 KiB from a run block of 4 bytes
		return 1 << 15
	case 'L':
		return 256
	}
	return 1 << 11
}

// known checks magic alone: writers disagree about the method bytes of LZ4 (its
// major version) and of old files.
func (h *header) known() bool {
	switch string(h.magic[:]) {
	case "ZL", "XZ", "L4", "ZS", "CS":
		return true
	}
	return false
}

func (h *header) decode(dst, src []byte) error {
	var n int
	var err error
	switch string(h.magic[:]) {
	case "ZL":
		n, _, err = inflate.Zlib(dst, src)
	case "CS":
		n, _, err = inflate.Deflate(dst, src)
	case "XZ":
		n, err = codecs.XZ(dst, src)
	case "ZS":
		n, err = codecs.Zstd(dst, src)
	case "L4":
		n, err = summedLZ4(dst, src)
	}
	if err == nil && n != len(dst) {
		err = shardify.Corrupt(-1, "%d decoded bytes, the header says %d", n, len(dst))
	}
	return err
}

func summedLZ4(dst, src []byte) (int, error) {
	if len(src) < lz4Sum {
		return 0, shardify.Corrupt(-1, "%d bytes, the checksum alone has %d", len(src), lz4Sum)
	}
	want := binary.BigEndian.Uint64(src)
	src = src[lz4Sum:]
	if sum := codecs.XXH64(src); sum != want {
		return 0, shardify.Corrupt(-1, "xxh64 is %016x, stored %016x", sum, want)
	}
	// ROOT stores what LZ4 cannot shrink as it is, and says so by nothing else.
	if len(src) == len(dst) {
		return copy(dst, src), nil
	}
	return codecs.LZ4Block(dst, src)
}

// located names block and place in a decoder's error. Whatever a decoder calls a
// fault is damage of the file, unless it says that it lacks the ability.
func located(err error, h header, at int) error {
	if errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, inflate.ErrUnsupported) {
		e := shardify.Unsupported("%s block: %v", h.magic[:], err)
		e.Offset = int64(at)
		return e
	}
	return shardify.Corrupt(int64(at), "%s block: %v", h.magic[:], err)
}
