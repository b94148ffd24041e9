//go:build !linux || portable

package dirfd

import (
	"io"
	"os"
)

// NewInput is f for reads of many kilobytes, one at a time.
func NewInput(f *os.File) io.ReaderAt { return f }
