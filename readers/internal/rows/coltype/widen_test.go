package coltype

import (
	"math"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
)

func TestCommonTypes(t *testing.T) {
	const none, rounded = shardify.Invalid, shardify.DType(255)
	for _, c := range []struct {
		types []shardify.DType
		want  shardify.DType
	}{
		{[]shardify.DType{shardify.I16, shardify.I32}, shardify.I32},
		{[]shardify.DType{shardify.F32, shardify.F64}, shardify.F64},
		{[]shardify.DType{shardify.U8, shardify.I8}, shardify.I16},
		{[]shardify.DType{shardify.U32, shardify.I8}, shardify.I64},
		{[]shardify.DType{shardify.U8, shardify.U64}, shardify.U64},
		{[]shardify.DType{shardify.U8, shardify.I32}, shardify.I32},
		{[]shardify.DType{shardify.U64, shardify.I64}, rounded},
		{[]shardify.DType{shardify.I64, shardify.F64}, rounded},
		{[]shardify.DType{shardify.I32, shardify.F32}, shardify.F64},
		{[]shardify.DType{shardify.I16, shardify.F32}, shardify.F32},
		{[]shardify.DType{shardify.I8, shardify.F16}, shardify.F32},
		{[]shardify.DType{shardify.F16, shardify.BF16}, shardify.F32},
		{[]shardify.DType{shardify.U8, shardify.I8, shardify.U16}, shardify.I32},
		{[]shardify.DType{shardify.Bool, shardify.U8}, none},
		{[]shardify.DType{shardify.Bool, shardify.Bool}, shardify.Bool},
		{[]shardify.DType{shardify.F16}, shardify.F16},
	} {
		got, ok := Common(c.types...)
		if !ok && got == shardify.F64 {
			got = rounded
		}
		if got != c.want || ok != (c.want != none && c.want != rounded) {
			t.Errorf("%v: %v, want %v", c.types, got, c.want)
		}
	}
}

// extremes are the ends of each type and some values between them.
var extremes = map[shardify.DType][]byte{
	shardify.I8:  shardify.Bytes([]int8{math.MinInt8, -1, 0, 1, math.MaxInt8}),
	shardify.I16: shardify.Bytes([]int16{math.MinInt16, -1, 0, 1, math.MaxInt16}),
	shardify.I32: shardify.Bytes([]int32{math.MinInt32, -1, 0, 1, math.MaxInt32, 1<<24 + 1}),
	shardify.I64: shardify.Bytes([]int64{math.MinInt64, -1, 0, 1, math.MaxInt64}),
	shardify.U8:  shardify.Bytes([]uint8{0, 1, 127, 128, 255}),
	shardify.U16: shardify.Bytes([]uint16{0, 1, 1 << 15, math.MaxUint16}),
	shardify.U32: shardify.Bytes([]uint32{0, 1, 1 << 31, math.MaxUint32}),
	shardify.U64: shardify.Bytes([]uint64{0, 1, 1 << 63, math.MaxUint64}),
	shardify.F32: shardify.Bytes([]float32{0, float32(math.Copysign(0, -1)), 1, -math.MaxFloat32, math.SmallestNonzeroFloat32, float32(math.Inf(-1)), float32(math.NaN())}),
	shardify.F64: shardify.Bytes([]float64{0, 1, math.MaxFloat64, math.Inf(1)}),
	// 0, -0, the smallest, the largest of the small ones, the smallest normal, 1, the
	// largest, infinity, not a number
	shardify.F16:  shardify.Bytes([]uint16{0, 0x8000, 1, 0x83ff, 0x400, 0x3c00, 0x7bff, 0xfc00, 0x7e01}),
	shardify.BF16: shardify.Bytes([]uint16{0, 0x8000, 1, 0x3f80, 0xff7f, 0x7f80}),
}

