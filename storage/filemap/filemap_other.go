//go:build !linux

package filemap

import (
	"errors"
	"os"
)

// File is a file in memory. This system has no mappings.
type File struct{ Bytes []byte }

// Open fails: files are not mapped here.
func Open(*os.File, int64) (*File, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*File) Close() {}

// Resident is false.
func (*File) Resident(int64, int64) bool { return false }

// Drop does nothing.
func (*File) Drop(int64, int64) {}

// WillNeed does nothing.
func (*File) WillNeed(int64, int64) {}

// Faults is 0: not known here.
func Faults() int64 { return 0 }

// Safe is false: files are not mapped here.
func Safe() bool { return false }
