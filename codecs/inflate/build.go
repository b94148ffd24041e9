package inflate

import "math/bits"

// builder turns code widths into tables. It holds scratch space only.
type builder struct {
	count  [maxCode + 1]int
	start  [maxCode + 2]int // start[w] is the first symbol of width w in sorted
	sorted [numLit]uint16   // symbols by width, then by value

	// Runs of literals by total width: those of width w begin at runs[runStart[w]],
	// and the first singles[w] of them are one literal. Different runs of one
	// width differ in their bits, so there are at most 2^w.
	runs     [1 << litBits]run
	runStart [litBits + 2]int
	singles  [litBits + 1]int
}

// run is an entry of one to three literals and the bits that lead to it.
type run struct {
	entry uint32
	code  uint32
}

// fit says how the widths of a code fill the space of codes.
type fit int

const (
	complete   fit = iota
	single         // one code of one bit
	empty          // no code at all
	incomplete     // bits remain that mean nothing
	overfull       // more codes than there is space for
)

// sort orders the symbols by width and reports whether the widths make a code.
func (b *builder) sort(widths []uint8) fit {
	clear(b.count[:])
	for _, w := range widths {
		b.count[w&maxCode]++
	}
	left, n := 1, 0
	for w := 1; w <= maxCode; w++ {
		left = left<<1 - b.count[w]
		if left < 0 {
			return overfull
		}
		b.start[w] = n
		n += b.count[w]
	}
	b.start[maxCode+1] = n
	next := b.start
	for s, w := range widths {
		if w != 0 {
			i := next[w&maxCode]
			b.sorted[i] = uint16(s)
			next[w&maxCode] = i + 1
		}
	}
	switch {
	case left == 0:
		return complete
	case n == 0:
		return empty
	case n == 1 && b.count[1] == 1:
		return single
	}
	return incomplete
}

// reverse returns the low w bits of code in the order in which they arrive.
func reverse(code uint32, w int) uint32 {
	return uint32(bits.Reverse16(uint16(code))) >> (16 - uint(w))
}

func litEntry(sym uint16, w int) uint32 {
	e := litSymbols[sym] + uint32(w)
	if sym > endSymbol && e&litOther == 0 {
		e |= uint32(w) << lenWidthShift
	}
	return e
}

func distEntry(sym uint16, w int) uint32 {
	e := distSymbols[sym] + uint32(w)
	if e&distOther == 0 {
		e |= uint32(w) << distWidthShift
	}
	return e
}

// buildLit fills t and returns "" or what is wrong with the widths.
//
// The primary table grows by doubling: once the entries of all codes up to
// width w are in its first 2^w places, it is copied behind itself, and each code
// of width w+1 then takes a single store. A run of literals that together fit
// the primary index counts as one code of their joint width.
func (b *builder) buildLit(t *litTable, widths []uint8) string {
	switch b.sort(widths) {
	case overfull:
		return "over-subscribed literal/length code"
	case incomplete:
		return "incomplete literal/length code"
	case empty, single:
		t[0], t[1] = litOther|litInvalid, litOther|litInvalid|1
		if b.start[maxCode+1] == 1 {
			t[0] = litEntry(b.sorted[0], 1)
		}
		double(t[:1<<litBits], 2)
		return ""
	}
	code, made := uint32(0), 0
	for w := 1; w <= litBits; w++ {
		size := 1 << w
		copy(t[size/2:size], t[:size/2])
		code <<= 1
		b.runStart[w] = made
		for _, sym := range b.sorted[b.start[w]:b.start[w+1]] {
			r, e := reverse(code, w), litEntry(sym, w)
			t[r] = e
			code++
			if sym < endSymbol && w < litBits {
				b.runs[made] = run{e, r}
				made++
			}
		}
		b.singles[w] = made - b.runStart[w]
		made = b.joinRuns(t, w, made)
		b.runStart[w+1] = made
	}
	b.buildSubTables(t[:], litBits, code, litEntry, litOther, litSubMaskShift)
	return ""
}

// joinRuns stores the runs of two and three literals whose joint width is w.
func (b *builder) joinRuns(t *litTable, w, made int) int {
	for first := 1; first < w; first++ {
		n := b.singles[first]
		if n == 0 {
			continue
		}
		rest := b.runs[b.runStart[w-first]:b.runStart[w-first+1]]
		for _, a := range b.runs[b.runStart[first]:][:n] {
			for _, r := range rest {
				if r.entry&litCountMask == litCountMask {
					continue
				}
				e := a.entry&(0xff<<litShift) | r.entry>>litShift<<(litShift+8) |
					(r.entry&litCountMask + oneLiteral) | uint32(w)
				c := a.code | r.code<<first
				t[c] = e
				if w < litBits {
					b.runs[made] = run{e, c}
					made++
				}
			}
		}
	}
	return made
}

// buildDist fills t and returns "" or what is wrong with the widths.
func (b *builder) buildDist(t *distTable, widths []uint8) string {
	switch b.sort(widths) {
	case overfull:
		return "over-subscribed distance code"
	case incomplete:
		return "incomplete distance code"
	case empty, single:
		t[0], t[1] = distOther|distInvalid, distOther|distInvalid|1
		if b.start[maxCode+1] == 1 {
			t[0] = distEntry(b.sorted[0], 1)
		}
		double(t[:1<<distBits], 2)
		return ""
	}
	code := uint32(0)
	for w := 1; w <= distBits; w++ {
		size := 1 << w
		copy(t[size/2:size], t[:size/2])
		code <<= 1
		for _, sym := range b.sorted[b.start[w]:b.start[w+1]] {
			t[reverse(code, w)] = distEntry(sym, w)
			code++
		}
	}
	b.buildSubTables(t[:], distBits, code, distEntry, distOther, distSubMaskShift)
	return ""
}

// double copies the first made entries of t until t is full.
func double(t []uint32, made int) {
	for ; made < len(t); made *= 2 {
		copy(t[made:], t[:made])
	}
}

// buildSubTables stores the codes wider than root, the first of which is code
// with the bits of width root.
func (b *builder) buildSubTables(t []uint32, root int, code uint32,
	entry func(uint16, int) uint32, other uint32, maskShift uint) {
	end := uint32(1) << root // of the part of t in use
	prefix := ^uint32(0)
	var sub []uint32
	for w := root + 1; w <= maxCode; w++ {
		code <<= 1
		for i, last := b.start[w], b.start[w+1]; i < last; i++ {
			r := reverse(code, w)
			if p := r & (1<<root - 1); p != prefix {
				prefix = p
				size := uint32(1) << b.subBits(root, w, last-i)
				sub = t[end : end+size]
				t[p] = other | (size-1)<<maskShift | end<<subShift
				end += size
			}
			e := entry(b.sorted[i], w)
			for j := int(r >> root); j < len(sub); j += 1 << (w - root) {
				sub[j] = e
			}
			code++
		}
	}
}

// subBits returns the depth of the subtree that begins with the first of n codes
// of width w: codes fill it in order until it is complete.
func (b *builder) subBits(root, w, n int) int {
	depth := w - root
	for left := 1<<depth - n; left > 0 && root+depth < maxCode; {
		depth++
		left = left<<1 - b.count[root+depth]
	}
	return depth
}
