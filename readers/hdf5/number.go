package hdf5

import (
	"math"

	"github.com/shardify/shardify"
)

// number is how one number stands in a file: formats of the usual sizes, and
// the odd ones that HDF5 can describe, bit by bit.
type number struct {
	size      int // bytes
	big       bool
	offset    int // of the lowest bit that counts
	precision int // bits that count
	signed    bool
	truth     bool // FALSE and TRUE
	moment    bool // PyTables' time: microseconds, then seconds
	float     *floatForm
	dtype     shardify.DType // what it becomes
}

// floatForm is where the parts of a floating-point number stand, in bits from
// the lowest of its bytes, whatever the offset of its precision.
type floatForm struct {
	expPos, expBits int
	manPos, manBits int
	sign            int
	bias            int64
	implied         bool // the mantissa's top bit is not stored
}

var (
	formF16  = floatForm{10, 5, 0, 10, 15, 15, true}
	formBF16 = floatForm{7, 8, 0, 7, 15, 127, true}
	formF32  = floatForm{23, 8, 0, 23, 31, 127, true}
	formF64  = floatForm{52, 11, 0, 52, 63, 1023, true}
)

// integer makes the number of an integer or bit field.
func integer(size int, big, signed bool, offset, precision int) (number, error) {
	n := number{size: size, big: big, signed: signed, offset: offset, precision: precision}
	if size < 1 || precision < 1 || offset < 0 || offset+precision > 8*size {
		return n, shardify.Corrupt(-1, "integer of %d bytes with %d bits from bit %d", size, precision, offset)
	}
	if size > 8 {
		return n, shardify.Unsupported("integers of %d bytes", size)
	}
	unsigned := map[int]shardify.DType{1: shardify.U8, 2: shardify.U16, 3: shardify.U32, 4: shardify.U32, 5: shardify.U64, 6: shardify.U64, 7: shardify.U64, 8: shardify.U64}
	n.dtype = unsigned[size]
	if signed {
		n.dtype -= shardify.U8 - shardify.I8
	}
	return n, nil
}

// floating makes the number of a floating-point type.
func floating(size int, big bool, offset, precision int, f floatForm) (number, error) {
	n := number{size: size, big: big, offset: offset, precision: precision, float: &f}
	bad := func(pos, bits int) bool { return pos < offset || bits < 1 || pos+bits > offset+precision }
	if size < 1 || precision < 1 || offset < 0 || offset+precision > 8*size || bad(f.expPos, f.expBits) || bad(f.manPos, f.manBits) || bad(f.sign, 1) {
		return n, shardify.Corrupt(-1, "floating-point type of %d bytes whose parts do not fit its %d bits", size, precision)
	}
	if offset == 0 && precision == 8*size {
		switch f {
		case formF16:
			n.dtype = shardify.F16
		case formBF16:
			n.dtype = shardify.BF16
		case formF32:
			n.dtype = shardify.F32
		case formF64:
			n.dtype = shardify.F64
		}
		if n.dtype != shardify.Invalid && n.dtype.Size() == size {
			return n, nil
		}
	}
	if size > 8 {
		return n, shardify.Unsupported("floating-point numbers of %d bytes (long double)", size)
	}
	if !f.implied {
		return n, shardify.Unsupported("floating-point numbers of %d bytes with %d bits of mantissa", size, f.manBits)
	}
	for _, d := range []struct {
		t    shardify.DType
		form floatForm
	}{{shardify.F16, formF16}, {shardify.F32, formF32}, {shardify.F64, formF64}} {
		if f.within(&d.form) {
			n.dtype = d.t
			return n, nil
		}
	}
	return n, shardify.Unsupported("floating-point numbers with %d bits of exponent (bias %d) and %d of mantissa", f.expBits, f.bias, f.manBits)
}

// within tells whether every value of f is one of g.
func (f *floatForm) within(g *floatForm) bool {
	if f.manBits > g.manBits || f.expBits > 15 || f.bias > 1<<20 {
		return false
	}
	largest := func(f *floatForm) int64 { return 1<<f.expBits - 2 - f.bias }
	smallest := func(f *floatForm) int64 { return 1 - f.bias - int64(f.manBits) }
	return largest(f) <= largest(g) && smallest(f) >= smallest(g)
}

// plain: the bytes are those of the dtype but for their order.
func (n *number) plain() bool {
	if n.truth || n.moment || n.size != n.dtype.Size() {
		return false
	}
	if n.float != nil {
		return n.precision == 8*n.size && (n.dtype == shardify.BF16 && *n.float == formBF16 || n.dtype == shardify.F16 && *n.float == formF16 ||
			n.dtype == shardify.F32 && *n.float == formF32 || n.dtype == shardify.F64 && *n.float == formF64)
	}
	return n.offset == 0 && n.precision == 8*n.size
}

