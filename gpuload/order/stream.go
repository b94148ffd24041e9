package order

import (
	"math"
	"math/bits"
)

// divisor divides by a constant with a multiplication: division instructions would
// take most of the time of finding a sample.
type divisor struct{ d, m uint64 }

func newDivisor(d int64) divisor { return divisor{uint64(d), math.MaxUint64 / uint64(d)} }

// div is x/d and x%d for x >= 0.
func (v divisor) div(x int64) (q, r int64) {
	hi, _ := bits.Mul64(uint64(x), v.m) // the quotient, or one or two less
	rest := uint64(x) - hi*v.d
	for rest >= v.d {
		hi, rest = hi+1, rest-v.d
	}
	return int64(hi), int64(rest)
}

// share is how n things fall to the i-th of k: [lo, lo+len), the first n mod k
// getting one more.
func share(n, k, i int64) (lo, length int64) {
	q, r := n/k, n%k
	length = q
	if i < r {
		length++
	}
	return i*q + min(i, r), length
}

// blocks is the order of a part's samples after its blocks are permuted: what
// the streams then divide.
type blocks struct {
	n, size int64
	by      divisor // size
	perm    perm
	// The last block may be shorter: it has length last, and takes the places
	// from at to at+last.
	at, last int64
	table    []uint32 // of perm, where a list of samples is wanted and it is short
}

// maxBlockTable is the most blocks whose order is written down: every sample of a
// list wants the place of its block.
const maxBlockTable = 1 << 16

// writeDown makes item faster, once for many.
func (b *blocks) writeDown() {
	if b.table != nil || b.perm.n > maxBlockTable {
		return
	}
	b.table = make([]uint32, b.perm.n)
	for j := range b.table {
		b.table[j] = uint32(b.perm.at(uint64(j)))
	}
}

// place is which block is at place j.
func (b *blocks) place(j int64) int64 {
	if b.table != nil {
		return int64(b.table[j])
	}
	return int64(b.perm.at(uint64(j)))
}

func newBlocks(n, size int64, key uint64) blocks {
	count := (n + size - 1) / size
	b := blocks{n: n, size: size, by: newDivisor(size), perm: newPerm(count, key), last: n - (count-1)*size}
	b.at = int64(b.perm.place(uint64(count-1))) * size
	return b
}

// item is the sample at place x, and how many places from x on hold the samples
// that follow it.
func (b *blocks) item(x int64) (item, run int64) {
	var j, i, length int64
	switch {
	case x < b.at:
		length = b.size
		j, i = b.by.div(x)
	case x < b.at+b.last:
		j, i, length = b.at/b.size, x-b.at, b.last
	default:
		length = b.size
		j, i = b.by.div(x - b.last)
		j++
	}
	return b.place(j)*b.size + i, length - i
}

// part is an input of the set, or the whole of it: n samples, numbered from base
// in the set.
type part struct {
	base, n int64
	number  uint64
}

// shape is the parameters of a Block shuffle.
type shape struct {
	streams int64
	window  int64 // samples of one window of one stream
	block   int64

	byStreams, byWindow divisor
}

func newShape(streams, window, block int64) shape {
	return shape{streams, window, min(block, window), newDivisor(streams), newDivisor(window)}
}

// windowAt is window k of a stream: size places of the part's blocks from lo on.
func (s *shape) windowAt(n, stream, k int64) (lo, size int64) {
	lo, length := share(n, s.streams, stream)
	return lo + k*s.window, min(s.window, length-k*s.window)
}
