package number

import (
	"math"

	"github.com/shardify/shardify"
)

// Form is how a file stores one number: formats of the usual sizes, and the odd ones that
// HDF5 can describe, bit by bit.
type Form struct {
	Size      int // bytes
	Big       bool
	offset    int // of the lowest bit that counts
	precision int // bits that count
	Signed    bool
	Truth     bool // FALSE and TRUE
	Moment    bool // PyTables' time: microseconds, then seconds
	Float     *Float
	DType     shardify.DType // what it becomes
}

// Float is where the parts of a floating-point number are, in bits from
// the lowest of its bytes, whatever the offset of its precision.
type Float struct {
	ExpPos, ExpBits int
	ManPos, ManBits int
	Sign            int
	Bias            int64
	Implied         bool // the mantissa's top bit is not stored
}

// The forms that are dtypes.
var (
	F16  = Float{10, 5, 0, 10, 15, 15, true}
	bf16 = Float{7, 8, 0, 7, 15, 127, true}
	F32  = Float{23, 8, 0, 23, 31, 127, true}
	F64  = Float{52, 11, 0, 52, 63, 1023, true}
)

// Integer makes the number of an integer or bit field.
func Integer(size int, big, signed bool, offset, precision int) (Form, error) {
	n := Form{Size: size, Big: big, Signed: signed, offset: offset, precision: precision}
	if size < 1 || precision < 1 || offset < 0 || offset+precision > 8*size {
		return n, shardify.Corrupt(-1, "integer of %d bytes with %d bits from bit %d", size, precision, offset)
	}
	if size > 8 {
		return n, shardify.Unsupported("integers of %d bytes", size)
	}
	unsigned := map[int]shardify.DType{1: shardify.U8, 2: shardify.U16, 3: shardify.U32, 4: shardify.U32, 5: shardify.U64, 6: shardify.U64, 7: shardify.U64, 8: shardify.U64}
	n.DType = unsigned[size]
	if signed {
		n.DType -= shardify.U8 - shardify.I8
	}
	return n, nil
}

// Floating makes the number of a floating-point type.
func Floating(size int, big bool, offset, precision int, f Float) (Form, error) {
	n := Form{Size: size, Big: big, offset: offset, precision: precision, Float: &f}
	bad := func(pos, bits int) bool { return pos < offset || bits < 1 || pos+bits > offset+precision }
	if size < 1 || precision < 1 || offset < 0 || offset+precision > 8*size || bad(f.ExpPos, f.ExpBits) || bad(f.ManPos, f.ManBits) || bad(f.Sign, 1) {
		return n, shardify.Corrupt(-1, "floating-point type of %d bytes whose parts do not fit its %d bits", size, precision)
	}
	if offset == 0 && precision == 8*size {
		switch f {
		case F16:
			n.DType = shardify.F16
		case bf16:
			n.DType = shardify.BF16
		case F32:
			n.DType = shardify.F32
		case F64:
			n.DType = shardify.F64
		}
		if n.DType != shardify.Invalid && n.DType.Size() == size {
			return n, nil
		}
	}
	if size > 8 {
		return n, shardify.Unsupported("floating-point numbers of %d bytes (long double)", size)
	}
	if !f.Implied {
		return n, shardify.Unsupported("floating-point numbers of %d bytes with %d bits of mantissa", size, f.ManBits)
	}
	for _, d := range []struct {
		t    shardify.DType
		form Float
	}{{shardify.F16, F16}, {shardify.F32, F32}, {shardify.F64, F64}} {
		if f.within(&d.form) {
			n.DType = d.t
			return n, nil
		}
	}
	return n, shardify.Unsupported("floating-point numbers with %d bits of exponent (bias %d) and %d of mantissa", f.ExpBits, f.Bias, f.ManBits)
}

// within reports whether every value of f is one of g.
func (f *Float) within(g *Float) bool {
	if f.ManBits > g.ManBits || f.ExpBits > 15 || f.Bias > 1<<20 {
		return false
	}
	largest := func(f *Float) int64 { return 1<<f.ExpBits - 2 - f.Bias }
	smallest := func(f *Float) int64 { return 1 - f.Bias - int64(f.ManBits) }
	return largest(f) <= largest(g) && smallest(f) >= smallest(g)
}

