package inflate

import "golang.org/x/sys/cpu"

// haveBMI2 chooses fast_amd64.s, which decodes 1.2 to 1.5 times as fast as fastGo. Tests
// change it to compare both.
var haveBMI2 = cpu.X86.HasBMI2 && cpu.X86.HasAVX2

// patterns[d] is how a match of distance d < 16 goes on: the places of 32 bytes
// in the first d, and the largest multiple of d up to 32.
var patterns [16]struct {
	places [32]uint8
	step   uint64
	_      [24]uint8
}

func init() {
	for d := 1; d < len(patterns); d++ {
		for i := range patterns[d].places {
			patterns[d].places[i] = uint8(i % d)
		}
		patterns[d].step = uint64(32 - 32%d)
	}
}

// stopped is why fastBMI2 returned.
type stopped int

const (
	lacking stopped = iota
	atEnd
	badLiteral
	badDistance
	tooFarBack
)

// fastBMI2 wants fastIn bytes of in at ip and fastOut bytes of out at pos, which it
// reads and writes no byte outside of. It takes and returns the bits of acc above
// the low six bits of n as fastGo has them.
//
// Entries of the low byte eights are taken without waiting for them, see mostly8: it is
// that of a single literal of eight bits, or one that no entry has.
//
//go:noescape
func fastBMI2(lit *litTable, dist *distTable, out []byte, pos int, in []byte, ip int, acc, n, eights uint64) (newPos, newIP int, newAcc, newN uint64, why stopped)

// turnOut is how many bytes fastBMI2 makes at once: while it runs, the garbage
// collector waits for this goroutine.
const turnOut = 1 << 20

// fast is fastGo, in assembly where the processor has what that needs.
func (f *inflater) fast(lit *litTable, dist *distTable, out []byte, pos int, in []byte, ip int) (int, int, status) {
	if !haveBMI2 {
		return f.fastGo(lit, dist, out, pos, in, ip)
	}
	eights := uint64(255)
	if f.mostly8 && !f.fixed {
		eights = oneLiteral | 8
	}
	why := lacking
	for why == lacking && len(in)-ip >= fastIn && len(out)-pos >= fastOut {
		var acc, n uint64
		pos, ip, acc, n, why = fastBMI2(lit, dist, out[:min(len(out), pos+turnOut)], pos, in, ip, f.bits, uint64(f.n), eights)
		n &= 63
		f.bits, f.n = acc&(1<<n-1), uint(n)
	}
	switch why {
	case atEnd:
		return pos, ip, blockEnd
	case badLiteral:
		return pos, ip, f.corrupt(noLiteral)
	case badDistance:
		return pos, ip, f.corrupt(noDistance)
	case tooFarBack:
		return pos, ip, f.corrupt(farDistance)
	}
	return pos, ip, running
}