// number is value i as text that is the same for the same number.
func number(d shardify.DType, b []byte, i int) (whole int64, unsigned uint64, float float64) {
	switch d {
	case shardify.I8:
		whole = int64(shardify.View[int8](b)[i])
	case shardify.I16:
		whole = int64(shardify.View[int16](b)[i])
	case shardify.I32:
		whole = int64(shardify.View[int32](b)[i])
	case shardify.I64:
		whole = shardify.View[int64](b)[i]
	case shardify.U8:
		unsigned = uint64(b[i])
	case shardify.U16:
		unsigned = uint64(shardify.View[uint16](b)[i])
	case shardify.U32:
		unsigned = uint64(shardify.View[uint32](b)[i])
	case shardify.U64:
		unsigned = shardify.View[uint64](b)[i]
	case shardify.F32:
		return 0, 0, float64(shardify.View[float32](b)[i])
	case shardify.F64:
		return 0, 0, shardify.View[float64](b)[i]
	case shardify.F16: // by the definition
		h := shardify.View[uint16](b)[i]
		frac, exp := float64(h&0x3ff), int(h>>10&31)
		switch {
		case exp == 31 && frac != 0:
			float = math.NaN()
		case exp == 31:
			float = math.Inf(1)
		case exp == 0:
			float = math.Ldexp(frac, -24)
		default:
			float = math.Ldexp(1024+frac, exp-25)
		}
		if h>>15 == 1 {
			float = -float
		}
		return 0, 0, float
	case shardify.BF16:
		return 0, 0, float64(math.Float32frombits(uint32(shardify.View[uint16](b)[i]) << 16))
	}
	if d < shardify.U8 {
		return whole, uint64(whole), float64(whole)
	}
	return int64(unsigned), unsigned, float64(unsigned)
}

// TestWidenKeepsEveryValue goes over all pairs of types that Common joins, with
// separate memory and in place.
func TestWidenKeepsEveryValue(t *testing.T) {
	pairs := 0
	for from, values := range extremes {
		for to := range extremes {
			if !Lossless(to, from) {
				continue
			}
			pairs++
			n := len(values) / from.Size()
			mem := shardify.NewPool(1 << 20).Overdraft()
			apart := mem.Alloc(n * to.Size())
			Widen(apart, values, to, from)
			inPlace := mem.Alloc(n * to.Size())
			tail := inPlace[len(inPlace)-len(values):]
			copy(tail, values)
			Widen(inPlace, tail, to, from)
			for i := range n {
				aw, au, af := number(from, values, i)
				for _, b := range [][]byte{apart, inPlace} {
					bw, bu, bf := number(to, b, i)
					same := af == bf && math.Signbit(af) == math.Signbit(bf) || af != af && bf != bf
					if from.IsInt() && to.IsInt() {
						same = aw == bw && au == bu
					}
					if !same {
						t.Errorf("%v to %v, value %d: %v became %v", from, to, i, af, bf)
					}
				}
			}
		}
	}
	// 12 to themselves; of i8, i16, i32 5, 4 and 2, of u8, u16, u32 8, 6 and 3, of
	// the small floats 5.
	if pairs != 12+11+17+5 {
		t.Errorf("%d pairs of types", pairs)
	}
}

// TestHalfIsExactForEveryBitPattern compares with the definition.
func TestHalfIsExactForEveryBitPattern(t *testing.T) {
	all := make([]uint16, 1<<16)
	for i := range all {
		all[i] = uint16(i)
	}
	for i := range all {
		_, _, want := number(shardify.F16, shardify.Bytes(all), i)
		got := float64(half.F16(uint16(i)))
		if got != want && (got == got || want == want) || math.Signbit(got) != (i >= 1<<15) {
			t.Fatalf("%#04x: %v, want %v", i, got, want)
		}
	}
}

func BenchmarkWiden(b *testing.B) {
	mem := shardify.NewPool(1 << 30).Overdraft()
	for _, c := range []struct{ to, from shardify.DType }{
		{shardify.F64, shardify.F32}, {shardify.I64, shardify.I32}, {shardify.I32, shardify.I8}, {shardify.F32, shardify.F16},
	} {
		b.Run(c.from.String()+" to "+c.to.String(), func(b *testing.B) {
			src := mem.Alloc(1 << 18 * c.from.Size())
			dst := mem.Alloc(1 << 18 * c.to.Size())
			for i := range src {
				src[i] = 0x30 | byte(i)&15 // no subnormals
			}
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				Widen(dst, src, c.to, c.from)
			}
		})
	}
}
