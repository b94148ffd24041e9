package codecs

import "sync"

// lzmaState is the model of LZMA: the probabilities, of 2048, that a bit is 0. A
// tree of n bits uses entries 1 to 2^n-1, entry 1 being its first bit.
type lzmaState struct {
	match, rep0Long          [12][16]uint16
	rep, repG0, repG1, repG2 [12]uint16
	slot                     [4][64]uint16
	special                  [128]uint16
	align                    [16]uint16
	length, repLength        lzmaLength
	literal                  [16][0x300]uint16 // lc+lp is at most 4

	state      uint32 // what the last symbols were
	reps       [4]uint32
	lc, lp, pb uint32
}

type lzmaLength struct {
	choice, choice2 uint16
	low, mid        [16][8]uint16
	high            [256]uint16
}

var lzmaStates = sync.Pool{New: func() any { return new(lzmaState) }}

const lzmaHalf = 1024

// reset prepares for data that do not depend on what came before.
func (s *lzmaState) reset() {
	half := func(p []uint16) {
		for i := range p {
			p[i] = lzmaHalf
		}
	}
	for i := range 12 {
		half(s.match[i][:])
		half(s.rep0Long[i][:])
	}
	for _, p := range []*[12]uint16{&s.rep, &s.repG0, &s.repG1, &s.repG2} {
		half(p[:])
	}
	for i := range s.slot {
		half(s.slot[i][:])
	}
	half(s.special[:])
	half(s.align[:])
	for _, l := range []*lzmaLength{&s.length, &s.repLength} {
		l.choice, l.choice2 = lzmaHalf, lzmaHalf
		for i := range l.low {
			half(l.low[i][:])
			half(l.mid[i][:])
		}
		half(l.high[:])
	}
	for i := range s.literal[:1<<(s.lc+s.lp)] {
		half(s.literal[i][:])
	}
	s.state, s.reps = 0, [4]uint32{}
}

// setProps takes the byte that says how many bits choose among the models.
func (s *lzmaState) setProps(b byte) bool {
	if b >= 9*5*5 {
		return false
	}
	s.lc, s.lp, s.pb = uint32(b%9), uint32(b/9%5), uint32(b/45)
	return s.lc+s.lp <= 4
}

// rangeCoder is passed by value, to stay in registers. Behind the end of its input it reads zeros;
// at shows that afterwards.
type rangeCoder struct {
	width, code uint32
	at          int
}

// bit decodes one bit whose probability is *p.
func (r rangeCoder) bit(p *uint16, src []byte) (uint32, rangeCoder) {
	if r.width < 1<<24 {
		r = r.more(src)
	}
	q := uint32(*p)
	bound := r.width >> 11 * q
	if r.code < bound {
		r.width = bound
		*p = uint16(q + (2048-q)>>5)
		return 0, r
	}
	r.width -= bound
	r.code -= bound
	*p = uint16(q - q>>5)
	return 1, r
}

// more shifts in another byte.
func (r rangeCoder) more(src []byte) rangeCoder {
	r.width <<= 8
	r.code <<= 8
	if r.at < len(src) {
		r.code |= uint32(src[r.at])
	}
	r.at++
	return r
}

// tree decodes the bits of a tree, highest first. The bits of lengths, distances
// and literals are hard to predict, so it computes what depends on them: ones is
// all ones if the bit is 0.
func (r rangeCoder) tree(p []uint16, src []byte) (uint32, rangeCoder) {
	sym := uint32(1)
	for int(sym) < len(p) {
		if r.width < 1<<24 {
			r = r.more(src)
		}
		q := uint32(p[sym])
		bound := r.width >> 11 * q
		ones := uint32((int64(r.code) - int64(bound)) >> 63)
		r.width -= bound
		r.width += (bound - r.width) & ones
		r.code -= bound &^ ones
		p[sym] = uint16(int32(q) - int32(q+ones&lzmaZero)>>5)
		sym = sym<<1 + 1 + ones
	}
	return sym - uint32(len(p)), r
}

// lzmaZero makes (2048-q)>>5, with its sign turned, of what is q>>5 for a one.
const lzmaZero = 1<<32 - 2048 + 31

// reverse decodes n bits of a tree, lowest first; p[0] is its first entry.
func (r rangeCoder) reverse(p []uint16, n uint32, src []byte) (v uint32, _ rangeCoder) {
	sym := uint32(1)
	for i := range n {
		var b uint32
		b, r = r.bit(&p[sym-1], src)
		sym = sym<<1 | b
		v |= b << i
	}
	return v, r
}

// direct decodes n bits of equal chances.
func (r rangeCoder) direct(n uint32, src []byte) (v uint32, _ rangeCoder) {
	for range n {
		if r.width < 1<<24 {
			r = r.more(src)
		}
		r.width >>= 1
		r.code -= r.width
		ones := -(r.code >> 31)
		r.code += r.width & ones
		v = v<<1 + 1 + ones
	}
	return v, r
}

