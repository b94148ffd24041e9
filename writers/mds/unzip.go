package mds

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
)

// zipExt ends the names of MDS shards that are compressed as a whole: one zstd
// frame that says how long the shard is.
const zipExt = ".zstd"

// zippedBytes is the length of the shard in a compressed file of size bytes, as its
// first bytes say.
func zippedBytes(r io.ReaderAt, size int64) (int64, error) {
	b := make([]byte, min(size, zstd.HeaderMaxSize))
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return 0, short(err, int64(n))
	}
	var h zstd.Header
	if err := h.Decode(b); err != nil || h.Skippable || !h.HasFCS || h.FrameContentSize > maxBytes {
		return 0, shardify.Corrupt(0, "not a zstd frame with its length, at most 4 GiB")
	}
	return int64(h.FrameContentSize), nil
}

// unzipped reads the shard in a compressed file. It goes back at most a few MiB
// without starting over. Close it.
type unzipped struct {
	r     io.ReaderAt
	size  int64 // of the compressed file
	bytes int64
	dec   *zstd.Decoder
	buf   []byte // the last bytes before pos
	pos   int64
}

const (
	unzipKeep = 4 << 20
	unzipStep = 1 << 20
)

// openUnzipped begins at the first byte.
func openUnzipped(r io.ReaderAt, size int64) (*unzipped, error) {
	n, err := zippedBytes(r, size)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(io.NewSectionReader(r, 0, size), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, err
	}
	return &unzipped{r: r, size: size, bytes: n, dec: dec}, nil
}

// Size is the length of the shard.
func (u *unzipped) Size() int64 { return u.bytes }

// Close frees the decoder.
func (u *unzipped) Close() { u.dec.Close() }

// ReadAt decodes up to where b ends.
func (u *unzipped) ReadAt(b []byte, off int64) (n int, err error) {
	if off < u.pos-int64(len(u.buf)) {
		if err := u.dec.Reset(io.NewSectionReader(u.r, 0, u.size)); err != nil {
			return 0, err
		}
		u.buf, u.pos = u.buf[:0], 0
	}
	for n < len(b) {
		lo := u.pos - int64(len(u.buf))
		if at := off + int64(n); at < u.pos {
			n += copy(b[n:], u.buf[at-lo:])
			continue
		}
		if err := u.next(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// next decodes a step more.
func (u *unzipped) next() error {
	if len(u.buf)+unzipStep > unzipKeep {
		u.buf = u.buf[:copy(u.buf, u.buf[len(u.buf)/2:])]
	}
	if cap(u.buf) < unzipKeep {
		u.buf = append(make([]byte, 0, unzipKeep), u.buf...)
	}
	n, err := io.ReadFull(u.dec, u.buf[len(u.buf):len(u.buf)+unzipStep])
	u.buf, u.pos = u.buf[:len(u.buf)+n], u.pos+int64(n)
	switch {
	case n > 0 || err == nil:
		return nil
	case errors.Is(err, io.EOF) && u.pos == u.bytes:
		return io.EOF
	}
	return shardify.Corrupt(-1, "zstd at byte %d of %d: %v", u.pos, u.bytes, err)
}
