// Package sketch compares sets of names by the smallest of their hashes, in bounded memory.
package sketch

import (
	"math"
	"slices"
)

// size is how many names of a set are compared.
const size = 1 << 10

// Sketch is a selection of names, the same one for all sets. The zero value is that of no names.
type Sketch struct {
	hashes []uint64 // the smallest
	full   bool
	last   uint64 // if full: they are all there up to this
}

func (o *Sketch) limit() uint64 {
	if o.full {
		return o.last
	}
	return math.MaxUint64
}

// Add takes in a name, by its hash.
func (o *Sketch) Add(hash uint64) {
	if hash > o.limit() {
		return
	}
	if o.hashes = append(o.hashes, hash); len(o.hashes) == 2*size {
		o.cut()
	}
}

// cut leaves the smallest hashes, in order.
func (o *Sketch) cut() {
	slices.Sort(o.hashes)
	if o.hashes = slices.Compact(o.hashes); len(o.hashes) > size {
		o.hashes = o.hashes[:size]
		o.full, o.last = true, o.hashes[size-1]
	}
}

// Shared counts the names that two sets have, and those that the smaller and the larger one have, as
// far as they are compared.
func (o *Sketch) Shared(p *Sketch) (both, fewer, more int) {
	o.cut()
	p.cut()
	limit := min(o.limit(), p.limit())
	upto := func(h []uint64) []uint64 {
		n, found := slices.BinarySearch(h, limit)
		if found {
			n++
		}
		return h[:n]
	}
	a, b := upto(o.hashes), upto(p.hashes)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return both, min(len(a), len(b)), max(len(a), len(b))
}
