package hdu

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// plio decodes a line list of PLIO_1: words of 16 bits, whose upper 4 bits say what to do and whose lower 12 bits are a number.
// dst gets big-endian numbers of width bytes.
//
//	0 n  n zeros
//	1 n  the value becomes n and 4096 times the next word
//	2 n  the value grows by n
//	3 n  the value falls by n
//	4 n  n times the value
//	5 n  n-1 zeros and the value
//	6 n  the value grows by n, and comes once
//	7 n  the value falls by n, and comes once
func plio(dst, src []byte, width int) error {
	word := func(i int) int { return int(binary.BigEndian.Uint16(src[2*i:])) }
	words := len(src) / 2
	if words < 3 {
		return shardify.Corrupt(-1, "a line list of %d bytes", len(src))
	}
	at, end := 3, int(int16(word(2))) // of the old header
	if end <= 0 {
		if words < 7 {
			return shardify.Corrupt(-1, "a line list of %d bytes", len(src))
		}
		at, end = word(1), word(4)<<15+word(3)
	}
	if at < 3 || end > words || at > end {
		return shardify.Corrupt(-1, "a line list from word %d to %d, of %d", at, end, words)
	}
	value, done, all := int64(1), 0, len(dst)/width
	put := func(n int, v int64) error {
		if n > all-done {
			return shardify.Corrupt(-1, "a line list of more than %d numbers", all)
		}
		if v < 0 || width < 4 && v>>(8*width) != 0 {
			return shardify.Corrupt(-1, "the value %d in a line list of numbers of %d bytes", v, width)
		}
		for range n {
			putInteger(dst[done*width:], v, width)
			done++
		}
		return nil
	}
	for ; at < end; at++ {
		n := word(at) & 0xfff
		var err error
		switch word(at) >> 12 {
		case 0:
			err = put(n, 0)
		case 1:
			if at++; at == end {
				return shardify.Corrupt(-1, "a line list ends within a value")
			}
			value = int64(n + word(at)<<12)
		case 2:
			value += int64(n)
		case 3:
			value -= int64(n)
		case 4:
			err = put(n, value)
		case 5:
			if n == 0 {
				return shardify.Corrupt(-1, "a run of no numbers in a line list")
			}
			if err = put(n-1, 0); err == nil {
				err = put(1, value)
			}
		case 6, 7:
			if word(at)>>12 == 7 {
				n = -n
			}
			value += int64(n)
			err = put(1, value)
		default:
			return shardify.Corrupt(-1, "the instruction %d in a line list", word(at)>>12)
		}
		if err != nil {
			return err
		}
	}
	if done < all {
		return shardify.Corrupt(-1, "a line list of %d numbers, and the tile has %d", done, all)
	}
	return nil
}
