package npz

import (
	"fmt"

	"github.com/shardify/shardify"
)

// An array in Fortran order stands in the file with its axes reversed: for every
// index of the inner dimensions (a column here), the values of all rows. Rows
// are made from a slab of columns, [inner][rows], all axes reversed back.

// gapBytes is what is rather read along than skipped by a read of its own.
const gapBytes = 4 << 10

// scattered reads the rows [lo, hi) of each column.
func (j *job) scattered(c int, r *region, lo, hi int64, out []output) error {
	if lo == 0 && r.flags&hasSum != 0 && hi < r.rows && !j.file.whole[c] {
		if err := j.sumWhole(r); err != nil {
			return err
		}
		j.file.whole[c] = true
	}
	src := &inPlace{ctx: j.ctx, f: j.file.f, pos: r.off + int64(r.head)}
	if lo == 0 && hi == r.rows {
		src.sum, src.sums = r.headSum, r.flags&hasSum != 0
		if err := j.turnWhole(src, r, lo, hi, out); err != nil {
			return err
		}
		if src.sums && src.sum != r.crc {
			return badSum(src.sum, r.crc)
		}
		return nil
	}
	size := int64(r.item.size)
	slab := j.mem.Alloc(int((hi - lo) * r.rowBytes))
	piece, stride := (hi-lo)*size, r.rows*size
	src.pos += lo * size
	if stride-piece <= gapBytes && piece < chunkBytes/2 {
		return j.sieve(src, slab, piece, stride, r, hi-lo, out)
	}
	for at := int64(0); at < int64(len(slab)); at += piece {
		if err := src.fill(slab[at : at+piece]); err != nil {
			return err
		}
		src.pos += stride - piece
	}
	return j.turn(slab, r, hi-lo, out)
}

// sieve reads pieces that stand close together with what is between them.
func (j *job) sieve(src *inPlace, slab []byte, piece, stride int64, r *region, rows int64, out []output) error {
	buf := j.buffer(0)
	for to := int64(0); to < int64(len(slab)); {
		n := min((int64(len(buf))-piece)/stride+1, (int64(len(slab))-to)/piece)
		if err := src.fill(buf[:(n-1)*stride+piece]); err != nil {
			return err
		}
		src.pos += stride - piece
		for k := range n {
			to += int64(copy(slab[to:to+piece], buf[k*stride:]))
		}
	}
	return j.turn(slab, r, rows, out)
}

// sumWhole checks the CRC of an array that is read in scattered pieces.
func (j *job) sumWhole(r *region) error {
	src := &inPlace{ctx: j.ctx, f: j.file.f, pos: r.off + int64(r.head), sum: r.headSum, sums: true}
	buf := j.buffer(0)
	for left := r.rows * r.rowBytes; left > 0; {
		p := buf[:min(left, int64(len(buf)))]
		if err := src.fill(p); err != nil {
			return err
		}
		left -= int64(len(p))
	}
	if src.sum != r.crc {
		return badSum(src.sum, r.crc)
	}
	return nil
}

// turnWhole reads all columns and makes rows [lo, hi).
func (j *job) turnWhole(src feed, r *region, lo, hi int64, out []output) error {
	slab := j.mem.Alloc(int(r.rows * r.rowBytes))
	if err := src.fill(slab); err != nil {
		return err
	}
	size := int64(r.item.size)
	if piece, stride := (hi-lo)*size, r.rows*size; piece < stride { // somebody cut the span
		n := 0
		for at := lo * size; at < int64(len(slab)); at += stride {
			n += copy(slab[n:], slab[at:at+piece])
		}
		slab = slab[:n]
	}
	return j.turn(slab, r, hi-lo, out)
}

// turn makes rows of a slab and converts them.
func (j *job) turn(slab []byte, r *region, rows int64, out []output) error {
	if r.item.plain() {
		reverseAxes(out[0].data, slab, int(rows), r.inner, r.item.size)
		out[0].leaf.scalar.repair(out[0].data)
		out[0].pos = len(out[0].data)
		return nil
	}
	turned := j.mem.Alloc(len(slab))
	reverseAxes(turned, slab, int(rows), r.inner, r.item.size)
	return takeItems(out, turned, r.item.size, rows*r.perRow)
}

// reverseAxes copies src of shape reverse(rows, inner...) to dst of shape
// (rows, inner...). It goes by tiles of rows that fit the cache, and in these
// by planes of the first and the last axis, which are contiguous in src and in
// dst.
func reverseAxes(dst, src []byte, rows int, inner []int64, size int) {
	if len(dst) == 0 {
		return
	}
	if len(src) != len(dst) || len(inner) == 0 {
		panic(fmt.Sprintf("npz: reverseAxes of %d bytes to %d", len(src), len(dst)))
	}
	last := int(inner[len(inner)-1])
	middle := inner[:len(inner)-1]
	planes := 1
	for _, d := range middle {
		planes *= int(d)
	}
	rowBytes := planes * last * size
	tile := max(tileBytes/rowBytes, 16)
	index := make([]int, len(middle)) // of the current plane, first axis fastest
	for lo := 0; lo < rows; lo += tile {
		hi := min(lo+tile, rows)
		clear(index)
		for p := range planes {
			to := 0 // of the plane in a row
			for k, i := range index {
				to = to*int(middle[k]) + i
			}
			t := plane{
				dst: dst[to*last*size:], src: src[p*rows*size:],
				dstRow: rowBytes, srcCol: planes * rows * size, last: last,
			}
			t.turn(lo, hi, size)
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

// plane is a matrix of the first and the last axis: in dst a row is contiguous,
// in src a column.
type plane struct {
	dst, src       []byte
	dstRow, srcCol int // strides in bytes
	last           int
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
	row, col := t.dstRow/size, t.srcCol/size
	for b := 0; b < t.last; b += tileSide {
		n := min(tileSide, t.last-b)
		from := src[b*col:]
		for a := lo; a < hi; a++ {
			d := dst[a*row+b:][:n]
			at := a
			for i := range d {
				d[i] = from[at]
				at += col
			}
		}
	}
}

// turnItems is for sizes that are no number's: structs, complex numbers.
func (t *plane) turnItems(lo, hi, size int) {
	for a := lo; a < hi; a++ {
		d := t.dst[a*t.dstRow:][:t.last*size]
		at := a * size
		for i := 0; i < len(d); i += size {
			copy(d[i:i+size], t.src[at:])
			at += t.srcCol
		}
	}
}

var _ shardify.Reader = (*reader)(nil)
