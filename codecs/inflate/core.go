package inflate

import "encoding/binary"

// status says why decoding stopped.
type status int

const (
	running   status = iota
	blockEnd         // the block ended (between the parts of the decoder only)
	needInput        // the next step needs more input than there is
	full             // the output reached its limit
	finished         // the last block ended
	tooLong          // the output does not fit
	corrupt          // see inflater.what
)

// phase is the part of a block that comes next.
type phase int

const (
	atHeader phase = iota
	inStored
	inCodes
)

// What is wrong with a symbol.
const (
	noLiteral   = "invalid literal/length code"
	noDistance  = "invalid distance code"
	farDistance = "distance goes before the start of the data"
)

// inflater decodes one deflate stream. It keeps the state between two calls of
// run: at most 63 bits of input, and where in which block it is.
type inflater struct {
	bits uint64 // the next n bits of the stream, lowest first; the rest is 0
	n    uint

	phase  phase
	final  bool // this is the last block
	fixed  bool // it uses the fixed code
	stored int  // bytes left of a stored block
	what   string

	widths  [numLit]uint8 // of the literal/length code of a dynamic block
	mostly8 bool          // most of them are 8, and so will most symbols be
	lit     litTable
	dist    distTable
	builder
}

// reset prepares for a new stream. The tables stay: no block uses them before
// it has made them.
func (f *inflater) reset() {
	f.bits, f.n = 0, 0
	f.phase, f.final, f.fixed, f.stored, f.what = atHeader, false, false, 0, ""
}

func (f *inflater) corrupt(what string) status {
	f.what = what
	return corrupt
}

// run decodes in[ip:] to out[pos:] and returns the new positions. Matches reach
// back to out[0] and no further. It stops as full when pos has reached limit
// between two symbols; a limit of at most len(out)-fastOut therefore never ends
// as tooLong, and one above len(out) never as full.
func (f *inflater) run(out []byte, pos, limit int, in []byte, ip int) (int, int, status) {
	for {
		st := running
		switch f.phase {
		case atHeader:
			ip, st = f.header(in, ip)
		case inStored:
			pos, ip, st = f.copyStored(out, pos, limit, in, ip)
		case inCodes:
			lit, dist, widths := &f.lit, &f.dist, &f.widths
			if f.fixed {
				c := fixed()
				lit, dist, widths = &c.lit, &c.dist, &c.widths
			}
			pos, ip, st = f.fast(lit, dist, out, pos, in, ip)
			if st == running {
				pos, ip, st = f.careful(lit, dist, widths, out, pos, limit, in, ip)
			}
		}
		if st == blockEnd {
			if f.final {
				ip -= int(f.n >> 3) // whole bytes behind the stream are not ours
				f.bits, f.n = 0, 0
				return pos, ip, finished
			}
			f.phase, st = atHeader, running
		}
		if st != running {
			return pos, ip, st
		}
	}
}

// careful decodes symbols one at a time, checking everything the fast loop has
// checked ahead. It never ends as running.
func (f *inflater) careful(lit *litTable, dist *distTable, widths *[numLit]uint8,
	out []byte, pos, limit int, in []byte, ip int) (int, int, status) {
	for {
		if pos >= limit {
			return pos, ip, full
		}
		ip = f.fill(in, ip)
		e := lit[f.bits&(1<<litBits-1)]
		if e&(litCountMask|litOther|litEnd|litInvalid) == litOther {
			e = lit[(e>>subShift+uint32(f.bits>>litBits)&(e>>litSubMaskShift&15))&(litTableSize-1)]
		}
		drop := uint(e & dropMask)
		if e&litCountMask != 0 {
			sym := byte(e >> litShift)
			drop = uint(widths[sym]) // the entry may hold more literals
			if drop > f.n {
				return pos, ip, needInput
			}
			if pos >= len(out) {
				return pos, ip, tooLong
			}
			f.drop(drop)
			out[pos] = sym
			pos++
			continue
		}
		if drop > f.n {
			return pos, ip, needInput
		}
		if e&litOther != 0 {
			if e&litEnd == 0 {
				return pos, ip, f.corrupt(noLiteral)
			}
			f.drop(drop)
			return pos, ip, blockEnd
		}
		length := int(e>>lenBaseShift) + extra(f.bits, e, e>>lenWidthShift)

		// Length and distance are taken together or, lacking input, not at all.
		rest := f.bits >> drop
		e = dist[rest&(1<<distBits-1)]
		if e&(distOther|distInvalid) == distOther {
			e = dist[(e>>subShift+uint32(rest>>distBits)&(e>>distSubMaskShift&0xff))&(distTableSize-1)]
		}
		lengthDrop := drop
		drop += uint(e & dropMask)
		if drop > f.n {
			return pos, ip, needInput
		}
		if e&distOther != 0 {
			f.drop(lengthDrop) // errors are where the fast loop has them
			return pos, ip, f.corrupt(noDistance)
		}
		d := int(e>>distBaseShift) + extra(rest, e, e>>distWidthShift)
		if d > pos {
			f.drop(drop)
			return pos, ip, f.corrupt(farDistance)
		}
		if length > len(out)-pos {
			return pos, ip, tooLong
		}
		f.drop(drop)
		if d >= length {
			pos += copy(out[pos:pos+length], out[pos-d:])
			continue
		}
		for end := pos + length; pos < end; pos++ {
			out[pos] = out[pos-d]
		}
	}
}

// fill loads whole bytes until there are at least 56 bits or no input is left.
func (f *inflater) fill(in []byte, ip int) int {
	if len(in)-ip >= 8 {
		f.bits |= binary.LittleEndian.Uint64(in[ip:]) << (f.n & 63)
		ip += int((63 - f.n) >> 3)
		f.n |= 56
		f.bits &= 1<<f.n - 1
		return ip
	}
	for f.n < 56 && ip < len(in) {
		f.bits |= uint64(in[ip]) << f.n
		f.n += 8
		ip++
	}
	return ip
}

func (f *inflater) drop(n uint) {
	f.bits >>= n & 63
	f.n -= n
}

// copyStored copies what it can of a stored block.
func (f *inflater) copyStored(out []byte, pos, limit int, in []byte, ip int) (int, int, status) {
	if f.stored == 0 {
		return pos, ip, blockEnd
	}
	if pos >= limit {
		return pos, ip, full
	}
	n := copy(out[pos:], in[ip:min(len(in), ip+f.stored)])
	f.stored -= n
	pos, ip = pos+n, ip+n
	switch {
	case f.stored == 0:
		return pos, ip, blockEnd
	case ip == len(in):
		return pos, ip, needInput
	case pos >= limit:
		return pos, ip, full
	}
	return pos, ip, tooLong
}
