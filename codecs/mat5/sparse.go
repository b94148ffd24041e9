package mat5

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
)

// sparse makes a dense array of a sparse matrix, whose numbers are listed by columns.
func (o *open) sparse() ([]byte, error) {
	if len(o.dims) != 2 {
		return nil, shardify.Corrupt(o.at, "a sparse matrix of axes %v", o.dims)
	}
	rows, cols := o.dims[0], o.dims[1]
	for _, p := range []*part{&o.ir, &o.jc} {
		if sizes[p.typ] != 4 || p.typ == 7 {
			return nil, shardify.Corrupt(o.at+p.at, "the places of a sparse matrix are of type %d", p.typ)
		}
	}
	if o.jc.n != 4*(cols+1) {
		return nil, shardify.Corrupt(o.at+o.jc.at, "%d bytes where %d columns begin", o.jc.n, cols)
	}
	width := int64(8)
	if o.logical {
		width = 1
	} else if o.complex {
		width = 16
	}
	out := make([]byte, rows*cols*width)
	index, ends := o.bytes[o.ir.at:o.ir.at+o.ir.n], o.bytes[o.jc.at:o.jc.at+o.jc.n]
	if o.logical && o.real.n == o.ir.n/4 { // a byte each, whatever the type says
		o.real.typ = 2
	}
	real, imag := newReader(o.real.typ, o.f.order), newReader(o.imag.typ, o.f.order)
	at := int64(0)
	for c := range cols {
		end := int64(o.f.order.Uint32(ends[4*(c+1):]))
		if end < at || int64(o.f.order.Uint32(ends[4*c:])) != at || 4*end > o.ir.n || end*sizes[o.real.typ] > o.real.n || o.complex && end*sizes[o.imag.typ] > o.imag.n {
			return nil, shardify.Corrupt(o.at+o.jc.at+4*c, "column %d has the values %d to %d, and there are %d", c, at, end, o.ir.n/4)
		}
		for ; at < end; at++ {
			r := int64(o.f.order.Uint32(index[4*at:]))
			if r >= rows {
				return nil, shardify.Corrupt(o.at+o.ir.at+4*at, "row %d of %d", r, rows)
			}
			to := out[(r*cols+c)*width:]
			v := real.float(o.bytes[o.real.at+at*sizes[o.real.typ]:])
			switch {
			case o.logical && v != 0:
				to[0] = 1
			case o.logical:
			default:
				binary.LittleEndian.PutUint64(to, math.Float64bits(v))
			}
			if o.complex && !o.logical {
				binary.LittleEndian.PutUint64(to[8:], math.Float64bits(imag.float(o.bytes[o.imag.at+at*sizes[o.imag.typ]:])))
			}
		}
	}
	return out, nil
}

// dims4 are the dimensions of a sparse matrix of MATLAB 4, whose numbers begin at a byte. It is a list of rows and
// columns, counted from 1, and values in one column or two; the dimensions are the last of the list.
func (f *File) dims4(h *head4, at int64) ([]int64, error) {
	width := sizes[types4[h.typ]]
	if h.rows < 1 || h.cols != 3 && h.cols != 4 || h.complex || at+h.bytes() > f.size {
		return nil, shardify.Corrupt(at, "a sparse matrix as a list of %d x %d", h.rows, h.cols)
	}
	r, b, dims := newReader(types4[h.typ], h.order), make([]byte, width), make([]int64, 2)
	for i := range dims {
		place := at + (h.rows*int64(i+1)-1)*width
		if err := readat.Full(f.in, b, place); err != nil {
			return nil, err
		}
		n := r.float(b)
		if dims[i] = int64(n); n < 0 || n > 1<<31 || float64(dims[i]) != n {
			return nil, shardify.Corrupt(place, "a sparse matrix with a dimension of %v", n)
		}
	}
	return dims, nil
}

// sparse makes a dense array of the list of dims4. Values of one place are added.
func (h *head4) sparse(src []byte, v *Variable) ([]byte, error) {
	r, w := newReader(types4[h.typ], h.order), sizes[types4[h.typ]]
	parts := h.cols - 2
	out := make([]byte, v.dims[0]*v.dims[1]*parts*8)
	for i := range h.rows - 1 {
		row, col := r.float(src[i*w:]), r.float(src[(h.rows+i)*w:])
		if !(row >= 1 && row <= float64(v.dims[0]) && col >= 1 && col <= float64(v.dims[1])) || row != math.Trunc(row) || col != math.Trunc(col) {
			return nil, shardify.Corrupt(v.element.at+i*w, "row %v and column %v of a sparse matrix of %v", row, col, v.dims)
		}
		to := out[((int64(row)-1)*v.dims[1]+int64(col)-1)*parts*8:]
		for k := range parts {
			sum := math.Float64frombits(binary.LittleEndian.Uint64(to[8*k:])) + r.float(src[((2+k)*h.rows+i)*w:])
			binary.LittleEndian.PutUint64(to[8*k:], math.Float64bits(sum))
		}
	}
	return out, nil
}
