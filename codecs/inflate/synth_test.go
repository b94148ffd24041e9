package inflate

import (
	"math/rand/v2"
)

// bitWriter packs bits, first lowest.
type bitWriter struct {
	p   []byte
	acc uint64
	n   uint
}

func (w *bitWriter) bits(v uint64, n uint) {
	w.acc |= v << w.n
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.p = append(w.p, byte(w.acc))
		w.acc >>= 8
	}
}

func (w *bitWriter) align() {
	if w.n > 0 {
		w.bits(0, 8-w.n)
	}
}

// code writes symbol s of the canonical code with these widths.
func (w *bitWriter) code(widths []uint8, s int) {
	c := 0
	for i, x := range widths {
		if x != 0 && (x < widths[s] || x == widths[s] && i < s) {
			c += 1 << (widths[s] - x)
		}
	}
	w.bits(uint64(reverse(uint32(c), int(widths[s]))), uint(widths[s]))
}

// randomCode makes a complete code of some of n symbols, must among them, by
// splitting codes from the one of width 0.
func randomCode(r *rand.Rand, n, must, limit int) []uint8 {
	leaves := []uint8{0}
	deep := r.IntN(3) == 0
	for want := 2 + r.IntN(n-1); len(leaves) < want; {
		i := r.IntN(len(leaves))
		if deep {
			i = len(leaves) - 1
		}
		if int(leaves[i]) >= limit {
			deep = false
			if r.IntN(50) == 0 {
				break
			}
			continue
		}
		leaves[i]++
		leaves = append(leaves, leaves[i])
	}
	widths := make([]uint8, n)
	at := r.Perm(n)
	for i, w := range leaves {
		widths[at[i]] = w
	}
	if widths[must] == 0 {
		widths[must], widths[at[0]] = widths[at[0]], 0
	}
	return widths
}

// randomStream makes a valid deflate stream of random blocks: codes of every
// shape, matches of every length and distance.
func randomStream(r *rand.Rand, symbols int) []byte {
	var w bitWriter
	size := 0
	for blocks := 1 + r.IntN(4); blocks > 0; blocks-- {
		final := uint64(0)
		if blocks == 1 {
			final = 1
		}
		w.bits(final, 1)
		switch r.IntN(6) {
		case 0:
			n := r.IntN(300)
			w.bits(0, 2)
			w.align()
			w.bits(uint64(n), 16)
			w.bits(uint64(^uint16(n)), 16)
			for range n {
				w.bits(uint64(r.IntN(256)), 8)
			}
			size += n
		case 1:
			w.bits(1, 2)
			lit := fixed().widths[:]
			dist := make([]uint8, 30, 32)
			for i := range dist {
				dist[i] = 5
			}
			size = w.symbols(r, lit[:286], lit, dist[:30], dist, size, symbols)
		default:
			w.bits(2, 2)
			lit := randomCode(r, 257+r.IntN(30), endSymbol, 15)
			dist := randomCode(r, 2+r.IntN(29), 0, 15)
			if r.IntN(8) == 0 {
				clear(dist)
				dist[r.IntN(len(dist))] = 1
			} else if r.IntN(8) == 0 {
				clear(dist)
			}
			w.widths(r, lit, dist)
			size = w.symbols(r, lit, lit, dist, dist, size, symbols)
		}
	}
	w.align()
	return w.p
}

// byteStream is a block whose code has eight bits for most literals, as for bytes that
// hardly compress: 226 of 8 bits and 60 symbols of 9.
func byteStream(r *rand.Rand, symbols int) []byte {
	lit := make([]uint8, 286)
	for s := range lit {
		lit[s] = 9
		if s < 226 {
			lit[s] = 8
		}
	}
	dist := randomCode(r, 30, 0, 15)
	var w bitWriter
	w.bits(1, 1)
	w.bits(2, 2)
	w.widths(r, lit, dist)
	w.symbols(r, lit, lit, dist, dist, 0, symbols)
	w.align()
	return w.p
}

// widths writes the header of a dynamic block, with a code for the widths in
// which 13 symbols have four bits and six have five.
func (w *bitWriter) widths(r *rand.Rand, lit, dist []uint8) {
	w.bits(uint64(len(lit)-257), 5)
	w.bits(uint64(len(dist)-1), 5)
	w.bits(15, 4)
	code := make([]uint8, 19)
	for i := range code {
		code[i] = 4
		if i >= 13 {
			code[i] = 5
		}
	}
	for _, s := range widthOrder {
		w.bits(uint64(code[s]), 3)
	}
	all := append(append([]uint8{}, lit...), dist...)
	for i := 0; i < len(all); {
		run := 1
		for i+run < len(all) && all[i+run] == all[i] {
			run++
		}
		switch {
		case all[i] == 0 && run >= 11 && r.IntN(4) > 0:
			run = min(run, 138)
			w.code(code, 18)
			w.bits(uint64(run-11), 7)
		case all[i] == 0 && run >= 3 && r.IntN(4) > 0:
			run = min(run, 10)
			w.code(code, 17)
			w.bits(uint64(run-3), 3)
		case i > 0 && all[i] == all[i-1] && run >= 3 && r.IntN(4) > 0:
			run = min(run, 6)
			w.code(code, 16)
			w.bits(uint64(run-3), 2)
		default:
			run = 1
			w.code(code, int(all[i]))
		}
		i += run
	}
}

// symbols writes up to n symbols of the given codes and the end of the block.
// The full codes are those that give the bits, the others those to choose from.
// It returns the decoded size.
func (w *bitWriter) symbols(r *rand.Rand, lit, litFull, dist, distFull []uint8, size, n int) int {
	matches := r.IntN(4)
	for range r.IntN(n + 1) {
		s := r.IntN(len(lit))
		if r.IntN(4) < matches && len(lit) > 257 {
			s = 257 + r.IntN(len(lit)-257)
		}
		if lit[s] == 0 || s == endSymbol {
			continue
		}
		if s < endSymbol {
			w.code(litFull, s)
			size++
			continue
		}
		d := r.IntN(len(dist))
		e := distSymbols[d]
		if dist[d] == 0 || int(e>>distBaseShift) > size {
			continue
		}
		extra := uint64(e & dropMask)
		more := r.Uint64N(1 << extra)
		if int(e>>distBaseShift)+int(more) > size {
			more = 0
		}
		w.code(litFull, s)
		le := litSymbols[s]
		lenMore := r.Uint64N(1 << (le & dropMask))
		w.bits(lenMore, uint(le&dropMask))
		w.code(distFull, d)
		w.bits(more, uint(extra))
		size += int(le>>lenBaseShift) + int(lenMore)
	}
	w.code(litFull, endSymbol)
	return size
}
