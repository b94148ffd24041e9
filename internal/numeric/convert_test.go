package numeric

import (
	"math"
	"testing"

	"github.com/shardify/shardify"
)

// values of a type that need each of its bits, and what they are as i64 and as f64.
var samples = map[shardify.DType]struct {
	data []byte
	i64  []int64
	f64  []float64
}{
	shardify.Bool: {[]byte{0, 1}, []int64{0, 1}, []float64{0, 1}},
	shardify.I8:   {shardify.Bytes([]int8{-128, -1, 127}), []int64{-128, -1, 127}, []float64{-128, -1, 127}},
	shardify.U8:   {[]byte{0, 128, 255}, []int64{0, 128, 255}, []float64{0, 128, 255}},
	shardify.I16:  {shardify.Bytes([]int16{-32768, 32767}), []int64{-32768, 32767}, []float64{-32768, 32767}},
	shardify.U16:  {shardify.Bytes([]uint16{32768, 65535}), []int64{32768, 65535}, []float64{32768, 65535}},
	shardify.I32:  {shardify.Bytes([]int32{math.MinInt32, math.MaxInt32}), []int64{math.MinInt32, math.MaxInt32}, []float64{math.MinInt32, math.MaxInt32}},
	shardify.U32:  {shardify.Bytes([]uint32{math.MaxUint32}), []int64{math.MaxUint32}, []float64{math.MaxUint32}},
	shardify.I64:  {shardify.Bytes([]int64{math.MinInt64, 1<<53 + 1}), []int64{math.MinInt64, 1<<53 + 1}, []float64{math.MinInt64, 1 << 53}},
	shardify.U64:  {shardify.Bytes([]uint64{math.MaxUint64, 1}), []int64{-1, 1}, []float64{1 << 64, 1}},
	shardify.F16:  {shardify.Bytes([]uint16{0x3c01, 0xfc00, 1}), nil, []float64{1 + 0x1p-10, math.Inf(-1), 0x1p-24}},
	shardify.BF16: {shardify.Bytes([]uint16{0x3f81, 0xff80, 1}), nil, []float64{1 + 0x1p-7, math.Inf(-1), 0x1p-133}},
	shardify.F32:  {shardify.Bytes([]float32{0.1, -2}), nil, []float64{float64(float32(0.1)), -2}},
	shardify.F64:  {shardify.Bytes([]float64{0.1, -2}), nil, []float64{0.1, -2}},
}

func TestEveryTypeBecomesTheOnesThatItMay(t *testing.T) {
	for from, s := range samples {
		f64, f32 := make([]float64, len(s.f64)), make([]float32, len(s.f64))
		Convert(shardify.Bytes(f64), shardify.F64, s.data, from)
		Convert(shardify.Bytes(f32), shardify.F32, s.data, from)
		for i, want := range s.f64 {
			narrow := float32(want)
			if from == shardify.I64 || from == shardify.U64 {
				narrow = float32(s.i64[i])
				if from == shardify.U64 {
					narrow = float32(uint64(s.i64[i]))
				}
			}
			if f64[i] != want || f32[i] != narrow {
				t.Errorf("%s %d: %v and %v, want %v", from, i, f64[i], f32[i], want)
			}
		}
		for to := shardify.I8; s.i64 != nil && to <= shardify.U64; to++ {
			dst := shardify.Bytes(make([]uint64, len(s.i64)))[:to.Size()*len(s.i64)]
			Convert(dst, to, s.data, from)
			for i, want := range s.i64 {
				var got uint64
				for k := range to.Size() {
					got |= uint64(dst[i*to.Size()+k]) << (8 * k)
				}
				if low := uint64(want) << (64 - 8*to.Size()) >> (64 - 8*to.Size()); got != low {
					t.Errorf("%s %d to %s: %#x, want %#x", from, want, to, got, low)
				}
			}
		}
	}
}

func TestOtherPairsAreABug(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("f32 became an integer")
		}
	}()
	Convert(make([]byte, 8), shardify.I32, make([]byte, 8), shardify.F32)
}
