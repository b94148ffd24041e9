// Package readat reads all bytes of a place in a file, or says how many are missing.
package readat

import (
	"io"

	"github.com/shardify/shardify"
)

// Full fills b with what is at a place. A file that ends before is damaged.
func Full(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == io.EOF:
		return shardify.Corrupt(at+int64(n), "the file ends, %d more bytes are needed", len(b)-n)
	case err == nil: // no storage does
		return io.ErrUnexpectedEOF
	}
	return err
}
