package page

import (
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/bitpack"

	"github.com/shardify/shardify"
)

// Runs of the RLE / bit-packed hybrid, of values of w bits:
//
//	uvarint h   h even: h/2 times the value in the next (w+7)/8 bytes
//	            h odd:  h/2 groups of 8 values, of w bytes each, lowest bits first
//
// The last group may have more values than there are; the surplus is garbage.

// levels decodes n levels of at most highest.
func levels(dst []uint8, src []byte, n, highest int) ([]uint8, error) {
	dst = grow(dst, n)
	w := uint(bits.Len(uint(highest)))
	for at := 0; at < n; {
		count, packed, rest, err := run(src, n-at)
		if err != nil {
			return dst, err
		}
		src = rest
		if packed {
			need := int((uint(count)*w + 7) / 8)
			if need > len(src) {
				return dst, shardify.Corrupt(-1, "%d packed values of %d bits in %d bytes", count, w, len(src))
			}
			unpack8(dst[at:at+count], src[:need], w)
			if highest < 1<<w-1 {
				if err := check(dst[at:at+count], highest); err != nil {
					return dst, err
				}
			}
			src = src[min(len(src), (count+7)/8*int(w)):]
		} else {
			if len(src) == 0 {
				return dst, shardify.Corrupt(-1, "the bytes end before a value")
			}
			if int(src[0]) > highest {
				return dst, check(src[:1], highest)
			}
			fill(dst[at:at+count], src[0])
			src = src[1:]
		}
		at += count
	}
	return dst, nil
}

// check refuses levels above the highest.
func check(levels []uint8, highest int) error {
	for _, l := range levels {
		if int(l) > highest {
			return shardify.Corrupt(-1, "level %d, the highest is %d", l, highest)
		}
	}
	return nil
}

// whole reports whether n levels are one run of the highest: nothing is missing, and the
// levels need not be decoded.
func whole(src []byte, n, highest int) bool {
	count, packed, rest, err := run(src, n)
	return err == nil && n > 0 && !packed && count == n && len(rest) > 0 && int(rest[0]) == highest
}

// run reads the header of a run, of which at most left values count.
func run(src []byte, left int) (count int, packed bool, rest []byte, err error) {
	h, n := binary.Uvarint(src)
	if n <= 0 {
		return 0, false, nil, shardify.Corrupt(-1, "the bytes end %d values too early", left)
	}
	many := h >> 1
	packed = h&1 != 0
	if many == 0 {
		return 0, false, nil, shardify.Corrupt(-1, "a run of no values")
	}
	if many > uint64(left) {
		many = uint64(left)
	} else if packed {
		many = min(many*8, uint64(left))
	}
	return int(many), packed, src[n:], nil
}

func fill(dst []uint8, v uint8) {
	if v == 0 {
		clear(dst)
		return
	}
	const few = 32
	for i := range dst[:min(len(dst), few)] {
		dst[i] = v
	}
	for n := few; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// unpack8 unpacks values of at most 8 bits; a group of 8 is w bytes.
func unpack8(dst []uint8, src []byte, w uint) {
	if w == 1 {
		unpackBits(dst, src)
		return
	}
	mask := uint8(1<<w - 1)
	for len(dst) > 0 {
		var v uint64
		if len(src) >= 8 {
			v = binary.LittleEndian.Uint64(src)
		} else {
			for i, b := range src {
				v |= uint64(b) << (8 * i)
			}
		}
		for i := range min(8, len(dst)) {
			dst[i] = uint8(v>>(uint(i)*w)) & mask
		}
		dst = dst[min(8, len(dst)):]
		src = src[min(int(w), len(src)):]
	}
}

// unpackBits makes a byte of every bit.
func unpackBits(dst []uint8, src []byte) {
	for len(dst) >= 8 && len(src) > 0 {
		// Byte k keeps bit k; adding 127 carries it into the top bit.
		v := uint64(src[0]) * 0x0101010101010101 & 0x8040201008040201
		v = (v + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101
		binary.LittleEndian.PutUint64(dst, v)
		dst, src = dst[8:], src[1:]
	}
	for i := range dst {
		dst[i] = src[0] >> i & 1
	}
}

// runs32 decodes len(dst) values of w <= 32 bits.
func runs32(dst []int32, src []byte, w uint) error {
	if w == 0 {
		clear(dst)
		return nil
	}
	for len(dst) > 0 {
		count, packed, rest, err := run(src, len(dst))
		if err != nil {
			return err
		}
		src = rest
		if packed {
			need := int((uint(count)*w + 7) / 8)
			if need > len(src) {
				return shardify.Corrupt(-1, "%d packed values of %d bits in %d bytes", count, w, len(src))
			}
			bitpack.Unpack(dst[:count], padded(src[:need], bitpack.PaddingInt32), w)
			src = src[min(len(src), (count+7)/8*int(w)):]
		} else {
			size := int(w+7) / 8
			if len(src) < size {
				return shardify.Corrupt(-1, "the bytes end inside of a value")
			}
			var v [4]byte
			copy(v[:], src[:size])
			x := int32(binary.LittleEndian.Uint32(v[:]))
			for i := range dst[:count] {
				dst[i] = x
			}
			src = src[size:]
		}
		dst = dst[count:]
	}
	return nil
}

// padded returns b with n bytes behind it that may be read, in the capacity of b or in
// a copy.
func padded(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b[:len(b)+n]
	}
	c := make([]byte, len(b)+n)
	copy(c, b)
	return c
}

// oldLevels decodes levels in the deprecated BIT_PACKED encoding: no runs, highest
// bits first.
func oldLevels(dst []uint8, src []byte, n, highest int) ([]uint8, []byte, error) {
	w := bits.Len(uint(highest))
	size := (n*w + 7) / 8
	if size > len(src) {
		return dst, nil, shardify.Corrupt(-1, "%d bytes for levels of %d", len(src), size)
	}
	dst = grow(dst, n)
	for i := range dst {
		v := 0
		for b := i * w; b < (i+1)*w; b++ {
			v = v<<1 | int(src[b/8]>>(7-b%8)&1)
		}
		if v > highest {
			return dst, nil, shardify.Corrupt(-1, "level %d, the highest is %d", v, highest)
		}
		dst[i] = uint8(v)
	}
	return dst, src[size:], nil
}

// booleans decodes BOOLEAN values in runs.
func booleans(dst, src []byte) error {
	if len(src) < 4 {
		return shardify.Corrupt(-1, "%d bytes of runs", len(src))
	}
	n := int64(binary.LittleEndian.Uint32(src))
	if src = src[4:]; n > int64(len(src)) {
		return shardify.Corrupt(-1, "runs of %d bytes, %d are left", n, len(src))
	}
	_, err := levels(dst, src[:n], len(dst), 1)
	return err
}