// inPlace: the bytes of the file are those of the column, or become them where
// they stand.
func (n *number) inPlace() bool { return n.plain() || n.truth && n.size == 1 }

// convert writes count numbers, that stand stride bytes apart in src, side by
// side into dst. src may be dst if stride is the size of both.
type convert func(dst, src []byte, count, stride int)

// converter chooses the loop for a number.
func (n *number) converter() convert {
	switch {
	case n.truth:
		return n.truths
	case n.moment:
		return n.moments
	case n.plain() && n.big && n.size == 2:
		return swap2
	case n.plain() && n.big && n.size == 4:
		return swap4
	case n.plain() && n.big && n.size == 8:
		return swap8
	case n.plain():
		return copiers[n.size]
	case n.float != nil:
		return n.floats
	}
	return n.integers
}

// word is the number's bits, in the lowest bits.
func (n *number) word(b []byte) uint64 {
	return n.all(b) >> n.offset & (math.MaxUint64 >> (64 - n.precision))
}

// all is the number's bytes.
func (n *number) all(b []byte) uint64 {
	var w uint64
	if n.big {
		for _, c := range b[:n.size] {
			w = w<<8 | uint64(c)
		}
	} else {
		for i := n.size - 1; i >= 0; i-- {
			w = w<<8 | uint64(b[i])
		}
	}
	return w
}

func (n *number) integers(dst, src []byte, count, stride int) {
	out := n.dtype.Size()
	for i := range count {
		w := n.word(src[i*stride:])
		if n.signed {
			w = uint64(int64(w<<(64-n.precision)) >> (64 - n.precision))
		}
		put(dst[i*out:], out, w)
	}
}

func put(b []byte, size int, w uint64) {
	switch size {
	case 1:
		b[0] = byte(w)
	case 2:
		le.PutUint16(b, uint16(w))
	case 4:
		le.PutUint32(b, uint32(w))
	default:
		le.PutUint64(b, w)
	}
}

// truths makes every value but 0 to 1, as a shard's bool is 0 or 1.
func (n *number) truths(dst, src []byte, count, stride int) {
	if n.size == 1 {
		for i := range count {
			v := src[i*stride]
			dst[i] = (v | -v) >> 7
		}
		return
	}
	for i := range count {
		dst[i] = 0
		if n.word(src[i*stride:]) != 0 {
			dst[i] = 1
		}
	}
}

// moments turns PyTables' pairs into seconds, rounded as PyTables rounds.
func (n *number) moments(dst, src []byte, count, stride int) {
	for i := range count {
		w := n.word(src[i*stride:])
		le.PutUint64(dst[i*8:], math.Float64bits(float64(1e-6*float64(int32(w)))+float64(int32(w>>32))))
	}
}

func (n *number) floats(dst, src []byte, count, stride int) {
	out := n.dtype.Size()
	for i := range count {
		v := n.float.value(n.all(src[i*stride:]))
		switch n.dtype {
		case shardify.F16:
			le.PutUint16(dst[i*out:], half(v))
		case shardify.F32:
			le.PutUint32(dst[i*out:], math.Float32bits(float32(v)))
		default:
			le.PutUint64(dst[i*out:], math.Float64bits(v))
		}
	}
}

// value decodes the bits of a float. It is exact for forms within F64.
func (f *floatForm) value(w uint64) float64 {
	exp := w >> f.expPos & (1<<f.expBits - 1)
	man := w >> f.manPos & (1<<f.manBits - 1)
	var v float64
	switch {
	case exp == 1<<f.expBits-1 && man == 0:
		v = math.Inf(1)
	case exp == 1<<f.expBits-1:
		v = math.NaN()
	case exp == 0:
		v = math.Ldexp(float64(man), int(1-f.bias)-f.manBits)
	default:
		v = math.Ldexp(float64(man|1<<f.manBits), int(int64(exp)-f.bias)-f.manBits)
	}
	if w>>f.sign&1 != 0 {
		v = math.Copysign(v, -1)
	}
	return v
}

// half is the F16 of a value that it can hold exactly.
func half(v float64) uint16 {
	b := math.Float64bits(v)
	sign := uint16(b >> 48 & 0x8000)
	switch {
	case math.IsNaN(v):
		return sign | 0x7e00
	case math.IsInf(v, 0):
		return sign | 0x7c00
	case v == 0:
		return sign
	}
	exp := int(b>>52&0x7ff) - 1023
	man := uint16(b >> 42 & 0x3ff)
	if exp >= -14 {
		return sign | uint16(exp+15)<<10 | man
	}
	return sign | (man|0x400)>>(-14-exp)
}
