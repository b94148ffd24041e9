//go:build linux

package order

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestPlanOfManySamples plans an epoch of lengths in a mapped file, 4 bytes a sample: memory is that of a window. The long
// form has SHARDIFY_SAMPLES samples, 10^9 if it is not set.
func TestPlanOfManySamples(t *testing.T) {
	n := int64(1 << 18)
	if os.Getenv("SHARDIFY_LONG") != "" {
		n = 1e9
		if text := os.Getenv("SHARDIFY_SAMPLES"); text != "" {
			if _, err := fmt.Sscan(text, &n); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, release := mappedLengths(t, n)
	const most, window = 32768, 64 * 66
	for _, c := range []Config{
		{Shuffle: None},
		{Shuffle: Block, Window: 1 << 20, Block: 1 << 13, Streams: 192},
		{Shuffle: Global},
	} {
		if c.Shuffle == Block && n < 1<<22 {
			c.Window, c.Block = 1<<14, 1<<8
		}
		for _, w := range []int64{1, window} {
			t.Run(fmt.Sprint(c.Shuffle, "/", w), func(t *testing.T) {
				c.Seed, c.Parts = 1, []int64{n}
				c.Pack = &Packing{Budgets: []Budget{{"n", most, l}}, Batch: MaxPacked, Window: w, Oversize: Alone}
				began, work, stop := time.Now(), processor(), release()
				o, err := New(c)
				if err != nil {
					t.Fatal(err)
				}
				batches := o.Packs().Batches(0)
				wall := time.Since(began)
				peak, mapped := stop()
				for _, b := range []int64{0, batches / 2, batches - 1} { // any batch is there at once
					total, list := int64(0), o.Packs().Samples(0, b)
					for _, s := range list {
						total += l.Of(s)
					}
					if len(list) == 0 || total > most && len(list) > 1 {
						t.Fatalf("batch %d has %d in %d samples", b, total, len(list))
					}
				}
				t.Logf("%d samples, %d batches: %.1f s, %.1f s of processor time, peak %d MiB, and %d MiB of the mapping", n, batches, wall.Seconds(), (processor() - work).Seconds(), peak>>20, mapped>>20)
				if peak > 1<<30 {
					t.Errorf("%d MiB of memory", peak>>20)
				}
			})
		}
	}
}

// mappedLengths are log-normal ones in a file. release lets the pages of the mapping go again and again, as a machine without
// room for them would, until the function that it returns is called: it returns the most memory that was resident, of the
// process and of the mapping.
func mappedLengths(t *testing.T, n int64) (_ *Lengths, release func() func() (peak, mapped int64)) {
	var some [1 << 16]uint32
	r := rand.New(rand.NewPCG(2, 2))
	for i := range some {
		some[i] = uint32(300 * math.Exp(r.NormFloat64()))
	}
	name := filepath.Join(t.TempDir(), "lengths")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	var b [8]byte
	for i := int64(0); i < n; i += 2 {
		k := mix64(uint64(i))
		binary.NativeEndian.PutUint32(b[:], some[k&0xffff])
		binary.NativeEndian.PutUint32(b[4:], some[k>>16&0xffff])
		w.Write(b[:])
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	all, err := syscall.Mmap(int(f.Fd()), 0, int(n+n&1)*4, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(all) })
	release = func() func() (int64, int64) {
		stop, done := make(chan struct{}), make(chan struct{})
		var peak, mapped int64
		go func() {
			defer close(done)
			for {
				own, files := resident(t)
				peak, mapped = max(peak, own), max(mapped, files)
				if own+files > 700<<20 {
					syscall.Madvise(all, syscall.MADV_DONTNEED)
				}
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		}()
		return func() (int64, int64) { close(stop); <-done; return peak, mapped }
	}
	return &Lengths{small: unsafe.Slice((*uint32)(unsafe.Pointer(&all[0])), n)}, release
}

// resident is the memory of the process, and the pages of files that it has mapped: the system takes those back as it likes.
func resident(t *testing.T) (own, files int64) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var size, all int64
	fmt.Sscan(strings.TrimSpace(string(raw)), &size, &all, &files)
	page := int64(os.Getpagesize())
	return (all - files) * page, files * page
}

func processor() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
