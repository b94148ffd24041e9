package hdf5

import (
	"context"
	"os"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// BenchmarkRead reads the files named by SHARDIFY_BENCH_HDF5, span after span in
// one reader: what one job does.
func BenchmarkRead(b *testing.B) {
	name := os.Getenv("SHARDIFY_BENCH_HDF5")
	if name == "" {
		b.Skip("SHARDIFY_BENCH_HDF5 names no file")
	}
	ctx := context.Background()
	for b.Loop() {
		table := &format.Table{Roots: []string{name}}
		table.Append(0, "", format.SizeUnknown, 0)
		src, err := Format.Open(ctx, format.OpenArgs{Table: table, Jobs: 1})
		if err != nil {
			b.Fatal(err)
		}
		r, err := src.Reader(0)
		if err != nil {
			b.Fatal(err)
		}
		pool := shardify.NewPool(64 << 20)
		var n int64
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
		b.SetBytes(n)
		r.Close()
		src.Close()
	}
}
