package dataset

import (
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// unpacked is a compressed file, read where it was unpacked: in a scratch file in the folder of temporary
// files, which goes with the process.
type unpacked struct {
	storage.File
	data *local.Spill
}

// Unwrap is the compressed file.
func (u *unpacked) Unwrap() any { return u.File }

// Close gives the space back.
func (u *unpacked) Close() error { return errors.Join(u.data.Close(), u.File.Close()) }

// ReadAt reads what was unpacked.
func (u *unpacked) ReadAt(b []byte, at int64) (int, error) { return u.data.ReadAt(b, at) }

// unpack decodes a file of zstd, which has so many bytes then.
func unpack(ctx context.Context, f storage.File, size int64) (_ *unpacked, err error) {
	data, err := local.NewSpill(nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			data.Close()
		}
	}()
	dec, err := zstd.NewReader(io.NewSectionReader(f, 0, f.Size()), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	buf := make([]byte, 1<<20)
	for n := int64(0); ; {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		k, err := io.ReadFull(dec, buf[:min(int64(len(buf)), size+1-n)])
		if n += int64(k); n > size {
			return nil, shardify.Corrupt(-1, "more than %d bytes unpacked, the index says so many", size)
		}
		if _, err := data.Write(buf[:k]); err != nil {
			return nil, shardify.Hint(err, "compressed shards are unpacked into the folder of temporary files, which TMPDIR names; shardify convert makes a set that needs none")
		}
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, zstd.ErrMagicMismatch):
			return nil, shardify.Corrupt(-1, "zstd at byte %d of %d: %v", n, size, err)
		case n != size:
			return nil, shardify.Corrupt(-1, "%d bytes unpacked, the index says %d", n, size)
		default:
			return &unpacked{f, data}, nil
		}
	}
}
