package inflate

import "encoding/binary"

// header reads the header of a block and prepares its tables. Lacking input it
// takes nothing, to begin again when there is more; a header has at most 600
// bytes.
func (f *inflater) header(in []byte, ip int) (int, status) {
	bits, n, start := f.bits, f.n, ip
	ip = f.fill(in, ip)
	st := needInput
	if f.n >= 3 {
		f.final = f.bits&1 != 0
		kind := f.bits >> 1 & 3
		f.drop(3)
		switch kind {
		case 0:
			ip, st = f.storedHeader(in, ip)
		case 1:
			f.fixed, f.phase, st = true, inCodes, running
		case 2:
			ip, st = f.dynamicHeader(in, ip)
		default:
			st = f.corrupt("invalid block type")
		}
	}
	if st == needInput {
		f.bits, f.n = bits, n
		return start, needInput
	}
	return ip, st
}

func (f *inflater) storedHeader(in []byte, ip int) (int, status) {
	ip -= int(f.n >> 3)
	f.bits, f.n = 0, 0
	if len(in)-ip < 4 {
		return ip, needInput
	}
	size := binary.LittleEndian.Uint16(in[ip:])
	if size != ^binary.LittleEndian.Uint16(in[ip+2:]) {
		return ip, f.corrupt("length of stored block and its complement differ")
	}
	f.stored, f.phase = int(size), inStored
	return ip + 4, running
}

// widthOrder is the order in which the widths of the code for widths come.
var widthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

const (
	widthBits   = 7 // width of the widest code for widths
	maxLit      = 286
	maxDist     = 30
	mostly8     = 218 // symbols of eight bits, 85 % of all that can be
	widthRepeat = 16  // symbol that repeats the width before it
)

// dynamicHeader reads the two codes of a block.
func (f *inflater) dynamicHeader(in []byte, ip int) (int, status) {
	if f.n < 14 {
		return ip, needInput
	}
	nlit, ndist, nwidth := int(f.bits&31)+257, int(f.bits>>5&31)+1, int(f.bits>>10&15)+4
	f.drop(14)
	if nlit > maxLit || ndist > maxDist {
		return ip, f.corrupt("too many literal/length or distance codes")
	}
	var order [19]uint8
	ip = f.fill(in, ip)
	for i, s := range widthOrder[:nwidth] {
		if i == 16 {
			ip = f.fill(in, ip)
		}
		if f.n < 3 {
			return ip, needInput
		}
		order[s] = uint8(f.bits & 7)
		f.drop(3)
	}
	if f.sort(order[:]) != complete {
		return ip, f.corrupt("code for code widths is not complete")
	}

	// An entry of table is symbol<<3 | width.
	var table [1 << widthBits]uint8
	code := uint32(0)
	for w := 1; w <= widthBits; w++ {
		size := 1 << w
		copy(table[size/2:size], table[:size/2])
		code <<= 1
		for _, sym := range f.sorted[f.start[w]:f.start[w+1]] {
			table[reverse(code, w)] = uint8(sym<<3) | uint8(w)
			code++
		}
	}

	var widths [maxLit + maxDist]uint8
	for i := 0; i < nlit+ndist; {
		if f.n < widthBits+7 {
			ip = f.fill(in, ip)
		}
		e := table[f.bits&(1<<widthBits-1)]
		w, sym := uint(e&7), e>>3
		if sym < widthRepeat {
			if w > f.n {
				return ip, needInput
			}
			f.drop(w)
			widths[i] = sym
			i++
			continue
		}
		r := &repeats[sym-widthRepeat]
		if w+r.extra > f.n {
			return ip, needInput
		}
		count := r.base + int(f.bits>>w)&(1<<r.extra-1)
		f.drop(w + r.extra)
		if count > nlit+ndist-i {
			return ip, f.corrupt("code widths repeat beyond the last code")
		}
		if sym == widthRepeat {
			if i == 0 {
				return ip, f.corrupt("no code width to repeat")
			}
			for last := i - 1; count > 0; count-- {
				widths[i] = widths[last]
				i++
			}
			continue
		}
		i += count // of zeros
	}
	if widths[endSymbol] == 0 {
		return ip, f.corrupt("no code for the end of the block")
	}
	clear(f.widths[copy(f.widths[:], widths[:nlit]):])
	if what := f.buildLit(&f.lit, f.widths[:]); what != "" {
		return ip, f.corrupt(what)
	}
	f.mostly8 = f.count[8] >= mostly8
	if what := f.buildDist(&f.dist, widths[nlit:nlit+ndist]); what != "" {
		return ip, f.corrupt(what)
	}
	f.fixed, f.phase = false, inCodes
	return ip, running
}

// repeats are the symbols 16 to 18 of the code for widths: base plus the extra
// bits is how many widths they stand for.
var repeats = [3]struct {
	base  int
	extra uint
}{{3, 2}, {3, 3}, {11, 7}}
