package shard

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

var le = binary.LittleEndian

// Copy is a shard on its way into another file.
type Copy struct {
	At   int64 // in the old file
	Size int64 // of the new one

	ctx      context.Context
	in       io.ReaderAt
	out      io.Writer
	had, now index.PieceDigest
	buf      []byte
}

// NewCopy begins one.
func NewCopy(ctx context.Context, in io.ReaderAt, out io.Writer) *Copy {
	return &Copy{ctx: ctx, in: in, out: out}
}

// Take reads the next n bytes, until the next call.
func (x *Copy) Take(n int64) ([]byte, error) {
	if int64(cap(x.buf)) < n {
		x.buf = make([]byte, n)
	}
	b := x.buf[:n]
	if k, err := x.in.ReadAt(b, x.At); int64(k) < n {
		return nil, Short(err, x.At)
	}
	x.had.Write(b)
	x.At += n
	return b, nil
}

// Put writes bytes.
func (x *Copy) Put(b []byte) error {
	x.now.Write(b)
	x.Size += int64(len(b))
	_, err := x.out.Write(b)
	return err
}

// moveBytes is how much is copied at once.
const moveBytes = 1 << 20

// Until copies what there is before a place.
func (x *Copy) Until(end int64) error {
	for x.At < end {
		if err := context.Cause(x.ctx); err != nil {
			return err
		}
		b, err := x.Take(min(moveBytes, end-x.At))
		if err == nil {
			err = x.Put(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// End is the digest of what was written. It checks that of what was read.
func (x *Copy) End(from shardify.Shard) (digest string, err error) {
	if d := x.had.String(); d != from.Digest {
		return "", shardify.Corrupt(-1, "digest is %s, the manifest says %s", d, from.Digest)
	}
	return x.now.String(), nil
}

// Short is the error of a read that found less than there was to be.
func Short(err error, at int64) error {
	if err == nil || err == io.EOF {
		return shardify.Corrupt(at, "the file ends here")
	}
	return err
}

// Renumber adds to the first i64 of each element of size bytes.
func Renumber(values []byte, size int, add int64) {
	for ; len(values) >= size && size >= 8; values = values[size:] {
		le.PutUint64(values, le.Uint64(values)+uint64(add))
	}
}
