package filter

import (
	"encoding/binary"
	"math/bits"

	"github.com/shardify/shardify"
)

// fletcher32 is filter 3: the data, and behind them their Fletcher-32.
type fletcher32 struct{}

func (fletcher32) encoded(n int) (int, bool) { return n + 4, true }

func (fletcher32) decode(_, src []byte, _ bool, _ *Scratch) ([]byte, error) {
	n := len(src) - 4
	if n < 0 {
		return nil, shardify.Corrupt(-1, "fletcher32: %d bytes are not a checksum", len(src))
	}
	stored := binary.LittleEndian.Uint32(src[n:])
	sum := fletcher(src[:n])
	// Big-endian machines and old libraries swapped the bytes of each half.
	if swapped := bits.RotateLeft32(bits.ReverseBytes32(sum), 16); stored != sum && stored != swapped {
		return nil, shardify.Corrupt(-1, "fletcher32 is %08x, stored %08x", sum, stored)
	}
	return src[:n:n], nil
}

const (
	// fletcherMod: the halves of the sum are ones' complement sums of 16 bits, so
	// they are defined modulo 2^16-1, 0 being written as that unless all is 0.
	fletcherMod = 1<<16 - 1

	// fletcherBlock is how many bytes the lanes of fletcher hold without overflow:
	// 256 words of bytes 255 reach 65535*(1+2+...+256) < 2^31 in a lane of 32 bits.
	fletcherBlock = 256 * 8
)

// fletcher returns the checksum of p as pairs of bytes, high byte first.
//
// It adds the pairs as little-endian numbers, since swapping the bytes of one is
// multiplying it by 256 modulo 2^16-1, and that distributes over the sums. Separate lanes
// of 32 bits hold the pairs at even and odd places of a word. The sum of
// running sums counts a pair once for each pair from it to the end of a block:
// four times for each whole word behind its own, and 4 down to 1 by its place.
func fletcher(p []byte) uint32 {
	const lanes = 0x0000ffff0000ffff
	s1, s2 := uint64(0), uint64(0)
	any := uint64(0)
	for len(p) >= 8 {
		block := p[:min(len(p)&^7, fletcherBlock)]
		p = p[len(block):]
		var even, odd, evens, odds uint64
		for b := block; len(b) >= 8; b = b[8:] {
			w := binary.LittleEndian.Uint64(b)
			evens += even
			odds += odd
			even += w & lanes
			odd += w >> 16 & lanes
		}
		e0, e1, o0, o1 := even&(1<<32-1), even>>32, odd&(1<<32-1), odd>>32
		s2 += s1*uint64(len(block)/2) + 4*(evens&(1<<32-1)+evens>>32+odds&(1<<32-1)+odds>>32) +
			4*e0 + 3*o0 + 2*e1 + o1
		s1 += e0 + o0 + e1 + o1
		any |= even | odd
		s1 %= fletcherMod
		s2 %= fletcherMod
	}
	for ; len(p) >= 2; p = p[2:] {
		w := uint64(binary.LittleEndian.Uint16(p))
		s1 += w
		s2 += s1
		any |= w
	}
	if len(p) == 1 { // the high half of a pair, which is its low one here
		s1 += uint64(p[0])
		s2 += s1
		any |= uint64(p[0])
	}
	if any == 0 {
		return 0
	}
	return fletcherHalf(s2)<<16 | fletcherHalf(s1)
}

// fletcherHalf turns a sum of little-endian pairs, not 0 before it was reduced,
// to one of big-endian pairs.
func fletcherHalf(sum uint64) uint32 {
	if sum = sum % fletcherMod * 256 % fletcherMod; sum == 0 {
		return fletcherMod
	}
	return uint32(sum)
}
