package inflate

import (
	"encoding/binary"
	"math/bits"
)

const (
	// fastIn is how many input bytes a turn of the fast loop may look at:
	// two loads of eight bytes, the second at most seven bytes further on.
	fastIn = 16

	// fastOut is how many output bytes it may touch: three entries of three
	// literals, the longest match, and what word-wise stores write past it.
	fastOut = 9 + 258 + 32
)

// period[d] describes how a match of distance d < 8 repeats within a word:
// the bytes of one period times mult fill a word, and step, the largest
// multiple of d up to 8, is how far the same word can be stored again.
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

// fastGo decodes symbols of the current block while fastIn bytes of input and
// fastOut bytes of space are left. It returns the new positions, and running
// when it stopped for lack of either.
//
// One refill gives at least 56 bits: three entries of the primary table and a
// length need at most 3*11+20, a distance 28 more: so there is a second refill.
// acc may hold correct bits of the stream above its n valid ones; loading the
// same bytes over them again changes nothing. Only the low six bits of n count,
// so that an entry is subtracted from it without being masked.
//
// Each turn takes src and dst out of the buffers, at a bounds check each, and
// indexes these arrays with numbers that the compiler knows to be small. That
// is within 5 % of the speed of unsafe loads and stores. The slice expressions
// name their capacity, which saves the instructions that keep a pointer to the
// end of a slice from leaving its allocation.
func (f *inflater) fastGo(lit *litTable, dist *distTable, out []byte, pos int, in []byte, ip int) (int, int, status) {
	acc, n := f.bits, uint32(f.n)
	in, out = in[:len(in):len(in)], out[:len(out):len(out)]
	inEnd, outEnd := len(in)-fastIn, len(out)-fastOut
	st := running
	for ip <= inEnd && pos <= outEnd {
		// k input bytes were loaded by the first refill, m literals stored.
		src := (*[fastIn]byte)(in[ip : ip+fastIn : ip+fastIn])
		dst := (*[fastOut]byte)(out[pos : pos+fastOut : pos+fastOut])

		acc |= load8(src, 0) << (n & 63)
		k := uint(^n >> 3 & 7)
		n |= 56
		m := uint(0)

		e := lit[acc&(1<<litBits-1)]
		if e&litCountMask != 0 {
			acc >>= e & dropMask
			n -= e
			store4(dst, 0, e)
			m = uint(e >> litCountShift & 3)
			e = lit[acc&(1<<litBits-1)]
			if e&litCountMask != 0 {
				acc >>= e & dropMask
				n -= e
				store4(dst, m, e)
				m += uint(e >> litCountShift & 3)
				e = lit[acc&(1<<litBits-1)]
				if e&litCountMask != 0 {
					acc >>= e & dropMask
					n -= e
					store4(dst, m, e)
					m += uint(e >> litCountShift & 3)
					pos += int(m)
					ip += int(k)
					continue
				}
			}
		}
		pos += int(m)
		if e&litOther != 0 {
			if e&(litEnd|litInvalid) == 0 {
				e = lit[(uint64(e>>subShift)+acc>>litBits&uint64(e>>litSubMaskShift&15))&(litTableSize-1)]
				if e&litCountMask != 0 {
					acc >>= e & dropMask
					n -= e
					out[pos] = byte(e >> litShift)
					pos++
					ip += int(k)
					continue
				}
			}
			if e&litOther != 0 {
				if e&litEnd != 0 {
					acc >>= e & dropMask
					n -= e
					st = blockEnd
				} else {
					st = f.corrupt(noLiteral)
				}
				ip += int(k)
				break
			}
		}
		length := int(e>>lenBaseShift) + extra(acc, e, e>>lenWidthShift)
		acc >>= e & dropMask
		n -= e

		acc |= load8(src, k) << (n & 63)
		ip += int(k + uint(^n>>3&7))
		n |= 56
		e = dist[acc&(1<<distBits-1)]
		if e&distOther != 0 {
			if e&distInvalid == 0 {
				e = dist[(uint64(e>>subShift)+acc>>distBits&uint64(e>>distSubMaskShift&0xff))&(distTableSize-1)]
			}
			if e&distInvalid != 0 {
				st = f.corrupt(noDistance)
				break
			}
		}
		d := int(e>>distBaseShift) + extra(acc, e, e>>distWidthShift)
		acc >>= e & dropMask
		n -= e
		if d > pos {
			st = f.corrupt(farDistance)
			break
		}

		from, to := pos-d, pos
		pos += length
		if d >= 16 {
			*(*[16]byte)(dst[m : m+16]) = *(*[16]byte)(out[from : from+16 : from+16])
			for length > 16 {
				to, from, length = to+16, from+16, length-16
				*(*[16]byte)(out[to : to+16 : to+16]) = *(*[16]byte)(out[from : from+16 : from+16])
			}
			continue
		}
		word, step := binary.LittleEndian.Uint64(out[from:from+8:from+8]), 8
		if d < 8 {
			p := &period[d&7]
			word, step = word&p.mask*p.mult, p.step
		}
		for {
			binary.LittleEndian.PutUint64(out[to:to+8:to+8], word)
			if length <= step {
				break
			}
			to, from, length = to+step, from+step, length-step
			if d >= 8 {
				word = binary.LittleEndian.Uint64(out[from : from+8 : from+8])
			}
		}
	}
	n &= 63
	f.bits, f.n = acc&(1<<n-1), uint(n)
	return pos, ip, st
}

// extra returns what the extra bits of a length or distance add: of the bits that
// entry e drops from acc, those behind the code of the given width.
func extra(acc uint64, e, width uint32) int {
	return int(acc & (1<<(e&dropMask) - 1) >> (width & 15))
}

// load8 loads eight bytes of p at i.
func load8(p *[fastIn]byte, i uint) uint64 {
	return binary.LittleEndian.Uint64(p[i : i+8 : i+8])
}

// store4 stores the literals of entry e, and garbage up to four bytes. Turning e
// rather than shifting it is what the compiler makes a single store of.
func store4(p *[fastOut]byte, i uint, e uint32) {
	binary.LittleEndian.PutUint32(p[i:i+4:i+4], bits.RotateLeft32(e, -litShift))
}
