package filter

import "github.com/shardify/shardify"

// Blosc decodes one frame of Blosc 1, which is all of src, to dst, whose length is known.
func Blosc(dst, src []byte, s *Scratch) error {
	if n := bloscStored(src); n >= 0 && n != int64(len(src)) {
		return shardify.Corrupt(-1, "blosc: stored size %d of %d bytes", n, len(src))
	}
	out, err := blosc{}.decode(dst, src, true, s)
	if err == nil && len(out) > 0 && !sameStart(out, dst) {
		copy(dst, out)
	}
	return err
}

// BloscSize is what a frame says that it decodes to; -1: it has no header.
func BloscSize(src []byte) int64 {
	if len(src) < bloscHeader {
		return -1
	}
	return int64(uint32(src[4]) | uint32(src[5])<<8 | uint32(src[6])<<16 | uint32(src[7])<<24)
}

func bloscStored(src []byte) int64 {
	if len(src) < bloscHeader {
		return -1
	}
	return int64(uint32(src[12]) | uint32(src[13])<<8 | uint32(src[14])<<16 | uint32(src[15])<<24)
}

// Unshuffle undoes the byte shuffle of elements of size bytes; what is behind the last
// whole one stays as it is.
func Unshuffle(dst, src []byte, size int) { unshuffle(dst, src, size) }

// Fletcher32 is the data before a checksum of that name.
func Fletcher32(src []byte) ([]byte, error) { return fletcher32{}.decode(nil, src, false, nil) }
