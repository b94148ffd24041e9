package page

import (
	"encoding/binary"

	"github.com/parquet-go/bitpack"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
)

// DELTA_BINARY_PACKED:
//
//	uvarint values in a block, uvarint miniblocks in a block, uvarint values, zigzag first value
//	blocks:  zigzag least difference, a byte of width for each miniblock, miniblocks
//
// A miniblock is the differences less the least one, packed. Those behind the last
// value may be missing, their widths may be anything.

// maxBlock bounds the values of a block: writers use 128 and 256.
const maxBlock = 1 << 20

// deltas decodes len(dst) numbers and returns the bytes behind them.
func deltas(dst []int64, src []byte) ([]byte, error) {
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return nil, shardify.Corrupt(-1, "the bytes end in the header")
		}
		head[i], src = v, src[n:]
	}
	first, n := binary.Varint(src)
	if n <= 0 {
		return nil, shardify.Corrupt(-1, "the bytes end in the header")
	}
	src = src[n:]
	block, minis := head[0], head[1]
	if block == 0 || block > maxBlock || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return nil, shardify.Corrupt(-1, "blocks of %d values in %d parts", block, minis)
	}
	if head[2] != uint64(len(dst)) {
		return nil, shardify.Corrupt(-1, "%d values, %d are expected", head[2], len(dst))
	}
	if len(dst) == 0 {
		return src, nil
	}
	dst[0] = first
	for rest := dst[1:]; len(rest) > 0; {
		k := min(len(rest), int(block))
		var err error
		if src, err = deltaBlock(rest[:k], src, first, int(minis), int(block/minis)); err != nil {
			return nil, err
		}
		first, rest = rest[k-1], rest[k:]
	}
	return src, nil
}

func deltaBlock(dst []int64, src []byte, last int64, minis, size int) ([]byte, error) {
	least, n := binary.Varint(src)
	if n <= 0 || len(src)-n < minis {
		return nil, shardify.Corrupt(-1, "the bytes end in the header of a block")
	}
	widths := src[n:][:minis]
	src = src[n+minis:]
	for _, w := range widths {
		if len(dst) == 0 {
			break
		}
		k := min(len(dst), size)
		if w > 64 {
			return nil, shardify.Corrupt(-1, "differences of %d bits", w)
		}
		need := (k*int(w) + 7) / 8
		if need > len(src) {
			return nil, shardify.Corrupt(-1, "%d differences of %d bits in %d bytes", k, w, len(src))
		}
		part := dst[:k]
		if w == 0 {
			clear(part)
		} else {
			bitpack.Unpack(part, padded(src[:need], bitpack.PaddingInt64), uint(w))
		}
		for i, d := range part {
			last += d + least
			part[i] = last
		}
		src = src[min(len(src), size/8*int(w)):]
		dst = dst[k:]
	}
	return src, nil
}

func (s *scratch) delta(c *Column, src []byte, n int) (Values, error) {
	s.ints = grow(s.ints, n)
	if _, err := deltas(s.ints, src); err != nil {
		return Values{}, err
	}
	if c.Type == format.Int64 {
		return Values{N: n, Fixed: shardify.Bytes(s.ints)}, nil
	}
	s.raw = grow(s.raw, 4*n)
	for i, x := range s.ints { // modulo 2^32, as the specification has it
		binary.LittleEndian.PutUint32(s.raw[4*i:], uint32(x))
	}
	return Values{N: n, Fixed: s.raw}, nil
}

// lengths decodes n lengths.
func lengths(dst []int64, src []byte, n int) ([]int64, []byte, error) {
	dst = grow(dst, n)
	rest, err := deltas(dst, src)
	if err != nil {
		return dst, nil, err
	}
	for i, x := range dst {
		if x = int64(int32(x)); x < 0 {
			return dst, nil, shardify.Corrupt(-1, "value %d of %d bytes", i, x)
		}
		dst[i] = x
	}
	return dst, rest, nil
}

// deltaLength: the lengths, then the bytes.
func (s *scratch) deltaLength(src []byte, n int) (Values, error) {
	var err error
	if s.ints, src, err = lengths(s.ints, src, n); err != nil {
		return Values{}, err
	}
	s.cuts = grow(s.cuts, n)
	at := int64(0)
	for i, size := range s.ints {
		if size > int64(len(src))-at {
			return Values{}, shardify.Corrupt(-1, "value %d of %d bytes, %d are left", i, size, int64(len(src))-at)
		}
		s.cuts[i] = uint64(at)<<32 | uint64(size)
		at += size
	}
	return Values{N: n, Data: src, Cuts: s.cuts}, nil
}

// deltaBytes: how many bytes to take from the value before, then the rest of each.
func (s *scratch) deltaBytes(c *Column, src []byte, n int) (Values, error) {
	var err error
	if s.ints, src, err = lengths(s.ints, src, n); err != nil {
		return Values{}, err
	}
	if s.ints2, src, err = lengths(s.ints2, src, n); err != nil {
		return Values{}, err
	}
	total, last, at := int64(0), int64(0), int64(0)
	for i, p := range s.ints {
		size := s.ints2[i]
		if p > last || size > int64(len(src))-at {
			return Values{}, shardify.Corrupt(-1, "value %d takes %d bytes of %d before it and %d of %d", i, p, last, size, int64(len(src))-at)
		}
		last, at = p+size, at+size
		if c.Type == format.FixedLenByteArray && last != int64(c.Width) {
			return Values{}, shardify.Corrupt(-1, "value %d of %d bytes in a column of %d", i, last, c.Width)
		}
		if total += last; total > maxDeltaBytes {
			return Values{}, shardify.Unsupported("a page of more than %s", shardify.FormatSize(maxDeltaBytes))
		}
	}
	s.raw, s.cuts = grow(s.raw, int(total)), grow(s.cuts, n)
	before, from, to := 0, 0, 0
	for i, p := range s.ints {
		size := int(s.ints2[i])
		copy(s.raw[to:to+int(p)], s.raw[before:])
		copy(s.raw[to+int(p):], src[from:from+size])
		s.cuts[i] = uint64(to)<<32 | uint64(int(p)+size)
		before, from, to = to, from+size, to+int(p)+size
	}
	if c.Type == format.FixedLenByteArray {
		return Values{N: n, Fixed: s.raw}, nil
	}
	return Values{N: n, Data: s.raw, Cuts: s.cuts}, nil
}

// maxDeltaBytes bounds what shared beginnings may grow to: a page of a few bytes can
// repeat a long value very often.
const maxDeltaBytes = 256 << 20
