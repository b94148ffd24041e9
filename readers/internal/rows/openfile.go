package rows

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// OpenFile opens a regular file for reading; anything else is refused. A file that has not size
// bytes is refused too, unless size is negative: it changed since the plan.
func OpenFile(ctx context.Context, fs storage.FS, path string, size int64) (storage.File, error) {
	f, err := fs.Open(ctx, path)
	if errors.Is(err, storage.ErrNotFile) {
		return nil, shardify.Unsupported("%v", storage.ErrNotFile)
	}
	if err != nil {
		return nil, err
	}
	if have := f.Size(); size >= 0 && have != size {
		f.Close()
		return nil, fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, have, size)
	}
	return f, nil
}

// Watched is an open file that remembers the first read that the system refused. A survey leaves
// out what it cannot interpret, and says so; but what it could not read for a moment must not be
// left out, or a slow disk would cost fields.
type Watched struct {
	storage.File
	failed atomic.Pointer[error]
}

// Watch watches a file.
func Watch(f storage.File) *Watched { return &Watched{File: f} }

// Unwrap is the file below.
func (w *Watched) Unwrap() any { return w.File }

// OSFile is nil: all reads are watched.
func (w *Watched) OSFile() *os.File { return nil }

// ReadAt implements io.ReaderAt.
func (w *Watched) ReadAt(b []byte, off int64) (int, error) {
	n, err := w.File.ReadAt(b, off)
	if n < len(b) && err == nil { // no FS does; half a read is never taken for a whole one
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		w.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Failed is the error of the first read that failed, nil if none did. The end of the
// file is not a failure.
func (w *Watched) Failed() error {
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}
