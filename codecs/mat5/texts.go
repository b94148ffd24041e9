package mat5

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
)

// units are the characters of an array of characters in order, as units of UTF-16.
func (o *open) units() ([]uint16, error) {
	src := o.bytes[o.real.at : o.real.at+o.real.n]
	damaged := func() error {
		return shardify.Corrupt(o.at+o.real.at, "%d bytes of type %d for %d characters", o.real.n, o.real.typ, o.count)
	}
	out := make([]uint16, 0, min(o.count, int64(len(src))))
	switch o.real.typ {
	case 1, 2, 3, 4, 17:
		r, w := newReader(o.real.typ, o.f.order), int(sizes[o.real.typ])
		for i := 0; i+w <= len(src); i += w {
			out = append(out, uint16(r.integer(src[i:])))
		}
	case 16:
		if !utf8.Valid(src) {
			return nil, shardify.Corrupt(o.at+o.real.at, "characters that are no UTF-8")
		}
		for _, c := range string(src) {
			out = utf16.AppendRune(out, c)
		}
	case 18:
		for i := 0; i+4 <= len(src); i += 4 {
			out = utf16.AppendRune(out, rune(o.f.order.Uint32(src[i:])))
		}
	default:
		return nil, damaged()
	}
	if int64(len(out)) != o.count {
		return nil, damaged()
	}
	return out, nil
}

// texts5 makes each row of characters a text in UTF-32, filled up with zeros.
func (o *open) texts5() ([]byte, error) {
	units, err := o.units()
	if err != nil {
		return nil, err
	}
	rows, cols := o.dims[0], o.dims[1]
	if o.count == 0 {
		return make([]byte, 4*max(cols, 1)), nil
	}
	out := make([]byte, 4*o.count)
	line := make([]uint16, cols)
	for r := range rows {
		for c := range cols {
			line[c] = units[r+c*rows]
		}
		putText(out[4*r*cols:4*(r+1)*cols], line)
	}
	return out, nil
}

func putText(dst []byte, units []uint16) {
	for i, c := range utf16.Decode(units) {
		binary.LittleEndian.PutUint32(dst[4*i:], uint32(c))
	}
}

// cellTexts makes an array of the texts of a cell.
func (o *open) cellTexts() ([]byte, error) {
	width := max(o.matrix.texts, 1)
	flat := make([]byte, 4*width*o.count)
	in := readat.New(bytes.NewReader(o.bytes), 0, int64(len(o.bytes)))
	if _, err := o.f.header(in); err != nil {
		return nil, err
	}
	for i := range o.count {
		sub, err := o.f.nested(in)
		if err != nil {
			return nil, err
		}
		m, err := o.f.matrix(sub, 1)
		if err != nil {
			return nil, err
		}
		x := &open{m, o.f, o.bytes, o.at}
		units, err := x.units()
		if err != nil {
			return nil, err
		}
		putText(flat[4*i*width:4*(i+1)*width], units)
		if err := rest(in, sub); err != nil {
			return nil, err
		}
	}
	out := make([]byte, len(flat))
	turnTexts(out, flat, o.dims, int(4*width))
	return out, nil
}

// turnTexts is turn for values of any width.
func turnTexts(dst, src []byte, dims []int64, width int) {
	index := make([]int64, len(dims))
	for from := 0; from < len(src); from += width {
		to := int64(0)
		for i, d := range dims {
			to = to*d + index[i]
		}
		copy(dst[to*int64(width):], src[from:from+width])
		for i := range index {
			if index[i]++; index[i] < dims[i] {
				break
			}
			index[i] = 0
		}
	}
}
