package load

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify/gpuload/internal/memory"
	"github.com/shardify/shardify/tests/race"
)

// TestCopyRowsOfEverySize copies rows of every kind of size, at every alignment, up to the
// last byte of a mapping: neither rows nor the bytes around them may be wrong.
func TestCopyRowsOfEverySize(t *testing.T) {
	race.Sequential(t)
	sizes := []int{300, 511, 512, 1000, 1792, 4096, 4097, 10_000, 1<<20 + 100}
	for n := 1; n <= 130; n++ {
		sizes = append(sizes, n)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range sizes {
		whole, err := memory.Allocate(int64(4096 + max(9*size, 4096)&^4095))
		if err != nil {
			t.Fatal(err)
		}
		src := whole[len(whole)-len(whole)/size*size:]
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		last := int64(len(src)/size - 1)
		for _, n := range []int{0, 1, 33, 100} {
			n = min(n, max((4<<20)/size, 1))
			rows := make([]int64, n)
			for i := range rows {
				rows[i] = rng.Int64N(last + 1)
			}
			if n > 0 {
				rows[n/2] = last
			}
			var want []byte
			for _, r := range rows {
				want = append(want, src[int(r)*size:(int(r)+1)*size]...)
			}
			for name, f := range rowCopies() {
				at := rng.IntN(64)
				dst := bytes.Repeat([]byte{0xa5}, at+len(want)+64)
				f(dst[at:at+len(want)], src, size, rows)
				if !bytes.Equal(dst[at:at+len(want)], want) {
					t.Fatalf("%s: %d rows of %d bytes at %d are not those of the source", name, n, size, at)
				}
				for i, b := range dst {
					if b != 0xa5 && (i < at || i >= at+len(want)) {
						t.Fatalf("%s: %d rows of %d bytes at %d: byte %d is written", name, n, size, at, i)
					}
				}
			}
		}
		memory.Release(whole)
	}
}

// rowCopies is the ways of copying rows that this processor has.
func rowCopies() map[string]func(dst, src []byte, size int, rows []int64) {
	ways := map[string]func(dst, src []byte, size int, rows []int64){"copyRows": copyRows}
	for name, f := range spanCopies() {
		ways[name] = func(dst, src []byte, size int, rows []int64) { f(dst, src, size, 1, rows) }
	}
	return ways
}

func spanCopies() map[string]func(dst, src []byte, size, each int, rows []int64) {
	ways := map[string]func(dst, src []byte, size, each int, rows []int64){"copySpans": copySpans}
	if hasRows {
		ways["copyRowsPast"] = copyRowsPast
	}
	return ways
}

func TestRowsThatFollowEachOtherAreCopiedTogether(t *testing.T) {
	src := make([]byte, 1<<16)
	for i := range src {
		src[i] = byte(i * 7 >> 3)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for name, f := range spanCopies() {
		for range 200 {
			size, each, n := 1+r.IntN(200), 1+r.IntN(9), r.IntN(40)
			var rows []int64
			var want []byte
			for range n {
				row := r.IntN(len(src)/size - each + 1)
				rows, want = append(rows, int64(row)), append(want, src[row*size:(row+each)*size]...)
			}
			dst := make([]byte, len(want))
			if f(dst, src, size, each, rows); !bytes.Equal(dst, want) {
				t.Fatalf("%s: %d times %d rows of %d bytes", name, n, each, size)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Fatalf("%s: rows beyond the last one", name)
					}
				}()
				f(make([]byte, size*each), src, size, each, []int64{int64(len(src)/size - each + 1)})
			}()
		}
	}
}

// TestRowsOutsideAreRefused: a row that does not exist is a bug of ours and never read.
func TestRowsOutsideAreRefused(t *testing.T) {
	for name, f := range rowCopies() {
		for _, c := range []struct {
			dst, src int
			row      int64
		}{{64, 640, 10}, {64, 640, -1}, {63, 640, 1}} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: row %d of %d bytes to %d: no panic", name, c.row, c.src, c.dst)
					}
				}()
				f(make([]byte, c.dst), make([]byte, c.src), 64, []int64{c.row})
			}()
		}
	}
}

// BenchmarkGather is copyRows alone, with rows at random places of 512 MiB, others each
// time.
func BenchmarkGather(b *testing.B) {
	src, err := memory.Allocate(512 << 20)
	if err != nil {
		b.Fatal(err)
	}
	defer memory.Release(src)
	for i := range src {
		src[i] = byte(i)
	}
	for _, size := range []int{8, 64, 128, 256, 1792, 4096, 150 << 10} {
		n := min(max((4<<20)/size, 16), 4096)
		dst, _ := memory.Allocate(int64(n * size))
		p := rand.New(rand.NewPCG(1, 1)).Perm(len(src) / size)
		rows := make([]int64, n)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.SetBytes(int64(n * size))
			best := time.Hour
			for k := range b.N {
				for i := range rows {
					rows[i] = int64(p[(k*n+i)%len(p)])
				}
				t := cpuTime(b)
				copyRows(dst, src, size, rows)
				best = min(best, cpuTime(b)-t)
			}
			b.ReportMetric(float64(n*size)/1e6/best.Seconds(), "best-MB/s")
			b.ReportMetric(float64(best.Nanoseconds())/float64(n), "best-ns/row")
		})
		memory.Release(dst)
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
