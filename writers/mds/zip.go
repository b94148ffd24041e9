package mds

import (
	"context"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// compress writes the shard as one zstd frame that says how long the shard is: the
// decoder that Streaming uses asks for that, and so does Finish.
func (s *sink) compress(ctx context.Context) (digest string, err error) {
	out := &counter{w: s.file}
	// One goroutine, so that the bytes do not depend on the machine.
	options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault)}
	if s.bytes < 256 {
		options = append(options, zstd.WithSingleSegment(true)) // other frames do not hold such a length
	}
	enc, err := zstd.NewWriter(nil, options...)
	if err != nil {
		return "", err
	}
	enc.ResetContentSize(out, s.bytes)
	if err := s.assemble(ctx, enc); err != nil {
		enc.Close()
		return "", err
	}
	if err := enc.Close(); err != nil {
		return "", err
	}
	s.bytes = out.n
	return out.sum.String(), nil
}

// counter hashes and counts what it writes.
type counter struct {
	w   io.Writer
	sum index.PieceDigest
	n   int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.sum.Write(b[:n])
	c.n += int64(n)
	return n, err
}

// rawBytes is the length of the shard in a compressed file.
func rawBytes(store storage.Store, name string) (int64, error) {
	r, err := store.Open(name)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return zippedBytes(r, r.Size())
}
