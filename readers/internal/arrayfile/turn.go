package arrayfile

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

var le, be = binary.LittleEndian, binary.BigEndian

// turned are the axes of a sample whose first index is the fastest in the file, without those of
// length 1; nil where their order makes no difference.
func (a *Array) turned() (dims []int) {
	if !a.Turn {
		return nil
	}
	for _, d := range a.Shape[:len(a.Shape)-a.Inner] {
		if d == 0 {
			return nil
		}
		if d != 1 {
			dims = append(dims, d)
		}
	}
	if len(dims) < 2 {
		return nil
	}
	return dims
}

const (
	turnBytes = 8 << 20 // of an array are read before they are turned
	turnItems = 64      // of the last axis that are turned together
)

// turn reads a sample plane by plane along its last axis, which is the slowest in the file, and
// puts several planes at once where they belong.
func (w *worker) turn(src *feed, a *Array, dims []int, dst []byte) error {
	last := dims[len(dims)-1]
	item := len(dst)
	for _, d := range dims {
		item /= d
	}
	plane := len(dst) / last
	each := min(max(turnBytes/plane, 1), turnItems, last)
	w.out = grow(w.out, each*plane)
	for from := 0; from < last; from += each {
		n := min(each, last-from)
		out := w.out[:n*plane]
		if err := w.straight(src, a, out); err != nil {
			return err
		}
		place(dst, out, dims, item, from, n)
	}
	return nil
}

// place puts planes [from, from+n) along the last axis into an array.
func place(dst, planes []byte, dims []int, item, from, n int) {
	last := len(dims) - 1
	middle := 1 // lines of a plane
	for _, d := range dims[1:last] {
		middle *= d
	}
	b := blocks{first: dims[0], middle: middle, last: dims[last], from: from, n: n, item: item}
	index := make([]int, last) // of the line, in the order of the file
	for m := range middle {
		to := 0
		for k := 1; k < last; k++ {
			to = to*dims[k] + index[k]
		}
		b.line(dst, planes, m, to)
		for k := 1; k < last; k++ {
			if index[k]++; index[k] < dims[k] {
				break
			}
			index[k] = 0
		}
	}
}

// blocks are the planes that are placed at once.
type blocks struct{ first, middle, last, from, n, item int }

// line places line m of each plane, which is line to of the array.
func (b *blocks) line(dst, src []byte, m, to int) {
	switch b.item {
	case 1:
		placeLine[uint8](b, dst, src, m, to)
	case 2:
		placeLine[uint16](b, shardify.View[uint16](dst), shardify.View[uint16](src), m, to)
	case 4:
		placeLine[uint32](b, shardify.View[uint32](dst), shardify.View[uint32](src), m, to)
	case 8:
		placeLine[uint64](b, shardify.View[uint64](dst), shardify.View[uint64](src), m, to)
	default:
		for i := range b.first {
			for k := range b.n {
				at, of := (i*b.middle+to)*b.last+b.from+k, (k*b.middle+m)*b.first+i
				copy(dst[at*b.item:(at+1)*b.item], src[of*b.item:])
			}
		}
	}
}

func placeLine[T shardify.Number](b *blocks, dst, src []T, m, to int) {
	step := b.first * b.middle
	for i := range b.first {
		d := dst[(i*b.middle+to)*b.last+b.from:][:b.n]
		at := m*b.first + i
		for k := range d {
			d[k] = src[at]
			at += step
		}
	}
}
