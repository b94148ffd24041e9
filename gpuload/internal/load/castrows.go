package load

import (
	"math"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
)

// castChunk is how many elements are converted at a time: what they need stays in the
// first-level cache.
const castChunk = 1024

// castBytes is the rows that are gathered before they are converted together: a call
// for each row of a few elements would take longer than its work.
const castBytes = 8 << 10

// castScratch is the memory of one conversion.
type castScratch struct {
	raw  [castBytes / 8]uint64
	f    [castChunk]float32
	ints [castChunk]int64
}

var castScratches = sync.Pool{New: func() any { return new(castScratch) }}

// rows converts rows of src, of size bytes, to dst one after the other: each rows from every one
// of the list on.
func (k *Caster) rows(dst, src []byte, size, each int, rows []int64) {
	if size == 0 || len(rows) == 0 {
		return
	}
	m := castScratches.Get().(*castScratch)
	defer castScratches.Put(m)
	long := size * each
	out := long / k.From.Size() * k.To.Size()
	if long > castBytes/2 {
		for j, r := range rows {
			k.run(m, dst[j*out:(j+1)*out], src[int(r)*size:int(r)*size+long])
		}
		return
	}
	raw := shardify.Bytes(m.raw[:])
	for n := castBytes / long; len(rows) > 0; rows = rows[n:] {
		n = min(n, len(rows))
		if each > 1 {
			copySpans(raw, src, size, each, rows[:n])
		} else {
			copyRows(raw, src, size, rows[:n])
		}
		k.run(m, dst[:n*out], raw[:n*long])
		dst = dst[n*out:]
	}
}

// Convert converts whole elements of the field.
func (k *Caster) Convert(dst, src []byte) {
	m := castScratches.Get().(*castScratch)
	k.run(m, dst, src)
	castScratches.Put(m)
}

func (k *Caster) run(m *castScratch, dst, src []byte) {
	size, out := k.From.Size(), k.To.Size()
	for at := 0; len(src) > 0; at += castChunk {
		n := min(castChunk, len(src)/size)
		if !k.To.IsFloat() {
			widenInts(m.ints[:n], src, k.From)
			narrowInts(dst, m.ints[:n], k.To)
		} else {
			widen(m.f[:n], src, k.From)
			k.affine(m.f[:n], at)
			narrow(dst, m.f[:n], k.To)
		}
		src, dst = src[n*size:], dst[n*out:]
	}
}

// affine multiplies and adds, rounding after each step: the conversion keeps the
// compiler from fusing them. The first of x is element at of its row.
func (k *Caster) affine(x []float32, at int) {
	switch n := len(k.Scale); {
	case n == 0:
	case n == 1:
		a, b := k.Scale[0], k.Shift[0]
		for i := range x {
			x[i] = float32(x[i]*a) + b
		}
	case k.Inner == 1:
		c := at % n
		for i := range x {
			x[i] = float32(x[i]*k.Scale[c]) + k.Shift[c]
			if c++; c == n {
				c = 0
			}
		}
	default:
		for i := 0; i < len(x); {
			c := (at + i) / k.Inner
			end := min((c+1)*k.Inner-at, len(x))
			a, b := k.Scale[c%n], k.Shift[c%n]
			for ; i < end; i++ {
				x[i] = float32(x[i]*a) + b
			}
		}
	}
}

func widenAs[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](to []float32, b []byte) {
	v := shardify.View[T](b)[:len(to)]
	for i := range to {
		to[i] = float32(v[i])
	}
}

// widen makes elements float32, to the nearest, ties to even.
func widen(to []float32, b []byte, d shardify.DType) {
	b = b[:len(to)*d.Size()]
	switch d {
	case shardify.I8:
		widenAs[int8](to, b)
	case shardify.I16:
		widenAs[int16](to, b)
	case shardify.I32:
		widenAs[int32](to, b)
	case shardify.I64:
		widenAs[int64](to, b)
	case shardify.U8, shardify.Bool:
		widenAs[uint8](to, b)
	case shardify.U16:
		widenAs[uint16](to, b)
	case shardify.U32:
		widenAs[uint32](to, b)
	case shardify.U64:
		widenAs[uint64](to, b)
	case shardify.F32:
		copy(shardify.Bytes(to), b)
	case shardify.F64:
		widenAs[float64](to, b)
	case shardify.F16:
		for i, v := range shardify.View[uint16](b) {
			to[i] = half.F16(v)
		}
	case shardify.BF16:
		for i, v := range shardify.View[uint16](b) {
			to[i] = math.Float32frombits(uint32(v) << 16)
		}
	}
}

// narrow makes float32 what is delivered.
func narrow(b []byte, from []float32, d shardify.DType) {
	b = b[:len(from)*d.Size()]
	switch d {
	case shardify.F32:
		copy(b, shardify.Bytes(from))
	case shardify.F16:
		to := shardify.View[uint16](b)[:len(from)]
		for i, v := range from {
			to[i] = narrowF16(v)
		}
	case shardify.BF16:
		to := shardify.View[uint16](b)[:len(from)]
		for i, v := range from {
			to[i] = narrowBF16(v)
		}
	}
}

// narrowF16 rounds to the nearest, ties to even. Every NaN becomes 0x7fff.
func narrowF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return 0x7fff
	case b >= 0x47800000: // 65536
		return sign | 0x7c00
	case b < 0x38800000: // 2^-14: numbers from 0.5 on are spaced by 2^-24, as wanted here
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-0x3f000000)
	}
	return sign | uint16((b-112<<23+0xfff+b>>13&1)>>13)
}

// narrowBF16 rounds to the nearest, ties to even. Every NaN becomes 0x7fff.
func narrowBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return 0x7fff
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

func intsAs[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](to []int64, b []byte) {
	v := shardify.View[T](b)[:len(to)]
	for i := range to {
		to[i] = int64(v[i])
	}
}

func widenInts(to []int64, b []byte, d shardify.DType) {
	b = b[:len(to)*d.Size()]
	switch d {
	case shardify.I8:
		intsAs[int8](to, b)
	case shardify.I16:
		intsAs[int16](to, b)
	case shardify.I32:
		intsAs[int32](to, b)
	case shardify.I64:
		intsAs[int64](to, b)
	case shardify.U8, shardify.Bool:
		intsAs[uint8](to, b)
	case shardify.U16:
		intsAs[uint16](to, b)
	case shardify.U32:
		intsAs[uint32](to, b)
	case shardify.U64:
		intsAs[uint64](to, b)
	}
}

func asInts[T int8 | int16 | int32 | int64](b []byte, from []int64) {
	to := shardify.View[T](b)[:len(from)]
	for i, v := range from {
		to[i] = T(v)
	}
}

// narrowInts writes the low bits: castable has made sure that they are all.
func narrowInts(b []byte, from []int64, d shardify.DType) {
	b = b[:len(from)*d.Size()]
	switch d.Size() {
	case 1:
		asInts[int8](b, from)
	case 2:
		asInts[int16](b, from)
	case 4:
		asInts[int32](b, from)
	case 8:
		asInts[int64](b, from)
	}
}
