package filter

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
)

// lz4 is filter 32004, numbers big-endian:
//
//	offset  width  meaning
//	0       8      decoded size
//	8       4      block size
//	12      ...    for each block: 4 bytes stored size, a raw LZ4 block, or the
//	               bytes themselves if the stored size is the decoded one
type lz4 struct{}

func (lz4) encoded(n int) (int, bool) { return expanded(n) }

func (lz4) decode(dst, src []byte, exact bool, _ *Scratch) ([]byte, error) {
	if len(src) < 12 {
		return nil, shardify.Corrupt(-1, "lz4: %d bytes are not a header", len(src))
	}
	total, size := binary.BigEndian.Uint64(src), uint64(binary.BigEndian.Uint32(src[8:]))
	dst, err := declared("lz4", dst, total, exact)
	if err != nil {
		return nil, err
	}
	if size == 0 && total > 0 {
		return nil, shardify.Corrupt(-1, "lz4: block size 0")
	}
	src = src[12:]
	for out := dst; len(out) > 0; {
		block := out[:min(size, uint64(len(out)))]
		stored, rest, err := sizedBlock("lz4", src)
		if err != nil {
			return nil, err
		}
		if len(stored) == len(block) {
			copy(block, stored)
		} else if _, err := codecs.LZ4Block(block, stored); err != nil {
			return nil, err
		}
		out, src = out[len(block):], rest
	}
	return dst, nil
}

// declared returns dst cut to the size that a header states.
func declared(name string, dst []byte, total uint64, exact bool) ([]byte, error) {
	if total > uint64(len(dst)) || exact && total != uint64(len(dst)) {
		return nil, shardify.Corrupt(-1, "%s: header says %d bytes, the chunk has %d", name, total, len(dst))
	}
	return dst[:total], nil
}

// sizedBlock returns the bytes behind a big-endian length of four bytes, and what
// follows.
func sizedBlock(name string, src []byte) (block, rest []byte, err error) {
	if len(src) < 4 {
		return nil, nil, shardify.Corrupt(-1, "%s: data end before a block", name)
	}
	n := uint64(binary.BigEndian.Uint32(src))
	if src = src[4:]; n > uint64(len(src)) {
		return nil, nil, shardify.Corrupt(-1, "%s: block of %d bytes, %d are left", name, n, len(src))
	}
	return src[:n:n], src[n:], nil
}
