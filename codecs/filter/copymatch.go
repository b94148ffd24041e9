package filter

import "encoding/binary"

// period[d] describes how a match of distance d < 8 repeats within a word: the
// bytes of one period times mult fill a word, and step, the largest multiple of d
// up to 8, is how far the same word can be stored again.
var period = [8]struct {
	mask, mult uint64
	step       int
}{
	1: {1<<8 - 1, 0x0101010101010101, 8},
	2: {1<<16 - 1, 0x0001000100010001, 8},
	3: {1<<24 - 1, 0x0001000001000001, 6},
	4: {1<<32 - 1, 0x0000000100000001, 8},
	5: {1<<40 - 1, 0x0000010000000001, 5},
	6: {1<<48 - 1, 0x0001000000000001, 6},
	7: {1<<56 - 1, 0x0100000000000001, 7},
}

// matchSlack is how many bytes behind a match copyMatch may write rubbish to, if
// dst has them.
const matchSlack = 16

// copyMatch writes n bytes to dst[o:], each that of dist before. The caller has
// checked 0 < dist <= o and o+n <= len(dst). It may write rubbish behind them.
func copyMatch(dst []byte, o, dist, n int) {
	end := o + n
	if len(dst)-end < matchSlack {
		// What was written becomes source: the copied part doubles each time.
		for from := o - dist; o < end; {
			o += copy(dst[o:end], dst[from:o])
		}
		return
	}
	from := o - dist
	switch {
	case dist >= 16:
		for o < end {
			*(*[16]byte)(dst[o : o+16]) = *(*[16]byte)(dst[from : from+16])
			o += 16
			from += 16
		}
	case dist >= 8:
		for o < end {
			*(*[8]byte)(dst[o : o+8]) = *(*[8]byte)(dst[from : from+8])
			o += 8
			from += 8
		}
	default:
		p := &period[dist&7]
		word := binary.LittleEndian.Uint64(dst[from:from+8]) & p.mask * p.mult
		for o < end {
			binary.LittleEndian.PutUint64(dst[o:o+8], word)
			o += p.step
		}
	}
}
