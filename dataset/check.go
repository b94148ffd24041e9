package dataset

import (
	"fmt"
	"io"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// NewMmapChecker is the checker of an mmap shard, whose header is read from r: it says what
// to expect of the rest.
func NewMmapChecker(record *shardify.Shard, r io.ReaderAt) (format.Checker, error) {
	s, err := index.OpenShard(r, record.Bytes, record)
	if err != nil {
		return nil, err
	}
	return &tensorChecker{shard: s, digest: record.Digest}, nil
}

// pass hands all bytes of a file to a checker.
func pass(r io.ReaderAt, size int64, c format.Checker, buf []byte) error {
	for at := int64(0); at < size; {
		b := buf[:min(int64(len(buf)), size-at)]
		if err := ReadFull(r, b, at); err != nil {
			return err
		}
		if _, err := c.Write(b); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return c.End()
}

// CheckWhole reads a file that belongs to a set and compares its size and digest with those on
// record.
func CheckWhole(f storage.Blob, want *shardify.File) error {
	if f.Size() != want.Bytes {
		return shardify.Corrupt(-1, "bytes: the manifest says %d, the file has %d", want.Bytes, f.Size())
	}
	c, err := NewChecker(want.Digest)
	if err == nil {
		err = pass(f, want.Bytes, c, make([]byte, index.PieceBytes))
	}
	return err
}

// digestChecker compares the digest of a whole file.
type digestChecker struct {
	sum interface {
		io.Writer
		fmt.Stringer
	}
	want string
}

// NewChecker is the checker of a file by its digest.
func NewChecker(want string) (format.Checker, error) {
	switch {
	case strings.HasPrefix(want, index.PiecePrefix):
		return &digestChecker{new(index.PieceDigest), want}, nil
	case strings.HasPrefix(want, index.DigestPrefix):
		return &digestChecker{new(index.Digest), want}, nil
	}
	return nil, shardify.Unsupported("digest %.40q", want)
}

func (c *digestChecker) Write(b []byte) (int, error) { return c.sum.Write(b) }

func (c *digestChecker) End() error {
	if got := c.sum.String(); got != c.want {
		return shardify.Corrupt(-1, "digest: the manifest says %s, the file has %s", c.want, got)
	}
	return nil
}

// tensorChecker compares the header's digest, which the manifest has, and every
// tensor's CRC-32C, which the header has. The header counts as it passes, not as it
// was when it was parsed.
type tensorChecker struct {
	shard  *index.MmapShard
	digest string
	header index.Digest
	at     int64
	tensor int
	crc    uint32
}

func (c *tensorChecker) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		if c.at < c.shard.HeaderBytes {
			k := min(int64(len(b)), c.shard.HeaderBytes-c.at)
			c.header.Write(b[:k])
			b, c.at = b[k:], c.at+k
			if c.at == c.shard.HeaderBytes {
				if got := c.header.String(); got != c.digest {
					return 0, shardify.Corrupt(0, "digest: the manifest says %s, the header has %s", c.digest, got)
				}
			}
			continue
		}
		if err := c.finished(); err != nil {
			return 0, err
		}
		if c.tensor == len(c.shard.Places) {
			return 0, shardify.Corrupt(c.at, "bytes behind the last tensor")
		}
		k := min(int64(len(b)), c.shard.Places[c.tensor].Hi-c.at)
		c.crc = index.CRC32C(c.crc, b[:k])
		b, c.at = b[k:], c.at+k
	}
	return n, nil
}

// finished compares the tensors that end here.
func (c *tensorChecker) finished() error {
	for c.tensor < len(c.shard.Places) && c.shard.Places[c.tensor].Hi == c.at {
		t := &c.shard.Places[c.tensor]
		if c.crc != c.shard.CRC32C[c.tensor] {
			err := shardify.Corrupt(t.Lo, "crc32c is %08x, its header says %08x", c.crc, c.shard.CRC32C[c.tensor])
			err.Object = t.Name
			return err
		}
		c.tensor, c.crc = c.tensor+1, 0
	}
	return nil
}

func (c *tensorChecker) End() error {
	if err := c.finished(); err != nil {
		return err
	}
	if c.at < c.shard.HeaderBytes || c.tensor < len(c.shard.Places) {
		return shardify.Corrupt(c.at, "the file ends here")
	}
	return nil
}
