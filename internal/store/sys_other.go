//go:build !linux

package store

import (
	"os"
	"syscall"
)

func renameNoReplace(from, to string) error { return syscall.ENOSYS }

func startWriteback(*os.File) {}

func writePieces(f *os.File, pieces [][]byte) (done int64, err error) {
	for _, p := range pieces {
		n, err := f.Write(p)
		done += int64(n)
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func syncFS(f *os.File) error { return f.Sync() }

func copyRange(*os.File, int64, *os.File, int64, int64) int64 { return 0 }
