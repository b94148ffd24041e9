//go:build !unix

package cache

import (
	"io/fs"
	"os"
)

const openFlags = 0

// Without locks each process has its own bound, and ranges may be fetched twice.
func tryLock(*os.File) bool { return true }

func unlock(*os.File) {}

func private(fs.FileInfo) bool { return true }
