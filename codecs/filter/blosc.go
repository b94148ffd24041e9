package filter

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// blosc is filter 32001, Blosc 1. Numbers are little-endian:
//
//	offset  width  meaning
//	0       1      format version, 1 or 2
//	1       1      version of the codec's format: not used
//	2       1      flags, below
//	3       1      type size
//	4       4      decoded size
//	8       4      block size
//	12      4      stored size, header included
//	16      4*n    start of each block, from the header on
//
// A block is one stream, or as many as the type size if it was split. A stream is
// its stored size and its bytes, raw if they are as many as it decodes to.
type blosc struct{}

const (
	bloscHeader = 16

	bloscByteShuffle = 1 << 0
	bloscMemcpy      = 1 << 1 // the bytes themselves follow the header
	bloscBitShuffle  = 1 << 2
	bloscNotSplit    = 1 << 4
	bloscCodecShift  = 5

	// Conditions under which blocks are split if the flags allow it.
	bloscMaxSplits = 16
	bloscMinStream = 128
)

// The codecs of blosc.
const (
	bloscLZ = iota
	bloscLZ4
	bloscSnappy
	bloscZlib
	bloscZstd
)

func (blosc) encoded(n int) (int, bool) { return expanded(n) }

// bloscFrame is a parsed header.
type bloscFrame struct {
	flags byte
	size  int // of an element
	block int
	src   []byte // header included
}

func (blosc) decode(dst, src []byte, exact bool, s *Scratch) ([]byte, error) {
	if len(src) < bloscHeader {
		return nil, shardify.Corrupt(-1, "blosc: %d bytes are not a header", len(src))
	}
	if v := src[0]; v == 0 || v > 2 { // there will be no others: Blosc 1 is finished
		return nil, shardify.Corrupt(-1, "blosc: format version %d, and Blosc 1 has 1 and 2", v)
	}
	dst, err := declared("blosc", dst, uint64(binary.LittleEndian.Uint32(src[4:])), exact)
	if err != nil {
		return nil, err
	}
	f := bloscFrame{flags: src[2], size: int(src[3])}
	block, stored := binary.LittleEndian.Uint32(src[8:]), binary.LittleEndian.Uint32(src[12:])
	if uint64(stored) > uint64(len(src)) || stored < bloscHeader {
		return nil, shardify.Corrupt(-1, "blosc: stored size %d of %d bytes", stored, len(src))
	}
	f.src = src[:stored]
	if f.flags&bloscMemcpy != 0 {
		if len(f.src)-bloscHeader < len(dst) {
			return nil, shardify.Corrupt(-1, "blosc: %d bytes stored for %d", len(f.src)-bloscHeader, len(dst))
		}
		return f.src[bloscHeader : bloscHeader+len(dst)], nil
	}
	if len(dst) == 0 {
		return dst, nil
	}
	if f.size == 0 || block == 0 {
		return nil, shardify.Corrupt(-1, "blosc: blocks of %d bytes with elements of %d", block, f.size)
	}
	f.block = int(min(uint64(block), uint64(len(dst))))
	if (len(f.src)-bloscHeader)/4 < (len(dst)-1)/f.block+1 {
		return nil, shardify.Corrupt(-1, "blosc: data end in the table of blocks")
	}
	for i, at := 0, 0; at < len(dst); i, at = i+1, at+f.block {
		last := len(dst)-at < int(block)
		// With the capacity of dst: rubbish behind a block is written over later.
		if err := f.decodeBlock(dst[at:min(at+f.block, len(dst))], i, last, s); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// decodeBlock decodes block i; short says that it is the last and not a whole one.
func (f *bloscFrame) decodeBlock(dst []byte, i int, short bool, s *Scratch) error {
	start := uint64(binary.LittleEndian.Uint32(f.src[bloscHeader+4*i:]))
	if start > uint64(len(f.src)) {
		return shardify.Corrupt(-1, "blosc: block %d begins at %d of %d", i, start, len(f.src))
	}
	to, elems := dst, len(dst)/f.size
	bytes := f.flags&bloscByteShuffle != 0 && f.size > 1
	bits := !bytes && f.flags&bloscBitShuffle != 0 && elems > 0 && elems%8 == 0
	if bytes || bits {
		to = grow(&s.block, len(dst))
	}
	streams := 1
	if f.flags&bloscNotSplit == 0 && f.size <= bloscMaxSplits && len(dst)/f.size >= bloscMinStream && !short {
		streams = f.size
	}
	if len(dst)%streams != 0 {
		return shardify.Corrupt(-1, "blosc: block of %d bytes in %d streams", len(dst), streams)
	}
	src, size := f.src[start:], len(dst)/streams
	for j := range streams {
		if len(src) < 4 {
			return shardify.Corrupt(-1, "blosc: data end in block %d", i)
		}
		n := uint64(binary.LittleEndian.Uint32(src))
		if src = src[4:]; n > uint64(len(src)) {
			return shardify.Corrupt(-1, "blosc: stream of %d bytes in block %d, %d are left", n, i, len(src))
		}
		if err := f.stream(to[j*size:(j+1)*size], src[:n:n], s); err != nil {
			return err
		}
		src = src[n:]
	}
	switch {
	case bytes:
		unshuffle(dst, to, f.size)
	case bits:
		whole := elems * f.size
		bitUnshuffle(dst[:whole], to[:whole], f.size, &s.bits)
		copy(dst[whole:], to[whole:])
	}
	return nil
}

// stream decodes one stream, whose decoded size is len(dst).
func (f *bloscFrame) stream(dst, src []byte, s *Scratch) error {
	if len(src) == len(dst) {
		copy(dst, src)
		return nil
	}
	var n int
	var err error
	switch kind := f.flags >> bloscCodecShift; kind {
	case bloscLZ:
		var ok bool
		if n, ok = blosclzDecode(dst, src); !ok {
			return shardify.Corrupt(-1, "blosc: blosclz data make no sense after %d decoded bytes of %d", n, len(dst))
		}
	case bloscLZ4:
		n, err = codecs.LZ4Block(dst, src)
	case bloscSnappy:
		n, err = codecs.Snappy(dst, src)
	case bloscZlib:
		if n, _, err = s.inflate.Zlib(dst, src); err != nil {
			err = shardify.Corrupt(-1, "blosc: zlib: %v", err)
		}
	case bloscZstd:
		n, err = codecs.ZstdAtMost(dst, src)
	default:
		return shardify.Unsupported("blosc: codec %d", kind)
	}
	if err == nil && n != len(dst) {
		err = shardify.Corrupt(-1, "blosc: stream decodes to %d bytes, not %d", n, len(dst))
	}
	return err
}
