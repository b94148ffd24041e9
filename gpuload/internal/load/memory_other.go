//go:build !linux

package load

import (
	"errors"

	"github.com/shardify/shardify/storage"
)

// allocate returns n zero bytes. Blocks of the Go heap that hold no pointers are
// aligned well enough from 64 bytes on.
func allocate(n int64) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	return make([]byte, n, max(n, 64)), nil
}

func plain(n int64) ([]byte, error) { return allocate(n) }

func release([]byte) {}

func WillNeed(storage.File, int64, int64) {}

func CoresAllowed() int { return 0 }

func HugePages() string { return "" }

func InMemory(string) bool { return false }

func MapFile(storage.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

func UnmapFile([]byte) {}

func allowed([]int) []int { return nil }

func bindThread([]int) (unbind func()) { return func() {} }
