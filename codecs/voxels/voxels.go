// Package voxels has what is done to the values of arrays between a file and a batch: their bytes are swapped, they are
// scaled, and arrays whose first index is the fastest are turned.
package voxels

import (
	"encoding/binary"
	"slices"

	"github.com/shardify/shardify"
)

var le, be = binary.LittleEndian, binary.BigEndian

// Swap reverses the bytes of each unit.
func Swap(p []byte, width int) {
	if width > 1 {
		SwapTo(p, p, width)
	}
}

// SwapTo copies units and reverses the bytes of each. dst and src may be the same.
func SwapTo(dst, src []byte, width int) {
	n := len(src)
	switch width {
	case 0, 1:
		copy(dst, src)
	case 2:
		const low = 0x00ff00ff00ff00ff
		for i := 0; i+8 <= n; i += 8 {
			v := le.Uint64(src[i:])
			le.PutUint64(dst[i:], v>>8&low|v&low<<8)
		}
		for i := n &^ 7; i+2 <= n; i += 2 {
			le.PutUint16(dst[i:], be.Uint16(src[i:]))
		}
	case 4:
		for i := 0; i+4 <= n; i += 4 {
			le.PutUint32(dst[i:], be.Uint32(src[i:]))
		}
	case 8:
		for i := 0; i+8 <= n; i += 8 {
			le.PutUint64(dst[i:], be.Uint64(src[i:]))
		}
	default:
		copy(dst, src)
		for i := 0; i+width <= n; i += width {
			slices.Reverse(dst[i : i+width])
		}
	}
}

// Grow is b with n bytes, which are aligned as values are. What was in b is lost.
func Grow(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	return shardify.Bytes(make([]uint64, (n+7)/8))[:n]
}

// Place puts planes [from, from+n) along the last axis, in which the first index is the fastest, into an array
// in which the last one is. item is the bytes of a value.
func Place(dst, planes []byte, dims []int, item, from, n int) {
	plane := item
	for _, d := range dims[:len(dims)-1] {
		plane *= d
	}
	tile := Grow(nil, tilePlanes*tileSide*8)
	for at := 0; at < n; at += tilePlanes {
		some := min(tilePlanes, n-at)
		place(dst, planes[at*plane:(at+some)*plane], tile, dims, item, from+at, some)
	}
}

// A tile is turned at once: so many values of a line, of so many planes.
const (
	tileSide   = 64
	tilePlanes = 64
)

func place(dst, planes, tile []byte, dims []int, item, from, n int) {
	last := len(dims) - 1
	middle := 1 // lines of a plane
	for _, d := range dims[1:last] {
		middle *= d
	}
	b := blocks{first: dims[0], middle: middle, last: dims[last], from: from, n: n, item: item}
	index := make([]int, last) // of the line, in the order of the file
	for at := 0; at < b.first; at += tileSide {
		for m := range middle {
			to := 0
			for k := 1; k < last; k++ {
				to = to*dims[k] + index[k]
			}
			b.line(dst, planes, tile, m, to, at)
			for k := 1; k < last; k++ {
				if index[k]++; index[k] < dims[k] {
					break
				}
				index[k] = 0
			}
		}
	}
}

// blocks are the planes that are placed at once.
type blocks struct{ first, middle, last, from, n, item int }

// line places line m of each plane, which is line to of the array, from value at on, as far as a tile goes. The rows of a tile
// are followed line by line: so few places are written at a time that the processor expects the next ones.
func (b *blocks) line(dst, src, tile []byte, m, to, at int) {
	switch b.item {
	case 1:
		placeLine(b, dst, src, tile, m, to, at)
	case 2:
		placeLine(b, shardify.View[uint16](dst), shardify.View[uint16](src), shardify.View[uint16](tile), m, to, at)
	case 4:
		placeLine(b, shardify.View[uint32](dst), shardify.View[uint32](src), shardify.View[uint32](tile), m, to, at)
	case 8:
		placeLine(b, shardify.View[uint64](dst), shardify.View[uint64](src), shardify.View[uint64](tile), m, to, at)
	default:
		for i := at; i < min(b.first, at+tileSide); i++ {
			for k := range b.n {
				dest, of := (i*b.middle+to)*b.last+b.from+k, (k*b.middle+m)*b.first+i
				copy(dst[dest*b.item:(dest+1)*b.item], src[of*b.item:])
			}
		}
	}
}

// placeLine collects a tile first: lines of planes often have distances of powers of two, and would push each other out of the
// cache.
func placeLine[T shardify.Number](b *blocks, dst, src, tile []T, m, to, at int) {
	step, next := b.first*b.middle, b.middle*b.last
	side := min(tileSide, b.first-at)
	for k := range b.n {
		copy(tile[k*tileSide:], src[k*step+m*b.first+at:][:side])
	}
	d := dst[(at*b.middle+to)*b.last+b.from:]
	i := words(d, tile, b.item, next, b.n, side)
	for ; i+4 <= side; i += 4 {
		d0, d1, d2, d3 := d[i*next:][:b.n], d[(i+1)*next:][:b.n], d[(i+2)*next:][:b.n], d[(i+3)*next:][:b.n]
		for k := range d0 {
			t := tile[k*tileSide+i:][:4]
			d0[k], d1[k], d2[k], d3[k] = t[0], t[1], t[2], t[3]
		}
	}
	for ; i < side; i++ {
		row := d[i*next:][:b.n]
		for k := range row {
			row[k] = tile[k*tileSide+i]
		}
	}
}
