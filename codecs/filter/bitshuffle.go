package filter

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// The codecs of bitshuffle.
const (
	bitshuffleNone = 0
	bitshuffleLZ4  = 2
	bitshuffleZstd = 3
)

// bitshuffle is filter 32008. It works in blocks of elements, the last of which is
// cut to a multiple of eight; fewer than eight elements stay as they are at the
// end. Without a codec the blocks follow each other; with one, big-endian:
//
//	offset  width  meaning
//	0       8      decoded size
//	8       4      block size in bytes
//	12      ...    for each block: 4 bytes stored size, compressed block
//	...     ...    the elements left over
type bitshuffle struct {
	size  int // of an element
	block int // bytes of a block without a codec
	codec int
}

// Client data: major and minor version, element size, elements of a block (0 for
// the default), codec.
func newBitshuffle(f *Spec, elemSize int) (stage, error) {
	b := bitshuffle{size: elemSize}
	c := [5]uint32{2: uint32(elemSize)}
	copy(c[:], f.Client)
	if c[2] == 0 || c[2] > 1<<24 || c[3] > 1<<24 || c[3]%8 != 0 {
		return nil, shardify.Corrupt(-1, "bitshuffle: blocks of %d elements of %d bytes", c[3], c[2])
	}
	b.size, b.codec = int(c[2]), int(c[4])
	elems := int(c[3])
	if elems == 0 {
		elems = max(8192/b.size&^7, 128)
	}
	b.block = elems * b.size
	switch b.codec {
	case bitshuffleNone, bitshuffleLZ4, bitshuffleZstd:
		return b, nil
	}
	return nil, shardify.Unsupported("filter %d (%s) with codec %d cannot be decoded", f.ID, filterName(f), b.codec)
}

func (b bitshuffle) encoded(n int) (int, bool) {
	if b.codec == bitshuffleNone {
		return n, true
	}
	return expanded(n)
}

func (b bitshuffle) decode(dst, src []byte, exact bool, s *Scratch) ([]byte, error) {
	block := b.block
	if b.codec == bitshuffleNone {
		if len(src) > len(dst) {
			return nil, shardify.Corrupt(-1, "bitshuffle: %d bytes, not %d", len(src), len(dst))
		}
		dst = dst[:len(src)]
	} else {
		if len(src) < 12 {
			return nil, shardify.Corrupt(-1, "bitshuffle: %d bytes are not a header", len(src))
		}
		var err error
		if dst, err = declared("bitshuffle", dst, binary.BigEndian.Uint64(src), exact); err != nil {
			return nil, err
		}
		block = int(min(binary.BigEndian.Uint32(src[8:]), 1<<30))
		if block == 0 || block%(8*b.size) != 0 {
			return nil, shardify.Corrupt(-1, "bitshuffle: block of %d bytes with elements of %d", block, b.size)
		}
		src = src[12:]
	}
	for out := dst; ; {
		n := min(block, len(out)/(8*b.size)*8*b.size)
		if n == 0 {
			if len(src) < len(out) {
				return nil, shardify.Corrupt(-1, "bitshuffle: %d bytes left for the last elements, not %d", len(src), len(out))
			}
			copy(out, src)
			return dst, nil
		}
		var err error
		if src, err = b.decodeBlock(out[:n], src, s); err != nil {
			return nil, err
		}
		out = out[n:]
	}
}

// decodeBlock decodes the block at the start of src and returns what follows.
func (b bitshuffle) decodeBlock(dst, src []byte, s *Scratch) (rest []byte, err error) {
	bits, rest := src, []byte(nil)
	if b.codec == bitshuffleNone {
		if len(src) < len(dst) {
			return nil, shardify.Corrupt(-1, "bitshuffle: block of %d bytes, %d are left", len(dst), len(src))
		}
		bits, rest = src[:len(dst)], src[len(dst):]
	} else {
		stored, after, err := sizedBlock("bitshuffle", src)
		if err != nil {
			return nil, err
		}
		bits, rest = grow(&s.block, len(dst)), after
		if b.codec == bitshuffleLZ4 {
			_, err = codecs.LZ4Block(bits, stored)
		} else {
			var n int
			if n, err = codecs.ZstdAtMost(bits, stored); err == nil {
				_, err = sized("bitshuffle", bits, n, true)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	bitUnshuffle(dst, bits, b.size, &s.bits)
	return rest, nil
}
