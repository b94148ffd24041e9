package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/shardify/shardify/codecs/crc32c"
)

// piece is what is read, summed and written at a time: it stays in the caches.
const piece = 1 << 20

// parts measures each part of a conversion by itself.
func parts(from, size, to string) error {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return err
	}
	buf := make([]byte, piece)
	read, err := timed(func() error {
		return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			return readAll(name, buf)
		})
	})
	if err != nil {
		return err
	}
	total := uint32(0)
	sum, _ := timed(func() error {
		for left := n; left > 0; left -= piece {
			total = crc32c.Update(total, buf[:min(left, piece)])
		}
		return nil
	})
	write, err := timed(func() error {
		f, err := os.Create(to)
		if err != nil {
			return err
		}
		for left := n; left > 0; left -= piece {
			if _, err := f.Write(buf[:min(left, piece)]); err != nil {
				f.Close()
				return err
			}
		}
		return f.Close()
	})
	fmt.Printf("{\"read\": %.6f, \"sum\": %.6f, \"write\": %.6f, \"crc\": %d}\n", read, sum, write, total)
	return err
}

// ends does what a plan of files with a footer cannot avoid: it lists, opens, and reads twice.
func ends(from string) error {
	buf := make([]byte, 4<<10)
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer syscall.Close(f)
		var info syscall.Stat_t
		if err := syscall.Fstat(f, &info); err != nil {
			return err
		}
		if _, err := syscall.Pread(f, buf, 0); err != nil {
			return err
		}
		_, err = syscall.Pread(f, buf, max(info.Size-int64(len(buf)), 0))
		return err
	})
}

func readAll(name string, buf []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if _, err := f.Read(buf); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// timed is the processor seconds of a function.
func timed(do func() error) (float64, error) {
	before := processor()
	err := do()
	return (processor() - before).Seconds(), err
}

func processor() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
