package mat5

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
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