// Whole reports whether the numbers are integers.
func (n *Form) Whole() bool { return n.Float == nil && !n.Truth && !n.Moment }

// plain: the bytes are those of the dtype except for their order.
func (n *Form) plain() bool {
	if n.Truth || n.Moment || n.Size != n.DType.Size() {
		return false
	}
	if n.Float != nil {
		return n.precision == 8*n.Size && (n.DType == shardify.BF16 && *n.Float == bf16 || n.DType == shardify.F16 && *n.Float == F16 ||
			n.DType == shardify.F32 && *n.Float == F32 || n.DType == shardify.F64 && *n.Float == F64)
	}
	return n.offset == 0 && n.precision == 8*n.Size
}

// InPlace: the bytes of the file are those of the column, or become them in
// place.
func (n *Form) InPlace() bool { return n.plain() || n.Truth && n.Size == 1 }

// Convert writes count numbers side by side into dst. In src there are stride bytes from
// one to the next. src may be dst if stride is the size of both.
type Convert func(dst, src []byte, count, stride int)

// Converter chooses the loop for a number.
func (n *Form) Converter() Convert {
	switch {
	case n.Truth:
		return n.truths
	case n.Moment:
		return n.moments
	case n.plain() && n.Big && n.Size == 2:
		return swap2
	case n.plain() && n.Big && n.Size == 4:
		return swap4
	case n.plain() && n.Big && n.Size == 8:
		return swap8
	case n.plain():
		return copiers[n.Size]
	case n.Float != nil:
		return n.floats
	}
	return n.integers
}

// word is the number's bits, in the lowest bits.
func (n *Form) word(b []byte) uint64 {
	return n.all(b) >> n.offset & (math.MaxUint64 >> (64 - n.precision))
}

// all is the number's bytes.
func (n *Form) all(b []byte) uint64 {
	var w uint64
	if n.Big {
		for _, c := range b[:n.Size] {
			w = w<<8 | uint64(c)
		}
	} else {
		for i := n.Size - 1; i >= 0; i-- {
			w = w<<8 | uint64(b[i])
		}
	}
	return w
}

func (n *Form) integers(dst, src []byte, count, stride int) {
	out := n.DType.Size()
	for i := range count {
		w := n.word(src[i*stride:])
		if n.Signed {
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
func (n *Form) truths(dst, src []byte, count, stride int) {
	if n.Size == 1 {
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
func (n *Form) moments(dst, src []byte, count, stride int) {
	for i := range count {
		w := n.word(src[i*stride:])
		le.PutUint64(dst[i*8:], math.Float64bits(float64(1e-6*float64(int32(w)))+float64(int32(w>>32))))
	}
}

func (n *Form) floats(dst, src []byte, count, stride int) {
	out := n.DType.Size()
	for i := range count {
		v := n.Float.Value(n.all(src[i*stride:]))
		switch n.DType {
		case shardify.F16:
			le.PutUint16(dst[i*out:], half(v))
		case shardify.F32:
			le.PutUint32(dst[i*out:], math.Float32bits(float32(v)))
		default:
			le.PutUint64(dst[i*out:], math.Float64bits(v))
		}
	}
}

// Value decodes the bits of a float. It is exact for forms within F64.
func (f *Float) Value(w uint64) float64 {
	exp := w >> f.ExpPos & (1<<f.ExpBits - 1)
	man := w >> f.ManPos & (1<<f.ManBits - 1)
	var v float64
	switch {
	case exp == 1<<f.ExpBits-1 && man == 0:
		v = math.Inf(1)
	case exp == 1<<f.ExpBits-1:
		v = math.NaN()
	case exp == 0:
		v = math.Ldexp(float64(man), int(1-f.Bias)-f.ManBits)
	default:
		v = math.Ldexp(float64(man|1<<f.ManBits), int(int64(exp)-f.Bias)-f.ManBits)
	}
	if w>>f.Sign&1 != 0 {
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
