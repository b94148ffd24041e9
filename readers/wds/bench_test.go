package wds_test

import (
	"context"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/writers/writertest"
)

// BenchmarkRead reads a shard of about 15 MB in spans of 1 and 8 MiB.
func BenchmarkRead(b *testing.B) {
	for _, c := range []struct {
		name   string
		fields []shardify.Field
		n      int
	}{
		{"events", []shardify.Field{
			{Name: "x", DType: shardify.F32, Shape: []int{64, 7}}, {Name: "y", DType: shardify.I64}, {Name: "mask", DType: shardify.U8, Shape: []int{64}},
		}, 4000},
		{"jagged", []shardify.Field{{Name: "pt", DType: shardify.F32, Levels: 1}}, 15000},
		{"arrays of 7 KB", []shardify.Field{{Name: "x", DType: shardify.F32, Shape: []int{1750}}}, 2000},
		{"arrays of 150 KB", []shardify.Field{{Name: "x", DType: shardify.F32, Shape: []int{37500}}}, 100},
	} {
		dir, m := set(b, writertest.Schema{Fields: c.fields}, c.n)
		src, err := open(nil, nil, dir)
		if err != nil {
			b.Fatal(err)
		}
		for name, target := range map[string]int64{"1 MiB": 1 << 20, "8 MiB": 8 << 20} {
			spans := readertest.Spans(b, src, target)
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.SetBytes(m.Bytes)
				b.ReportAllocs()
				pool := shardify.NewPool(1 << 30)
				r, err := src.Reader(0)
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				for b.Loop() {
					for _, s := range spans {
						mem, err := pool.Grant(context.Background(), s.Bytes)
						if err != nil {
							b.Fatal(err)
						}
						if _, err := r.Read(context.Background(), s, mem); err != nil {
							b.Fatal(err)
						}
						mem.Release()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.n), "ns/sample")
			})
		}
	}
}
