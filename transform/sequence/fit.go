package sequence

import "math/bits"

// fitter puts pieces into bins of one length, by best fit, the longest piece first: each goes into
// the bin with the least room that is enough for it, and into a new one if no bin has enough. Of
// pieces of one length the first comes first; of bins with the same room the one that has had it
// for the longest time is taken. The time is proportional to the number of pieces, whatever the
// length.
type fitter struct {
	head, tail []int32 // bins by their room, in a queue each
	some       bitTree // rooms with a queue that is not empty
	next       []int32 // by bin: the one behind it
	order      []int32 // pieces, the longest first
	count      []int32
	bin        []int32 // by piece
	name       []int32 // by bin: its number in the order of first pieces
	start      []int32 // by number: where its pieces begin in list
	list       []int32
}

const nobody = -1

// sized is a slice of n entries, s if it is large enough.
func sized(s []int32, n int) []int32 {
	if cap(s) < n {
		return make([]int32, n, max(n, min(2*cap(s), Window+1)))
	}
	return s[:n]
}

// fit packs pieces of these lengths, each from 1 to length-1. pieces(k) of what it leaves are the
// pieces of sequence k, in their order; the sequences are in the order of their first pieces.
func (f *fitter) fit(lens []int32, length int) (bins int) {
	n := len(lens)
	if f.head == nil {
		f.head, f.tail, f.count = make([]int32, length), make([]int32, length), make([]int32, length+1)
		f.some = newBitTree(length)
	}
	for i := range f.head {
		f.head[i], f.tail[i] = nobody, nobody
	}
	f.some.reset()
	f.next, f.bin, f.name, f.start, f.list = sized(f.next, n), sized(f.bin, n), sized(f.name, n), sized(f.start, n+1), sized(f.list, n)
	f.longestFirst(lens)
	for _, i := range f.order {
		room := f.some.next(int(lens[i]))
		b := int32(bins)
		if room == nobody {
			room = length
			bins++
		} else {
			b = f.take(room)
		}
		f.bin[i] = b
		if room -= int(lens[i]); room > 0 {
			f.put(b, room)
		}
	}
	f.number(bins)
	return bins
}

// longestFirst sorts by length; those of one length stay in their order.
func (f *fitter) longestFirst(lens []int32) {
	f.order = sized(f.order, len(lens))
	clear(f.count)
	for _, n := range lens {
		f.count[n]++
	}
	at := int32(0)
	for n := len(f.count) - 1; n >= 0; n-- {
		at, f.count[n] = at+f.count[n], at
	}
	for i, n := range lens {
		f.order[f.count[n]] = int32(i)
		f.count[n]++
	}
}

// take removes the bin that has had so much room for the longest time.
func (f *fitter) take(room int) int32 {
	b := f.head[room]
	f.head[room] = f.next[b]
	if f.head[room] == nobody {
		f.tail[room] = nobody
		f.some.clear(room)
	}
	return b
}

func (f *fitter) put(b int32, room int) {
	f.next[b] = nobody
	if t := f.tail[room]; t == nobody {
		f.head[room] = b
		f.some.set(room)
	} else {
		f.next[t] = b
	}
	f.tail[room] = b
}

// number puts bins in the order of their first pieces, and lists the pieces of each.
func (f *fitter) number(bins int) {
	for b := range bins {
		f.name[b] = nobody
	}
	clear(f.start[:bins+1])
	named := int32(0)
	for i, b := range f.bin {
		if f.name[b] == nobody {
			f.name[b] = named
			named++
		}
		f.bin[i] = f.name[b]
		f.start[f.bin[i]+1]++
	}
	for k := range bins {
		f.start[k+1] += f.start[k]
	}
	at := f.name[:bins] // not needed any more
	copy(at, f.start)
	for i, k := range f.bin {
		f.list[at[k]] = int32(i)
		at[k]++
	}
}

func (f *fitter) pieces(k int) []int32 { return f.list[f.start[k]:f.start[k+1]] }

// bitTree is a set of small numbers that finds the next member in a few steps.
type bitTree [][]uint64

func newBitTree(n int) (t bitTree) {
	for {
		n = (n + 63) / 64
		t = append(t, make([]uint64, n))
		if n <= 1 {
			return t
		}
	}
}

func (t bitTree) reset() {
	for _, words := range t {
		clear(words)
	}
}

func (t bitTree) set(i int) {
	for _, words := range t {
		words[i>>6] |= 1 << (i & 63)
		i >>= 6
	}
}

func (t bitTree) clear(i int) {
	for _, words := range t {
		words[i>>6] &^= 1 << (i & 63)
		if words[i>>6] != 0 {
			return
		}
		i >>= 6
	}
}

// next returns the smallest member from i on; the constant nobody if all are smaller.
func (t bitTree) next(i int) int {
	for l := 0; l < len(t) && i>>6 < len(t[l]); l++ {
		if w := t[l][i>>6] >> (i & 63); w != 0 {
			i += bits.TrailingZeros64(w)
			for ; l > 0; l-- {
				i = i<<6 + bits.TrailingZeros64(t[l-1][i])
			}
			return i
		}
		i = i>>6 + 1
	}
	return nobody
}
