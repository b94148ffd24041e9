package gpuload

import (
	"fmt"
	"io"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
)

// sizes are the samples that loaders are compared with: a vector, a CSV row, a
// small image.
var sizes = []struct {
	name    string
	floats  int
	samples int
}{{"64B", 16, 2 << 20}, {"1.8KB", 450, 1 << 16}, {"150KB", 38400, 1 << 10}}

func cpu() time.Duration { return used(syscall.RUSAGE_SELF) }

// thread is what the calling one used.
func thread() time.Duration { return used(1) }

func used(who int) time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(who, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLoader delivers batches of 256 to a consumer that does nothing. It
// reports processor time, since machines are shared.
func BenchmarkLoader(b *testing.B) {
	for _, s := range sizes {
		dir := makeSet(b, setOptions{format: index.FormatMmap, schema: fmt.Sprintf("x:f32[%d]", s.floats), samples: s.samples})
		d := mustOpen(b, dir)
		for _, tier := range []Tier{TierPinned, TierStaged, TierStream} {
			for _, shuffle := range []Shuffle{None, Block, Global} {
				for _, workers := range []int{1, 2} {
					b.Run(fmt.Sprintf("%s/%s/%s/%d", s.name, tier, shuffle, workers), func(b *testing.B) {
						l := mustLoader(b, d, Config{Batch: 256, Shuffle: shuffle, Tier: tier, Workers: workers, Verify: load.VerifyNone})
						first, err := l.Next(bg)
						if err != nil {
							b.Fatal(err)
						}
						first.Release()
						b.SetBytes(256 * int64(s.floats) * 4)
						b.ReportAllocs()
						before := cpu()
						b.ResetTimer()
						for range b.N {
							x, err := l.Next(bg)
							if err == io.EOF {
								x, err = l.Next(bg)
							}
							if err != nil {
								b.Fatal(err)
							}
							x.Release()
						}
						b.StopTimer()
						gb := float64(b.N) * 256 * float64(s.floats) * 4 / 1e9
						b.ReportMetric((cpu()-before).Seconds()/gb, "core-s/GB")
						b.ReportMetric(float64(b.N)*256/b.Elapsed().Seconds(), "samples/s")
						l.Close()
					})
				}
			}
		}
	}
}

// BenchmarkTar delivers images of a wds set in random order, by the offset index.
func BenchmarkTar(b *testing.B) {
	for _, bytes := range []int{7 << 10, 38 << 10} {
		dir := makeSet(b, setOptions{format: index.FormatWDS, schema: fmt.Sprintf("img:jpg*%d,cls:i64", bytes), samples: (128 << 20) / bytes, shard: 4096})
		d := mustOpen(b, dir)
		for _, tier := range []Tier{TierPinned, TierStream} {
			for _, shuffle := range []Shuffle{Block, Global} {
				for _, workers := range []int{1, 2} {
					b.Run(fmt.Sprintf("%d/%s/%s/%d", bytes, tier, shuffle, workers), func(b *testing.B) {
						l := mustLoader(b, d, Config{Batch: 256, Shuffle: shuffle, Tier: tier, Workers: workers, Verify: load.VerifyNone})
						var n, size int64
						before := cpu()
						for k := range b.N + 1 {
							x, err := l.Next(bg)
							if err == io.EOF {
								x, err = l.Next(bg)
							}
							if err != nil {
								b.Fatal(err)
							}
							if n, size = n+int64(x.Rows()), size+x.Bytes(); k == 0 { // the tier is full
								n, size, before = 0, 0, cpu()
								b.ResetTimer()
							}
							x.Release()
						}
						b.StopTimer()
						b.ReportMetric((cpu()-before).Seconds()/(float64(size)/1e9), "core-s/GB")
						b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
						b.ReportMetric(float64(n)/(cpu()-before).Seconds(), "samples/core-s")
						l.Close()
					})
				}
			}
		}
	}
}

// BenchmarkChecks is what the checks beside the reading of TierStream cost: the processor time of the
// check of each shard, and of the delivery of all samples by one worker, each in turn. eighth-% is what
// a Loader that never waits spends on checks until all shards are checked.
func BenchmarkChecks(b *testing.B) {
	dir := makeSet(b, setOptions{format: index.FormatMmap, schema: "x:f32[450]", samples: 1 << 16, shard: 1 << 13})
	d := mustOpen(b, dir)
	for _, shuffle := range []Shuffle{None, Block, Global} {
		b.Run(string(shuffle), func(b *testing.B) {
			l := mustLoader(b, d, Config{Batch: 256, Shuffle: shuffle, Tier: TierStream, Workers: 1, Verify: load.VerifyNone})
			if err := readAll(l, nil); err != nil {
				b.Fatal(err)
			}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var deliver, check time.Duration
			for range b.N {
				before := cpu()
				if err := readAll(l, nil); err != nil {
					b.Fatal(err)
				}
				deliver += cpu() - before
				scrub := load.Scrubber{Set: l.from.Shards, World: 1, Delivered: func() int64 { return 1 << 40 }}
				before = thread() // batches of the next epoch are being made
				if err := scrub.Run(bg); err != nil {
					b.Fatal(err)
				}
				check += thread() - before
			}
			gb := float64(b.N) * float64(d.Bytes()) / 1e9
			b.ReportMetric(deliver.Seconds()/gb, "delivery-core-s/GB")
			b.ReportMetric(check.Seconds()/gb, "check-core-s/GB")
			b.ReportMetric(100*check.Seconds()/8/deliver.Seconds(), "eighth-%")
			l.Close()
		})
	}
}
