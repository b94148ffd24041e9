package root

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/local"
)

// BenchmarkRead reads the files named by SHARDIFY_BENCH_ROOT, FILE or FILE:TREE, all
// columns, as a conversion does: spans of 1 MiB, a reader per core.
func BenchmarkRead(b *testing.B) {
	name := os.Getenv("SHARDIFY_BENCH_ROOT")
	if name == "" {
		b.Skip("SHARDIFY_BENCH_ROOT names no file")
	}
	file, object := splitObject(context.Background(), local.Files, name)
	for b.Loop() {
		src, err := openFiles(format.Options{"object": object}, nil, file)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(drain(b, src, 2))
		src.Close()
	}
}

// BenchmarkOpen opens the file.
func BenchmarkOpen(b *testing.B) {
	name := os.Getenv("SHARDIFY_BENCH_ROOT")
	if name == "" {
		name = testdata("events-0.root:Events")
	}
	file, object := splitObject(context.Background(), local.Files, name)
	for b.Loop() {
		src, err := openFiles(format.Options{"object": object}, nil, file)
		if err != nil {
			b.Fatal(err)
		}
		src.Close()
	}
}

// drain reads all spans and returns the bytes of their columns.
func drain(b *testing.B, src shardify.Source, readers int) (total int64) {
	ctx := context.Background()
	pool := shardify.NewPool(2 << 30)
	spans := make(chan shardify.Span)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range readers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := src.Reader(0)
			if err != nil {
				b.Error(err)
				return
			}
			defer r.Close()
			for sp := range spans {
				mem, _ := pool.Grant(ctx, sp.Bytes)
				batch, err := r.Read(ctx, sp, mem)
				if err != nil {
					b.Error(err)
				} else {
					mu.Lock()
					total += batch.Bytes()
					mu.Unlock()
				}
				mem.Release()
			}
		}()
	}
	for sp, err := range src.Spans(ctx, 1<<20) {
		if err != nil {
			b.Error(err)
			break
		}
		spans <- sp
	}
	close(spans)
	wg.Wait()
	return total
}
