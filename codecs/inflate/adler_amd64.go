package inflate

import "golang.org/x/sys/cpu"

// haveAVX2 chooses adler_amd64.s. It is assembly because the generic form took 7 %
// of the time to decode a chunk; a test changes it to compare both.
var haveAVX2 = cpu.X86.HasAVX2

const (
	adlerWord = 32

	// adlerWords bounds a call: 128 words of bytes 255 make sums below 2^25.
	adlerWords = 128 * adlerWord
)

// adlerAVX2 sums the bytes of p, a positive multiple of adlerWord and at most
// adlerWords, in lanes: the bytes; for each word, the bytes before it; and the
// bytes times 32 for the first of a word down to 1 for the last.
//
//go:noescape
func adlerAVX2(sums *[3][8]uint32, p []byte)

// adlerFast continues the sums s1 and s2 with bytes from the start of p and returns
// what it left.
func adlerFast(s1, s2 uint64, p []byte) (uint64, uint64, []byte) {
	if !haveAVX2 {
		return s1, s2, p
	}
	var lanes [3][8]uint32
	for len(p) >= adlerWord {
		n := min(len(p)&^(adlerWord-1), adlerWords)
		adlerAVX2(&lanes, p[:n])
		var sums [3]uint64
		for i := range lanes {
			for _, v := range lanes[i] {
				sums[i] += uint64(v)
			}
		}
		s2 = (s2 + s1*uint64(n) + adlerWord*sums[1] + sums[2]) % adlerMod
		s1 = (s1 + sums[0]) % adlerMod
		p = p[n:]
	}
	return s1, s2, p
}
