package npz

import (
	"fmt"

	"github.com/shardify/shardify"
)

// turning says where a slab has the values of rows. In dst they are in the order of (rows,
// dims...).
type turning struct {
	rows, size int // size: bytes of what is moved at once
	dims       []int64
	row        int   // from a row to the next in the slab, in values of size bytes
	steps      []int // the same along dims
}

// run takes tiles of rows that fit the cache, and in these planes of the first and the last
// axis.
func (t *turning) run(dst, src []byte) {
	if len(dst) == 0 {
		return
	}
	if len(src) != len(dst) || len(t.dims) == 0 {
		panic(fmt.Sprintf("npz: turning %d bytes into %d", len(src), len(dst)))
	}
	end := len(t.dims) - 1
	last, middle := int(t.dims[end]), t.dims[:end]
	planes := int(product(middle))
	rowBytes := planes * last * t.size
	tile := max(tileBytes/rowBytes, 16)
	index := make([]int, len(middle)) // of the current plane, first axis fastest
	for lo := 0; lo < t.rows; lo += tile {
		hi := min(lo+tile, t.rows)
		clear(index)
		for range planes {
			to, from := 0, 0 // of the plane in a row, and in src
			for k, i := range index {
				to = to*int(middle[k]) + i
				from += i * t.steps[k]
			}
			p := plane{
				dst: dst[to*last*t.size:], src: src[from*t.size:],
				dstRow: rowBytes, srcRow: t.row * t.size, srcCol: t.steps[end] * t.size, last: last,
			}
			p.turn(lo, hi, t.size)
			for k := range index {
				if index[k]++; index[k] < int(middle[k]) {
					break
				}
				index[k] = 0
			}
		}
	}
}

const (
	tileBytes = 64 << 10
	tileSide  = 16
)

// plane is a matrix of the first and the last axis: in dst a row is contiguous.
type plane struct {
	dst, src               []byte
	dstRow, srcRow, srcCol int // strides in bytes
	last                   int
}

// turn copies rows [lo, hi). Everything is a multiple of size, and both buffers
// begin aligned.
func (t *plane) turn(lo, hi, size int) {
	switch size {
	case 1:
		turnValues[uint8](t, lo, hi)
	case 2:
		turnValues[uint16](t, lo, hi)
	case 4:
		turnValues[uint32](t, lo, hi)
	case 8:
		turnValues[uint64](t, lo, hi)
	default:
		t.turnItems(lo, hi, size)
	}
}

func turnValues[T shardify.Number](t *plane, lo, hi int) {
	dst, src := shardify.View[T](t.dst), shardify.View[T](t.src)
	size := len(t.dst) / len(dst)
	row, from, col := t.dstRow/size, t.srcRow/size, t.srcCol/size
	for b := 0; b < t.last; b += tileSide {
		n := min(tileSide, t.last-b)
		values := src[b*col:]
		for a := lo; a < hi; a++ {
			d := dst[a*row+b:][:n]
			at := a * from
			for i := range d {
				d[i] = values[at]
				at += col
			}
		}
	}
}

// turnItems is for sizes that are no number's: structs, complex numbers.
func (t *plane) turnItems(lo, hi, size int) {
	for a := lo; a < hi; a++ {
		d := t.dst[a*t.dstRow:][:t.last*size]
		at := a * t.srcRow
		for i := 0; i < len(d); i += size {
			copy(d[i:i+size], t.src[at:])
			at += t.srcCol
		}
	}
}
