package hdu

import (
	"encoding/binary"
	"math/bits"

	"github.com/shardify/shardify"
)

// bitReader takes bits from the most significant one of each byte on.
type bitReader struct {
	src  []byte
	acc  uint64 // its n top bits are the next ones
	n    int
	past bool
}

// fill makes at least 32 bits available while the bytes last.
func (b *bitReader) fill() {
	for b.n <= 56 && len(b.src) > 0 {
		if len(b.src) >= 4 && b.n <= 32 {
			b.acc |= uint64(binary.BigEndian.Uint32(b.src)) << (32 - b.n)
			b.n += 32
			b.src = b.src[4:]
			continue
		}
		b.acc |= uint64(b.src[0]) << (56 - b.n)
		b.n += 8
		b.src = b.src[1:]
	}
}

// take is the next k bits, at most 32.
func (b *bitReader) take(k int) uint32 {
	if b.n < k {
		if b.fill(); b.n < k {
			b.past = true
			b.n = 0
			return 0
		}
	}
	v := uint32(b.acc >> 32 >> (32 - k))
	b.acc <<= k
	b.n -= k
	return v
}

// zeros counts zeros up to a one, and takes both.
func (b *bitReader) zeros() uint32 {
	count := 0
	for {
		if b.n < 32 {
			b.fill()
		}
		if b.n == 0 {
			b.past = true
			return 0
		}
		if b.acc != 0 {
			if z := bits.LeadingZeros64(b.acc); z < b.n {
				b.acc <<= z
				b.acc <<= 1
				b.n -= z + 1
				return uint32(count + z)
			}
		}
		count += b.n
		b.acc, b.n = 0, 0
	}
}

// rice decodes a tile of RICE_1 into big-endian numbers of width bytes: the first number, then blocks of
// differences, each a quotient in unary and a rest of as many bits as the block says.
func rice(dst, src []byte, width, every int) error {
	n := len(dst) / width
	b := bitReader{src: src}
	rest, most, raw := 5, 25, 32
	switch width {
	case 1:
		rest, most, raw = 3, 6, 8
	case 2:
		rest, most, raw = 4, 14, 16
	}
	last := b.take(raw)
	for i := 0; i < n; i += every {
		k := int(b.take(rest)) - 1
		end := min(i+every, n)
		for j := i; j < end; j++ {
			var d uint32
			switch {
			case k < 0:
			case k == most:
				d = b.take(raw)
			case k > most:
				return shardify.Corrupt(-1, "a block of the tile says %d bits, at most %d are possible", k, most)
			default:
				d = b.zeros() << k
				if k > 0 {
					d |= b.take(k)
				}
			}
			last += d>>1 ^ -(d & 1)
			switch width {
			case 1:
				dst[j] = byte(last)
			case 2:
				binary.BigEndian.PutUint16(dst[2*j:], uint16(last))
			default:
				binary.BigEndian.PutUint32(dst[4*j:], last)
			}
		}
		if b.past {
			return shardify.Corrupt(-1, "the tile ends within its numbers: %d of %d", i, n)
		}
	}
	return nil
}
