package parquet

import (
	"context"
	"os"
	"testing"

	"github.com/shardify/shardify"
)

// BenchmarkRead reads the file that SHARDIFY_BENCH_PARQUET names, span by span.
func BenchmarkRead(b *testing.B) {
	name := os.Getenv("SHARDIFY_BENCH_PARQUET")
	if name == "" {
		b.Skip("SHARDIFY_BENCH_PARQUET names no file")
	}
	ctx := context.Background()
	src, err := openFiles(nil, nil, name)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	pool := shardify.NewPool(1 << 30)
	for b.Loop() {
		r, err := src.Reader(0)
		if err != nil {
			b.Fatal(err)
		}
		n := int64(0)
		for sp, err := range src.Spans(ctx, 1<<20) {
			if err != nil {
				b.Fatal(err)
			}
			mem, err := pool.Grant(ctx, sp.Bytes)
			if err != nil {
				b.Fatal(err)
			}
			batch, err := r.Read(ctx, sp, mem)
			if err != nil {
				b.Fatal(err)
			}
			n += batch.Bytes()
			mem.Release()
		}
		r.Close()
		b.SetBytes(n)
	}
}
