package load

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tests/race"
)

var allTypes = []shardify.DType{
	shardify.Bool, shardify.I8, shardify.I16, shardify.I32, shardify.I64, shardify.U8, shardify.U16, shardify.U32, shardify.U64,
	shardify.F16, shardify.BF16, shardify.F32, shardify.F64,
}

// word is element i of b, its bits and its value as a number.
func word(b []byte, d shardify.DType, i int) (bits uint64, v *big.Float, special float64) {
	for k := range d.Size() {
		bits |= uint64(b[i*d.Size()+k]) << (8 * k)
	}
	shift := 64 - 8*d.Size()
	switch d {
	case shardify.F64:
		special = math.Float64frombits(bits)
	case shardify.F32:
		special = float64(math.Float32frombits(uint32(bits)))
	case shardify.F16:
		special = small(uint16(bits), 10, 15)
	case shardify.BF16:
		special = small(uint16(bits), 7, 127)
	case shardify.I8, shardify.I16, shardify.I32, shardify.I64:
		return bits, new(big.Float).SetInt64(int64(bits<<shift) >> shift), 0
	default:
		return bits, new(big.Float).SetUint64(bits), 0
	}
	if math.IsNaN(special) || math.IsInf(special, 0) {
		return bits, nil, special
	}
	return bits, new(big.Float).SetFloat64(special), special
}

// small is the value of a 16-bit floating-point number.
func small(b uint16, bits, bias int) float64 {
	e, m := int(b&0x7fff)>>bits, int(b)&(1<<bits-1)
	v := math.Ldexp(float64(m+1<<bits), e-bias-bits)
	switch {
	case e == 2*bias+1 && m != 0:
		return math.NaN()
	case e == 2*bias+1:
		v = math.Inf(1)
	case e == 0:
		v = math.Ldexp(float64(m), 1-bias-bits)
	}
	if b>>15 == 1 {
		v = -v
	}
	return v
}

// castWant is what docs/design/loader.md says about one element, by arithmetic with as many
// digits as it takes.
func castWant(b []byte, k *Caster, i, at int) uint64 {
	bits, v, special := word(b, k.From, i)
	if !k.To.IsFloat() {
		n := 8 * k.To.Size()
		if k.From >= shardify.I8 && k.From <= shardify.I64 {
			s := 64 - 8*k.From.Size()
			bits = uint64(int64(bits<<s) >> s)
		}
		if n < 64 {
			bits &= 1<<n - 1
		}
		return bits
	}
	x := float32(special)
	if v != nil {
		x, _ = v.Float32()
		if v.Sign() == 0 && math.Signbit(special) {
			x = float32(math.Copysign(0, -1))
		}
	}
	if len(k.Scale) > 0 {
		c := at / k.Inner % len(k.Scale)
		x = float32(x * k.Scale[c])
		x = float32(x + k.Shift[c])
	}
	if k.To == shardify.F32 {
		return uint64(math.Float32bits(x))
	}
	if x != x {
		return 0x7fff
	}
	digits, bias := 10, 15
	if k.To == shardify.BF16 {
		digits, bias = 7, 127
	}
	return uint64(nearest(float64(x), digits, bias))
}

// nearest rounds to a 16-bit number by trying all candidates around it.
func nearest(x float64, bits, bias int) uint16 {
	sign := uint16(0)
	if math.Signbit(x) {
		sign, x = 0x8000, -x
	}
	top := uint16(2*bias+1) << bits
	lo, hi := uint16(0), top
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; small(mid, bits, bias) <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	up := small(hi, bits, bias)
	if hi == top { // infinity is where the next number would be
		up = 2*small(top-1, bits, bias) - small(top-2, bits, bias)
	}
	switch below, above := x-small(lo, bits, bias), up-x; {
	case above < below, above == below && lo&1 == 1:
		return sign | hi
	}
	return sign | lo
}

