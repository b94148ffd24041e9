package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shardify/shardify/codecs/crc32c"
)

// A way makes the bytes of one file those of another. The sum is what every way has to give.
type way struct {
	name string
	do   func(in, out *os.File, n int64) (sum uint32, err error)
}

var ways = []way{
	{"read, sum, write: 64 KiB", pieces(64<<10, false)},
	{"read, sum, write: 256 KiB", pieces(256<<10, false)},
	{"read, sum, write: 1 MiB", pieces(1<<20, false)},
	{"read, sum, write: 8 MiB", pieces(8<<20, false)},
	{"the same, 1 MiB, space reserved", pieces(1<<20, true)},
	{"copy_file_range, sum of a map", ranged(true)},
	{"copy_file_range alone, without a sum", ranged(false)},
	{"O_DIRECT, 1 MiB", direct},
}

// waysOf times each way to copy a file, in turns, and prints the medians.
func waysOf(from, to string) error {
	type cost struct{ Processor, Wall []float64 }
	costs := make([]cost, len(ways))
	want := uint32(0)
	for round := range 8 {
		for i, w := range ways {
			before, began := processor(), time.Now()
			sum, err := once(w, from, to)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if i == 0 {
				want = sum
			}
			if sum != want && sum != 0 {
				return fmt.Errorf("%s: sum %x, not %x", w.name, sum, want)
			}
			if round > 0 {
				costs[i].Processor = append(costs[i].Processor, (processor() - before).Seconds())
				costs[i].Wall = append(costs[i].Wall, time.Since(began).Seconds())
			}
		}
	}
	for i, w := range ways {
		slices.Sort(costs[i].Processor)
		slices.Sort(costs[i].Wall)
		line := map[string]any{"way": w.name, "processor": costs[i].Processor[3], "wall": costs[i].Wall[3]}
		if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
			return err
		}
	}
	return os.Remove(to)
}

func once(w way, from, to string) (uint32, error) {
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	out, err := os.Create(to)
	if err != nil {
		return 0, err
	}
	sum, err := w.do(in, out, info.Size())
	if e := out.Close(); err == nil {
		err = e
	}
	return sum, err
}

func pieces(size int, reserve bool) func(in, out *os.File, n int64) (uint32, error) {
	return func(in, out *os.File, n int64) (sum uint32, err error) {
		if reserve {
			if err := unix.Fallocate(int(out.Fd()), 0, 0, n); err != nil {
				return 0, err
			}
		}
		return through(in, out, make([]byte, size))
	}
}

func through(in io.Reader, out io.Writer, buf []byte) (sum uint32, err error) {
	for {
		k, err := in.Read(buf)
		if err == io.EOF {
			return sum, nil
		}
		if err != nil {
			return 0, err
		}
		sum = crc32c.Update(sum, buf[:k])
		if _, err := out.Write(buf[:k]); err != nil {
			return 0, err
		}
	}
}

func ranged(summed bool) func(in, out *os.File, n int64) (uint32, error) {
	return func(in, out *os.File, n int64) (sum uint32, err error) {
		if summed {
			m, err := unix.Mmap(int(in.Fd()), 0, int(n), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
			if err != nil {
				return 0, err
			}
			sum = crc32c.Update(0, m)
			if err := unix.Munmap(m); err != nil {
				return 0, err
			}
		}
		for n > 0 {
			k, err := unix.CopyFileRange(int(in.Fd()), nil, int(out.Fd()), nil, int(n), 0)
			if err != nil || k == 0 {
				return 0, fmt.Errorf("copy_file_range: %d, %w", k, err)
			}
			n -= int64(k)
		}
		return sum, nil
	}
}

// direct writes past the page cache; the end of a file that is no whole page is left out.
func direct(in, out *os.File, n int64) (uint32, error) {
	d, err := os.OpenFile(out.Name(), os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	buf, err := unix.Mmap(-1, 0, 1<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0, err
	}
	defer unix.Munmap(buf)
	_, err = through(io.LimitReader(in, n&^4095), d, buf)
	return 0, err
}
