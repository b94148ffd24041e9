//go:build !linux

package local

import (
	"os"
	"syscall"
)

func renameNoReplace(from, to string) error { return syscall.ENOSYS }

func startWriteback(*os.File) {}

func syncFS(f *os.File) error { return f.Sync() }

func copyRange(*os.File, int64, *os.File, int64, int64) int64 { return 0 }
