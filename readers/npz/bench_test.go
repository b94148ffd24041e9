package npz

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
)

// BenchmarkRead reads every file of $SHARDIFY_BENCH_NPZ alone, with one reader,
// in spans of 16 MiB; bytes are decoded ones. docs of the peers' figures: see
// shared measurements of numpy, same files.
func BenchmarkRead(b *testing.B) {
	dir := os.Getenv("SHARDIFY_BENCH_NPZ")
	if dir == "" {
		b.Skip("SHARDIFY_BENCH_NPZ names no folder of files")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.np[yz]"))
	for _, f := range files {
		b.Run(filepath.Base(f), func(b *testing.B) {
			var table shardify.Table
			table.Roots = []string{f}
			table.Append(0, "", shardify.SizeUnknown, 0)
			src, err := Format.Open(context.Background(), shardify.OpenArgs{Table: &table})
			if err != nil {
				b.Fatal(err)
			}
			defer src.Close()
			benchSource(b, src)
		})
	}
}

func benchSource(b *testing.B, src shardify.Source) {
	ctx := context.Background()
	pool := shardify.NewPool(256 << 20)
	b.ReportAllocs()
	for b.Loop() {
		var r shardify.Reader
		var bytes int64
		run := uint32(1 << 31)
		for sp, err := range src.Spans(ctx, 16<<20) {
			if err != nil {
				b.Fatal(err)
			}
			if sp.Run != run {
				if r != nil {
					r.Close()
				}
				r, _ = src.Reader(sp.Run)
				run = sp.Run
			}
			mem, err := pool.Grant(ctx, sp.Bytes)
			if err != nil {
				b.Fatal(err)
			}
			batch, err := r.Read(ctx, sp, mem)
			if err != nil {
				b.Fatal(err)
			}
			bytes += batch.Bytes()
			mem.Release()
		}
		r.Close()
		b.SetBytes(bytes)
	}
}
