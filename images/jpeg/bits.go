package jpeg

import (
	"encoding/binary"
	"math/bits"
)

// stream reads the bits of a scan. Behind the data are zeros: used shows if too many bits were
// read.
type stream struct {
	data []byte
	pos  int    // bytes that were loaded
	acc  uint64 // the next bits, at the top
	n    uint   // how many
	end  int    // of the interval, in bytes
}

// fill makes at least 56 bits of any number below 64. It is written out where it is hot.
func (s *stream) fill() {
	if s.pos <= len(s.data)-8 {
		s.acc |= binary.BigEndian.Uint64(s.data[s.pos:]) >> (s.n & 63)
	}
	s.pos += int((63 - s.n) >> 3)
	s.n |= 56
}

// over reports whether more bits were taken than there are.
func (s *stream) over() bool { return 8*s.pos-int(s.n) > 8*s.end }

// symbol decodes a code; its value's bits are next.
func (s *stream) symbol(h *huffman) entry {
	if s.n < 32 {
		s.fill()
	}
	e := h.lut[s.acc>>(64-lutBits)]
	if e == 0 {
		if e = h.find(s.acc); e == 0 {
			return 0
		}
	}
	s.acc <<= e.length()
	s.n -= e.length()
	return e
}

// bits is the next k bits, at most 16.
func (s *stream) bits(k uint) int32 {
	if s.n < 32 {
		s.fill()
	}
	v := bits.RotateLeft64(s.acc, int(k)) & (1<<(k&63) - 1)
	s.acc <<= k & 63
	s.n -= k
	return int32(v)
}

// bit is the next bit.
func (s *stream) bit() bool {
	if s.n == 0 {
		s.fill()
	}
	v := int64(s.acc) < 0
	s.acc <<= 1
	s.n--
	return v
}

// signed is the value of k bits at the top of acc: the upper half of their range is the number
// itself, the lower half means negative numbers.
func signed(acc uint64, k uint) int32 {
	v := int64(bits.RotateLeft64(acc, int(k)) & (1<<(k&63) - 1))
	return int32(v + ^(int64(acc)>>63)&(-1<<(k&63)+1))
}

// value is a signed number of k bits, at most 11.
func (s *stream) value(k uint) int32 {
	if s.n < 32 {
		s.fill()
	}
	v := signed(s.acc, k)
	s.acc <<= k & 63
	s.n -= k
	return v
}

// block decodes one block of a sequential scan to out, which is zero: coefficients times
// q. dc is the DC coefficient of the block before. flat: there is nothing but DC.
func (s *stream) block(dcs, acs *huffman, q *[128]uint16, dc int32, out *[128]int16) (_ int32, flat, ok bool) {
	data, pos, acc, n := s.data, s.pos, s.acc, s.n
	if n < 32 {
		if pos <= len(data)-8 {
			acc |= binary.BigEndian.Uint64(data[pos:]) >> (n & 63)
		}
		pos += int((63 - n) >> 3)
		n |= 56
	}
	e := dcs.lut[acc>>(64-lutBits)]
	if e == 0 {
		if e = dcs.find(acc); e == 0 {
			return 0, false, false
		}
	}
	dc += signed(acc<<e.length(), e.size())
	acc <<= e.sum()
	n -= e.sum()
	out[0] = int16(dc * int32(q[0]))
	k := 1
	for k < 64 {
		if n < 32 {
			if pos <= len(data)-8 {
				acc |= binary.BigEndian.Uint64(data[pos:]) >> (n & 63)
			}
			pos += int((63 - n) >> 3)
			n |= 56
		}
		e = acs.lut[acc>>(64-lutBits)]
		if e == 0 {
			if e = acs.find(acc); e == 0 {
				return 0, false, false
			}
		}
		v := signed(acc<<e.length(), e.size())
		acc <<= e.sum()
		n -= e.sum()
		k += e.run()
		// The end of a block stores beside it, so no branch asks for the kind of symbol.
		out[natural[k&127]&127] = int16(v * int32(q[k&127]))
		k++
	}
	s.pos, s.acc, s.n = pos, acc, n
	return dc, k == 1+endOfBlock+1, k == 64 || e.run() == endOfBlock
}

// skip is block without coefficients.
func (s *stream) skip(dcs, acs *huffman, dc int32) (_ int32, ok bool) {
	data, pos, acc, n := s.data, s.pos, s.acc, s.n
	if n < 32 {
		if pos <= len(data)-8 {
			acc |= binary.BigEndian.Uint64(data[pos:]) >> (n & 63)
		}
		pos += int((63 - n) >> 3)
		n |= 56
	}
	e := dcs.lut[acc>>(64-lutBits)]
	if e == 0 {
		if e = dcs.find(acc); e == 0 {
			return 0, false
		}
	}
	dc += signed(acc<<e.length(), e.size())
	acc <<= e.sum()
	n -= e.sum()
	k := 1
	for k < 64 {
		if n < 32 {
			if pos <= len(data)-8 {
				acc |= binary.BigEndian.Uint64(data[pos:]) >> (n & 63)
			}
			pos += int((63 - n) >> 3)
			n |= 56
		}
		e = acs.lut[acc>>(64-lutBits)]
		if e == 0 {
			if e = acs.find(acc); e == 0 {
				return 0, false
			}
		}
		acc <<= e.sum()
		n -= e.sum()
		k += e.run() + 1
	}
	s.pos, s.acc, s.n = pos, acc, n
	return dc, k == 64 || e.run() == endOfBlock
}

// natural is where the coefficients of a file go in a block; those from 64 on go behind it.
var natural = func() (out [128]uint8) {
	x, y := 0, 0
	for k := range 64 {
		out[k] = uint8(8*y + x)
		switch up := (x+y)%2 == 0; {
		case up && x == 7, !up && y < 7 && x == 0:
			y++
		case up && y == 0, !up && y == 7:
			x++
		case up:
			x, y = x+1, y-1
		default:
			x, y = x-1, y+1
		}
	}
	for k := 64; k < 128; k++ {
		out[k] = uint8(k)
	}
	return out
}()
