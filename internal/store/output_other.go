//go:build !linux || portable

package store

import (
	"io"
	"os"
)

func output(f *os.File) io.Writer { return f }
