package sound

import (
	"encoding/binary"
	"math/bits"
)

// reader reads bits, the highest of a byte first. Beyond the end it reads zeros, and over is true.
type reader struct {
	data []byte
	at   int    // of the next byte
	word uint64 // bits that were taken from the data, at its upper end
	n    uint   // of them
	over bool
}

// fill takes bytes until there are more than 56 bits, or all.
func (r *reader) fill() {
	if r.at+8 <= len(r.data) {
		x := binary.BigEndian.Uint64(r.data[r.at:])
		r.word |= x >> r.n
		k := (64 - r.n) / 8
		r.at += int(k)
		if r.n += k * 8; r.n < 64 {
			r.word &= ^uint64(0) << (64 - r.n)
		}
		return
	}
	for r.n <= 56 && r.at < len(r.data) {
		r.word |= uint64(r.data[r.at]) << (56 - r.n)
		r.at++
		r.n += 8
	}
}

// bits reads up to 56 bits.
func (r *reader) bits(n uint) uint64 {
	if n == 0 {
		return 0
	}
	if r.n < n {
		if r.fill(); r.n < n {
			r.over, r.n, r.word = true, 0, 0
			return 0
		}
	}
	x := r.word >> (64 - n)
	r.word <<= n
	r.n -= n
	return x
}

// signed reads a number of two's complement.
func (r *reader) signed(n uint) int64 {
	return int64(r.bits(n)<<(64-n)) >> (64 - n)
}

// zeros counts the zeros before the next one.
func (r *reader) zeros() (count uint64) {
	for {
		if r.word != 0 {
			k := uint(bits.LeadingZeros64(r.word))
			r.word <<= k + 1
			r.n -= k + 1
			return count + uint64(k)
		}
		count += uint64(r.n)
		r.n = 0
		if r.fill(); r.n == 0 {
			r.over = true
			return 0
		}
	}
}

// align skips the rest of a byte.
func (r *reader) align() { r.bits(r.n % 8) }

// byte is the offset of the next byte; the reader is aligned.
func (r *reader) byte() int { return r.at - int(r.n/8) }

// crc is a table of a checksum whose polynomial is in the upper bits of 16.
func crc(polynomial uint16) (t [256]uint16) {
	for i := range t {
		x := uint16(i) << 8
		for range 8 {
			if x&0x8000 != 0 {
				x = x<<1 ^ polynomial
			} else {
				x <<= 1
			}
		}
		t[i] = x
	}
	return t
}

var crc8Table, crc16Table = crc(0x0700), crc(0x8005)

// crc8 is the checksum of the header of a frame.
func crc8(data []byte) (x uint8) {
	for _, b := range data {
		x = uint8(crc8Table[x^b] >> 8)
	}
	return x
}

// crc16 is the checksum of a frame.
func crc16(data []byte) (x uint16) {
	for _, b := range data {
		x = x<<8 ^ crc16Table[uint8(x>>8)^b]
	}
	return x
}
