package cf

import (
	"testing"

	"github.com/shardify/shardify"
)

// BenchmarkUnpack decodes packed 16-bit codes, as ERA5 has them.
func BenchmarkUnpack(b *testing.B) {
	for _, to := range []shardify.DType{shardify.F32, shardify.F64} {
		b.Run(to.String(), func(b *testing.B) {
			benchmark(b, shardify.I16, map[string]Attribute{
				"scale_factor": number(to, 0.001953), "add_offset": number(to, 273.15),
				"_FillValue": number(shardify.I16, -32767), "missing_value": number(shardify.I16, -32767),
			})
		})
	}
}

// BenchmarkMask looks for one fill value, as stores have it whose fill_value is 0.
func BenchmarkMask(b *testing.B) {
	benchmark(b, shardify.F32, map[string]Attribute{"_FillValue": number(shardify.F32, 0)})
}

func benchmark(b *testing.B, stored shardify.DType, attrs map[string]Attribute) {
	d, err := New(stored, func(name string) (Attribute, bool) { a, ok := attrs[name]; return a, ok })
	if err != nil {
		b.Fatal(err)
	}
	const n = 16 << 10
	src := make([]byte, n*stored.Size())
	for i := range src {
		src[i] = byte(i * 7919 >> 3)
	}
	dst := make([]uint64, n)
	to := shardify.Bytes(dst)[:n*d.To.Size()]
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if err := d.Decode(to, src); err != nil {
			b.Fatal(err)
		}
	}
}
