package inflate

import "encoding/binary"

const (
	adlerMod = 65521

	// adlerBlock is how many bytes the lanes of adler32 hold without overflow:
	// with 22 words of bytes 255 a lane of 16 bits reaches 255*(0+1+...+21) = 58905.
	adlerBlock = 22 * 8
)

// adler32 continues the checksum sum with the bytes of p. It is about twice as
// fast as hash/adler32, which would take a fifth of the time to decode a chunk.
//
// Where there is AVX2, adlerFast leaves it less than 32 bytes. Else the bytes of a
// word are added in lanes of 16 bits, those at even places apart from those at odd
// ones. The sum of running sums counts each byte once for every byte from it to the
// end of the block: eight times for each whole word behind its own, and 8 down to 1
// by its place in the word.
func adler32(sum uint32, p []byte) uint32 {
	const lanes = 0x00ff00ff00ff00ff
	s1, s2, p := adlerFast(uint64(sum&0xffff), uint64(sum>>16), p)
	for ; len(p) >= adlerBlock; p = p[adlerBlock:] {
		block := (*[adlerBlock]byte)(p)
		var even, odd, evens, odds uint64
		for i := 0; i < adlerBlock; i += 16 {
			w := binary.LittleEndian.Uint64(block[i : i+8])
			evens += even
			odds += odd
			even += w & lanes
			odd += w >> 8 & lanes
			w = binary.LittleEndian.Uint64(block[i+8 : i+16])
			evens += even
			odds += odd
			even += w & lanes
			odd += w >> 8 & lanes
		}
		s2 += s1*adlerBlock + 8*(lane16(evens, 0)+lane16(evens, 1)+lane16(evens, 2)+lane16(evens, 3)+
			lane16(odds, 0)+lane16(odds, 1)+lane16(odds, 2)+lane16(odds, 3)) +
			8*lane16(even, 0) + 7*lane16(odd, 0) + 6*lane16(even, 1) + 5*lane16(odd, 1) +
			4*lane16(even, 2) + 3*lane16(odd, 2) + 2*lane16(even, 3) + lane16(odd, 3)
		s1 += lane16(even, 0) + lane16(even, 1) + lane16(even, 2) + lane16(even, 3) +
			lane16(odd, 0) + lane16(odd, 1) + lane16(odd, 2) + lane16(odd, 3)
		s1 %= adlerMod
		s2 %= adlerMod
	}
	for _, c := range p {
		s1 += uint64(c)
		s2 += s1
	}
	return uint32(s2%adlerMod<<16 | s1%adlerMod)
}

// lane16 returns the i-th 16 bits of v.
func lane16(v uint64, i uint) uint64 { return v >> (16 * i) & 0xffff }