// matched decodes a literal, given the byte at the last distance.
func (r rangeCoder) matched(p *[0x300]uint16, match uint32, src []byte) (uint32, rangeCoder) {
	sym, offset := uint32(1), uint32(0x100)
	for sym < 0x100 {
		if r.width < 1<<24 {
			r = r.more(src)
		}
		match <<= 1
		m := match & offset
		i := offset + m + sym
		q := uint32(p[i])
		bound := r.width >> 11 * q
		ones := uint32((int64(r.code) - int64(bound)) >> 63)
		r.width -= bound
		r.width += (bound - r.width) & ones
		r.code -= bound &^ ones
		p[i] = uint16(int32(q) - int32(q+ones&lzmaZero)>>5)
		sym = sym<<1 + 1 + ones
		offset &= m ^ ones
	}
	return sym & 0xff, r
}

// len decodes a length.
func (r rangeCoder) len(l *lzmaLength, place uint32, src []byte) (n uint32, _ rangeCoder) {
	b, r := r.bit(&l.choice, src)
	if b == 0 {
		n, r = r.tree(l.low[place][:], src)
		return n + 2, r
	}
	if b, r = r.bit(&l.choice2, src); b == 0 {
		n, r = r.tree(l.mid[place][:], src)
		return n + 10, r
	}
	n, r = r.tree(l.high[:], src)
	return n + 18, r
}

// distance decodes the distance, less 1, of a match of length n.
func (r rangeCoder) distance(s *lzmaState, n uint32, src []byte) (uint32, rangeCoder) {
	slot, r := r.tree(s.slot[min(n-2, 3)][:], src)
	if slot < 4 {
		return slot, r
	}
	k := slot>>1 - 1
	d := (2 | slot&1) << k
	var v uint32
	if slot < 14 {
		v, r = r.reverse(s.special[d-slot:], k, src)
		return d + v, r
	}
	v, r = r.direct(k-4, src)
	d += v << 4
	v, r = r.reverse(s.align[:], 4, src)
	return d + v, r
}

// decode decodes src to dst[pos:end] and reports whether it is valid and ends where it should.
// Distances reach back to dst[base].
func (s *lzmaState) decode(dst []byte, base, pos, end int, src []byte) bool {
	if len(src) < 5 || src[0] != 0 {
		return false
	}
	r := rangeCoder{1<<32 - 1, uint32(src[1])<<24 | uint32(src[2])<<16 | uint32(src[3])<<8 | uint32(src[4]), 5}
	state, reps := s.state, s.reps
	placeMask, litMask := uint32(1)<<s.pb-1, uint32(1)<<s.lp-1
	for pos < end {
		if state >= 12 {
			return false // never; it spares bounds checks
		}
		since := uint32(pos - base)
		place := since & placeMask & 15
		var b, n uint32
		if b, r = r.bit(&s.match[state][place], src); b == 0 {
			last := uint32(0)
			if since > 0 {
				last = uint32(dst[pos-1])
			}
			p := &s.literal[(since&litMask<<s.lc|last>>(8-s.lc))&15]
			var c uint32
			switch {
			case state < 7:
				c, r = r.tree(p[:0x100], src)
			case reps[0] >= since:
				return false
			default:
				c, r = r.matched(p, uint32(dst[pos-1-int(reps[0])]), src)
			}
			dst[pos] = byte(c)
			pos++
			switch {
			case state < 4:
				state = 0
			case state < 10:
				state -= 3
			default:
				state -= 6
			}
			continue
		}
		later := uint32(0) // of the states: a literal came before
		if state >= 7 {
			later = 3
		}
		if b, r = r.bit(&s.rep[state], src); b == 0 {
			n, r = r.len(&s.length, place, src)
			reps[3], reps[2], reps[1] = reps[2], reps[1], reps[0]
			reps[0], r = r.distance(s, n, src)
			state = 7 + later
		} else {
			k := 0
			if b, r = r.bit(&s.repG0[state], src); b == 0 {
				if b, r = r.bit(&s.rep0Long[state][place], src); b == 0 {
					n = 1
				}
			} else if b, r = r.bit(&s.repG1[state], src); b == 0 {
				k = 1
			} else if b, r = r.bit(&s.repG2[state], src); b == 0 {
				k = 2
			} else {
				k = 3
			}
			d := reps[k]
			copy(reps[1:k+1], reps[:k])
			reps[0] = d
			if n == 0 {
				n, r = r.len(&s.repLength, place, src)
				state = 8
			} else {
				state = 9
			}
			if later != 0 {
				state = 11
			}
		}
		if reps[0] >= since || int(n) > end-pos {
			return false
		}
		repeat(dst, pos, int(reps[0])+1, int(n))
		pos += int(n)
	}
	s.state, s.reps = state, reps
	if r.width < 1<<24 {
		r = r.more(src)
	}
	return r.code == 0 && r.at == len(src)
}

// repeat copies n bytes to dst[pos:] from d bytes before.
func repeat(dst []byte, pos, d, n int) {
	if n < 16 {
		to, from := dst[pos:pos+n], dst[pos-d:]
		for i := range to {
			to[i] = from[i]
		}
		return
	}
	for from, end := pos-d, pos+n; pos < end; {
		pos += copy(dst[pos:end], dst[from:pos])
	}
}
