package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// FilePath is where a published file of the input's data set is.
func FilePath(input, name string) string {
	return storage.Join(storage.Dir(ManifestPath(input)), name)
}

// missing is a set that lost a file: damaged, and fs.ErrNotExist.
type missing int64

func (n missing) Error() string {
	return fmt.Sprintf("the file is missing; the manifest says %d bytes: %v", int64(n), shardify.ErrCorrupt)
}
func (missing) Unwrap() []error { return []error{shardify.ErrCorrupt, fs.ErrNotExist} }

// Missing is the error of a file that the manifest names and that is not there.
func Missing(bytes int64) error { return missing(bytes) }

// CheckFile refuses a file that has not the size on record.
func CheckFile(ctx context.Context, in storage.FS, name string, size int64) error {
	st, err := storage.Lstat(ctx, in, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", filepath.Base(name), Missing(size))
	}
	if err != nil {
		return err
	}
	if st.Type != storage.Regular { // opening it gives the error that says what it is
		f, err := storage.OpenOwn(ctx, in, name)
		if err == nil {
			err = errors.Join(&fs.PathError{Op: "open", Path: name, Err: storage.ErrNotFile}, f.Close())
		}
		return err
	}
	if st.Size != size {
		return shardify.Corrupt(-1, "%s: the manifest says %d bytes, the file has %d", filepath.Base(name), size, st.Size)
	}
	return nil
}

// OpenFile opens a file that the manifest names, and that must have the size on record. That
// it is not there is no damage here: a conversion that leaves damage out must not take a
// storage that is gone for it.
func OpenFile(ctx context.Context, in storage.FS, name string, size int64) (storage.File, error) {
	f, err := storage.OpenOwn(ctx, in, name)
	if err == nil && f.Size() != size {
		f.Close()
		err = shardify.Corrupt(-1, "bytes: the manifest says %d, the file has %d", size, f.Size())
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Again drops what was fetched of a file of another machine after damage was found in it, and
// reports whether it is to be read again.
func Again(f storage.Blob, err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) && storage.Forget(f, storage.Range{Len: f.Size()})
}

// ReadFull fills b from a place of a file. A file that ends early is damaged.
func ReadFull(r io.ReaderAt, b []byte, at int64) error { return index.ReadFull(r, b, at) }
