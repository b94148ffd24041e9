package mat5

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/codecs/voxels"
)

// open is a matrix whose bytes are in memory.
type open struct {
	*matrix
	f     *File
	bytes []byte
	at    int64 // of the bytes in the file, for errors
}

func (f *File) open(v *Variable) (*open, error) {
	b, err := f.load(&v.element)
	if err != nil {
		return nil, err
	}
	in := readat.New(bytes.NewReader(b), 0, int64(len(b)))
	m, err := f.matrix(in, 0)
	if err != nil {
		return nil, shardify.Amend(err, func(e *shardify.Error) {
			if e.Offset >= 0 {
				e.Offset += v.element.at + v.element.inner
			}
		})
	}
	return &open{m, f, b, v.element.at}, nil
}

// Values are the values of a variable, little-endian, the last index the fastest.
func (f *File) Values(v *Variable) ([]byte, error) {
	if v.Err != nil {
		return nil, v.Err
	}
	if v.version == 4 {
		return f.values4(v)
	}
	o, err := f.open(v)
	if err != nil {
		return nil, err
	}
	switch o.class {
	case classChar:
		return o.texts5()
	case classCell:
		return o.cellTexts()
	case classSparse:
		return o.sparse()
	}
	width := widthOf(v.NumPy)
	parts := 1
	if o.complex && !o.logical {
		parts, width = 2, width/2
	}
	if err := o.check(o.count); err != nil {
		return nil, err
	}
	each := int(o.count) * width
	stored := voxels.Grow(nil, each*parts)
	for k, p := range []*part{&o.real, &o.imag}[:parts] {
		if err := o.convert(stored[k*each:(k+1)*each], p, v.NumPy); err != nil {
			return nil, err
		}
	}
	return rows(stored, o.dims, width, parts), nil
}

// widthOf is the bytes of a value of a type as NumPy writes it.
func widthOf(numpy string) int {
	n := 0
	for _, c := range numpy[2:] {
		n = n*10 + int(c-'0')
	}
	if numpy[1] == 'U' {
		n *= 4
	}
	return n
}

// check refuses numbers that are not as many as the axes say.
func (o *open) check(count int64) error {
	for _, p := range []*part{&o.real, &o.imag} {
		if p.typ == 0 {
			continue
		}
		if have := p.n / sizes[p.typ]; have*sizes[p.typ] != p.n || have != count {
			return shardify.Corrupt(o.at+p.at, "%d bytes of type %d for %d numbers", p.n, p.typ, count)
		}
	}
	return nil
}

// convert makes numbers of the class of those that are stored, which may be narrower.
func (o *open) convert(dst []byte, p *part, numpy string) error {
	src := o.bytes[p.at : p.at+p.n]
	kind, width := numpy[1], widthOf(numpy)
	if kind == 'c' {
		kind, width = 'f', width/2
	}
	w := int(sizes[p.typ])
	float := p.typ == 7 || p.typ == 9
	if w == width && (float == (kind == 'f')) && kind != 'b' {
		copy(dst, src)
		if o.f.order == binary.BigEndian {
			voxels.Swap(dst, w)
		}
		return nil
	}
	n := newReader(p.typ, o.f.order)
	switch {
	case kind == 'b':
		for i := range dst {
			if n.float(src[i*w:]) != 0 {
				dst[i] = 1
			} else {
				dst[i] = 0
			}
		}
	case kind == 'f' && width == 8:
		for i := range len(dst) / 8 {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(n.float(src[i*w:])))
		}
	case kind == 'f':
		for i := range len(dst) / 4 {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(n.float(src[i*w:]))))
		}
	default:
		return n.whole(dst, src, kind == 'u', width, o.at+p.at)
	}
	return nil
}

// reader reads stored numbers one by one.
type reader struct {
	typ   uint32
	order binary.ByteOrder
}

func newReader(typ uint32, order binary.ByteOrder) reader { return reader{typ, order} }

// integer is a stored whole number; those of u64 keep their bits.
func (r reader) integer(b []byte) int64 {
	switch r.typ {
	case 1:
		return int64(int8(b[0]))
	case 2, 16:
		return int64(b[0])
	case 3:
		return int64(int16(r.order.Uint16(b)))
	case 4, 17:
		return int64(r.order.Uint16(b))
	case 5:
		return int64(int32(r.order.Uint32(b)))
	case 6, 18:
		return int64(r.order.Uint32(b))
	}
	return int64(r.order.Uint64(b))
}

func (r reader) float(b []byte) float64 {
	switch r.typ {
	case 7:
		return float64(math.Float32frombits(r.order.Uint32(b)))
	case 9:
		return math.Float64frombits(r.order.Uint64(b))
	case 13:
		return float64(r.order.Uint64(b))
	}
	return float64(r.integer(b))
}

// whole makes whole numbers of a width of others; those that do not fit are damage.
func (r reader) whole(dst, src []byte, unsigned bool, width int, at int64) error {
	w := int(sizes[r.typ])
	low, high := -1<<(8*width-1), 1<<(8*width-1)-1
	if unsigned {
		low, high = 0, 1<<(8*width)-1
	}
	for i := range len(dst) / width {
		var v int64
		if r.typ == 7 || r.typ == 9 {
			f := r.float(src[i*w:])
			if v = int64(f); float64(v) != f {
				return shardify.Corrupt(at+int64(i*w), "%v is no whole number", f)
			}
		} else {
			v = r.integer(src[i*w:])
		}
		if width < 8 && (v < int64(low) || v > int64(high)) || width == 8 && v < 0 && (unsigned != (r.typ == 13)) {
			return shardify.Corrupt(at+int64(i*w), "%d does not fit in the class of its variable", v)
		}
		switch width {
		case 1:
			dst[i] = byte(v)
		case 2:
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v))
		case 4:
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
		default:
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(v))
		}
	}
	return nil
}

// rows makes an array whose first index is the fastest one whose last is: values of width bytes. Where there are parts, all
// values of the first part come before those of the second, and become pairs.
func rows(src []byte, dims []int64, width, parts int) []byte {
	if parts > 1 {
		pairs, half := voxels.Grow(nil, len(src)), len(src)/2
		for i := 0; i < half; i += width {
			copy(pairs[2*i:], src[i:i+width])
			copy(pairs[2*i+width:], src[half+i:half+i+width])
		}
		src = pairs
	}
	var long []int
	for _, d := range dims {
		if d != 1 {
			long = append(long, int(d))
		}
	}
	if len(long) < 2 || len(src) == 0 {
		return src
	}
	out := voxels.Grow(nil, len(src))
	voxels.Place(out, src, long, width*parts, 0, long[len(long)-1])
	return out
}
