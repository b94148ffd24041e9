//go:build !linux

package gpuload

import (
	"errors"
	"os"
)

// allocate returns n zero bytes. Blocks of the Go heap that hold no pointers are
// aligned well enough from 64 bytes on.
func allocate(n int64) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	return make([]byte, n, max(n, 64)), nil
}

func release([]byte) {}

func willNeed(*os.File, int64, int64) {}

func coresAllowed() int { return 0 }

func hugePages() string { return "" }

func inMemory(string) bool { return false }

func mapFile(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapFile([]byte) {}
