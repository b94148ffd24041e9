package rfile

import (
	"errors"
	"io"
	"iter"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/block"
	"github.com/shardify/shardify/storage"
)

// readAt reads n bytes at off; it never allocates more than the file has.
func (f *File) readAt(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > f.size || n > f.size-off {
		return nil, shardify.Corrupt(off, "%d bytes at byte %d, the file has %d", n, off, f.size)
	}
	b := make([]byte, n)
	if err := f.ReadFull(b, off); err != nil {
		return nil, err
	}
	return b, nil
}

// Announce passes ranges that will be read soon, and reports whether that makes a difference: see
// storage.Announce.
func (f *File) Announce(ranges iter.Seq[storage.Range]) bool { return storage.Announce(f.r, ranges) }

// ReadFull fills p from byte off of the file.
func (f *File) ReadFull(p []byte, off int64) error {
	n, err := f.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = shardify.Corrupt(off, "the file ends after %d of %d bytes", n, len(p))
	}
	return err
}

// announced is the size of records from which a file on another machine need not guess how much
// is to be read.
const announced = 16 << 10

// Record reads the record at a byte of the file and returns its key's bytes and
// payload, decompressed, in one piece: index and position in the record are the
// same.
func (f *File) Record(off, nbytes int64) (rec []byte, h Header, err error) {
	if nbytes < 18 {
		return nil, h, shardify.Corrupt(off, "record of %d bytes", nbytes)
	}
	if nbytes >= announced {
		f.Announce(func(yield func(storage.Range) bool) { yield(storage.Range{Off: off, Len: nbytes}) })
	}
	raw, err := f.readAt(off, nbytes)
	if err != nil {
		return nil, h, err
	}
	if h, err = ParseHeader(raw); err != nil {
		return nil, h, shift(err, off)
	}
	if h.Nbytes != len(raw) {
		return nil, h, shardify.Corrupt(off, "record of %d bytes, its key says %d", len(raw), h.Nbytes)
	}
	if !h.Compressed() {
		return raw[:h.KeyLen+h.ObjLen], h, nil
	}
	if err := block.Check(int64(h.ObjLen), raw[h.KeyLen:]); err != nil {
		return nil, h, shift(err, off)
	}
	rec = make([]byte, h.KeyLen+h.ObjLen)
	copy(rec, raw[:h.KeyLen])
	if err := block.Decode(rec[h.KeyLen:], raw[h.KeyLen:]); err != nil {
		return nil, h, shift(err, off)
	}
	return rec, h, nil
}

// Object reads the record a directory's key points to.
func (f *File) Object(k *Key) (rec []byte, h Header, err error) {
	rec, h, err = f.Record(k.Seek, k.Nbytes)
	return rec, h, shardify.Annotate(err, "read", f.name, k.Name)
}

// shift makes an offset inside a record one inside the file.
func shift(err error, off int64) error {
	var e *shardify.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Offset = max(c.Offset, 0) + off
	return &c
}