// hard are bit patterns where rounding goes wrong first.
func hard(d shardify.DType, r *rand.Rand) uint64 {
	if r.IntN(3) > 0 {
		v := r.Uint64()
		if d == shardify.F32 || d == shardify.F64 { // near the numbers of 16 bits
			f := float32(small(uint16(v), 10, 15))
			if v>>16&1 == 1 {
				f = float32(small(uint16(v), 7, 127))
			}
			bits := math.Float32bits(f) + uint32(r.IntN(5)) - 2
			if r.IntN(2) == 0 { // ties
				bits += []uint32{0x1000, 0x8000, 0x0fff, 0x7fff}[r.IntN(4)]
			}
			if d == shardify.F64 {
				return math.Float64bits(float64(math.Float32frombits(bits))) + uint64(r.IntN(3)) - 1
			}
			return uint64(bits)
		}
		return v >> r.IntN(64)
	}
	return r.Uint64()
}

func TestCastsAreAsDefined(t *testing.T) {
	race.Sequential(t)
	r := rand.New(rand.NewPCG(1, 2))
	const elems, rows = 12, 211
	pairs := 0
	for _, from := range allTypes {
		src := make([]uint64, rows*elems)
		b := shardify.Bytes(src)[:rows*elems*from.Size()]
		for i := range rows * elems {
			v := hard(from, r)
			if from == shardify.Bool {
				v &= 1
			}
			for k := range from.Size() {
				b[i*from.Size()+k] = byte(v >> (8 * k))
			}
		}
		for _, to := range allTypes {
			f := shardify.Field{Name: "x", DType: from, Shape: []int{3, 4}}
			for _, c := range []Cast{{}, {Scale: []float32{1.5}}, {Scale: []float32{1, -2, 0.3}, Shift: []float32{0.1}}, {Scale: []float32{1e-3, 3, 4, 1e9}, Axis: -1}} {
				c.DType = to
				k, err := newCaster(&f, &c)
				if !castable(from, to) || !to.IsFloat() && c.Scale != nil {
					if err == nil {
						t.Errorf("%s to %s, %+v: no error", from, to, c)
					}
					continue
				}
				if to == shardify.F64 { // of itself alone, and then nothing is cast
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				pairs++
				ids := r.Perm(rows)
				list := make([]int64, rows)
				for i, v := range ids {
					list[i] = int64(v)
				}
				out := shardify.Bytes(make([]uint64, rows*elems))[:rows*elems*to.Size()]
				k.rows(out, b, elems*from.Size(), 1, list)
				for i := range rows * elems {
					have, v, _ := word(out, to, i)
					want := castWant(b, k, ids[i/elems]*elems+i%elems, i%elems)
					if to == shardify.F32 && v == nil && math.IsNaN(float64(math.Float32frombits(uint32(want)))) && math.IsNaN(float64(math.Float32frombits(uint32(have)))) {
						continue // which NaN is not defined
					}
					if have != want {
						src, _, _ := word(b, from, ids[i/elems]*elems+i%elems)
						t.Fatalf("%s %x to %s, %+v: %x, want %x", from, src, to, c, have, want)
					}
				}
			}
		}
	}
	t.Logf("%d casts of %d elements", pairs, rows*elems)
}

// TestLongRowsAreCastByChannels: rows that are converted in several pieces.
func TestLongRowsAreCastByChannels(t *testing.T) {
	for _, shape := range [][]int{{3, 40, 40}, {5000}, {1700, 3}} {
		for axis := range shape {
			f := shardify.Field{Name: "x", DType: shardify.U8, Shape: shape}
			c := Cast{DType: shardify.F32, Axis: axis, Scale: make([]float32, shape[axis]), Shift: make([]float32, shape[axis])}
			for i := range c.Scale {
				c.Scale[i], c.Shift[i] = float32(i)+0.5, float32(i%7)
			}
			k, err := newCaster(&f, &c)
			if err != nil {
				t.Fatal(err)
			}
			n := f.Elem()
			src := make([]byte, 2*n)
			for i := range src {
				src[i] = byte(i * 7)
			}
			out := make([]float32, 3*n)
			k.rows(shardify.Bytes(out), src, n, 1, []int64{1, 0, 1})
			for i, v := range out {
				row := []int{1, 0, 1}[i/n]
				if want := castWant(src, k, row*n+i%n, i%n); math.Float32bits(v) != uint32(want) {
					t.Fatalf("shape %v, axis %d, element %d is %v, want %v", shape, axis, i, v, math.Float32frombits(uint32(want)))
				}
			}
		}
	}
}
