package npz

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// BenchmarkRead reads every file of $SHARDIFY_BENCH_NPZ alone, with one reader,
// in spans of 16 MiB; bytes are decoded ones.
func BenchmarkRead(b *testing.B) {
	dir := os.Getenv("SHARDIFY_BENCH_NPZ")
	if dir == "" {
		b.Skip("SHARDIFY_BENCH_NPZ names no folder of files")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.np[yz]"))
	for _, f := range files {
		b.Run(filepath.Base(f), func(b *testing.B) {
			var table format.Table
			table.Roots = []string{f}
			table.Append(0, "", format.SizeUnknown, 0)
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: &table})
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
	var bytes int64
	start := cpuTime()
	for b.Loop() {
		bytes = 0
		var r shardify.Reader
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
	b.ReportMetric(float64(bytes)*float64(b.N)/1e6/(cpuTime()-start).Seconds(), "MB/cpu-s")
}

// cpuTime is what the process has used; on a shared machine it says more than
// the wall clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
