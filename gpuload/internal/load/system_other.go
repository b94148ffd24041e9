//go:build !linux

package load

import (
	"errors"

	"github.com/shardify/shardify/storage"
)

// WillNeed does nothing here.
func WillNeed(storage.File, int64, int64) {}

// CoresAllowed is 0: not known here.
func CoresAllowed() int { return 0 }

// HugePages is empty: not known here.
func HugePages() string { return "" }

// InMemory is false: not known here.
func InMemory(string) bool { return false }

// MapFile fails: files are not mapped here.
func MapFile(storage.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

// UnmapFile does nothing here.
func UnmapFile([]byte) {}

func allowed([]int) []int { return nil }

func bindThread([]int) (unbind func()) { return func() {} }
