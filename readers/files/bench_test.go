package files

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/walk"
)

// smallFiles is a tree of files of 2-12 KB: $SHARDIFY_TREE, or one of 10,000
// files made here.
func smallFiles(b *testing.B) string {
	if dir := os.Getenv("SHARDIFY_TREE"); dir != "" {
		return dir
	}
	dir := b.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	body := make([]byte, 12<<10)
	for i := range 10000 {
		d := filepath.Join(dir, fmt.Sprintf("class%02d", i/1000))
		os.MkdirAll(d, 0o777)
		if err := os.WriteFile(filepath.Join(d, fmt.Sprintf("img_%06d.jpg", i)), body[:2<<10+rng.IntN(10<<10)], 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

func perFile(b *testing.B, files int, start syscall.Rusage, wall time.Time) {
	var end syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &end)
	cpu := end.Utime.Nano() + end.Stime.Nano() - start.Utime.Nano() - start.Stime.Nano()
	n := float64(b.N) * float64(files)
	b.ReportMetric(float64(cpu)/n/1e3, "cpu-µs/file")
	b.ReportMetric(n/time.Since(wall).Seconds(), "files/s")
}

func BenchmarkOpen(b *testing.B) {
	dir := smallFiles(b)
	for _, part := range []string{"walk", "group", "state"} {
		b.Run(part, func(b *testing.B) {
			table, _, err := walk.Walk(context.Background(), walk.Request{Inputs: []string{dir}})
			if err != nil {
				b.Fatal(err)
			}
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
			if err != nil {
				b.Fatal(err)
			}
			state, _ := src.(format.Stater).State()
			var ru syscall.Rusage
			syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
			wall := time.Now()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				switch part {
				case "walk":
					_, _, err = walk.Walk(context.Background(), walk.Request{Inputs: []string{dir}})
				case "group":
					_, err = Format.Open(context.Background(), format.OpenArgs{Table: table})
				case "state":
					_, err = Format.Open(context.Background(), format.OpenArgs{Table: table, State: state})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			perFile(b, table.Len(), ru, wall)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	dir := smallFiles(b)
	table, _, err := walk.Walk(context.Background(), walk.Request{Inputs: []string{dir}})
	if err != nil {
		b.Fatal(err)
	}
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: table})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	var spans []shardify.Span
	for s, err := range src.Spans(context.Background(), 2<<20) {
		if err != nil {
			b.Fatal(err)
		}
		spans = append(spans, s)
	}
	for _, readers := range []int{1, 2} {
		b.Run(fmt.Sprintf("readers=%d", readers), func(b *testing.B) {
			pool := shardify.NewPool(64 << 20)
			var ru syscall.Rusage
			syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
			wall := time.Now()
			b.SetBytes(table.Bytes())
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				var wg sync.WaitGroup
				for g := range readers {
					wg.Go(func() {
						r, _ := src.Reader(0)
						defer r.Close()
						for i := g; i < len(spans); i += readers {
							mem, _ := pool.Grant(context.Background(), spans[i].Bytes)
							if _, err := r.Read(context.Background(), spans[i], mem); err != nil {
								b.Error(err)
							}
							mem.Release()
						}
					})
				}
				wg.Wait()
			}
			perFile(b, table.Len(), ru, wall)
		})
	}
}

// BenchmarkFloor is open, read and close with nothing around them.
func BenchmarkFloor(b *testing.B) {
	dir := smallFiles(b)
	table, _, err := walk.Walk(context.Background(), walk.Request{Inputs: []string{dir}})
	if err != nil {
		b.Fatal(err)
	}
	paths := make([]string, table.Len())
	for i := range paths {
		paths[i] = table.Name(i)
	}
	at, err := syscall.Open(dir, syscall.O_RDONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer syscall.Close(at)
	buf := make([]byte, 1<<20)
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	wall := time.Now()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		for _, p := range paths {
			fd, err := syscall.Openat(at, p, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
			if err != nil {
				b.Fatal(err)
			}
			syscall.Read(fd, buf)
			syscall.Close(fd)
		}
	}
	perFile(b, len(paths), ru, wall)
}
