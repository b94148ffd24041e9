package stage

import (
	"fmt"
	"io"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// checker is told a file's bytes in order and knows at their end whether they are
// the file's.
type checker interface {
	// Write fails as soon as something is known to be wrong.
	Write(b []byte) (int, error)
	end() error
}

// checkerOf makes the checker of a file. r is the file: the header of an mmap shard
// says what to expect of the rest.
func checkerOf(f *file, r io.ReaderAt) (checker, error) {
	switch {
	case f.shard != nil:
		s, err := index.OpenShard(r, f.bytes, f.shard)
		if err != nil {
			return nil, err
		}
		return &shardChecker{shard: s, digest: f.digest}, nil
	case strings.HasPrefix(f.digest, index.PiecePrefix):
		return &digestChecker{sum: new(index.PieceDigest), want: f.digest}, nil
	case strings.HasPrefix(f.digest, index.DigestPrefix):
		return &digestChecker{sum: new(index.Digest), want: f.digest}, nil
	}
	return nil, shardify.Unsupported("digest %.40q", f.digest)
}

// digestChecker compares the digest of a whole file.
type digestChecker struct {
	sum interface {
		io.Writer
		fmt.Stringer
	}
	want string
}

func (c *digestChecker) Write(b []byte) (int, error) { return c.sum.Write(b) }

func (c *digestChecker) end() error {
	if got := c.sum.String(); got != c.want {
		return shardify.Corrupt(-1, "digest: the manifest says %s, the file has %s", c.want, got)
	}
	return nil
}

// shardChecker compares the header's digest, which the manifest has, and every
// tensor's CRC-32C, which the header has. The header counts as it passes, not as it
// was when it was parsed.
type shardChecker struct {
	shard  *index.MmapShard
	digest string
	header index.Digest
	at     int64
	tensor int
	crc    uint32
}

func (c *shardChecker) Write(b []byte) (int, error) {
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
func (c *shardChecker) finished() error {
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

func (c *shardChecker) end() error {
	if err := c.finished(); err != nil {
		return err
	}
	if c.at < c.shard.HeaderBytes || c.tensor < len(c.shard.Places) {
		return shardify.Corrupt(c.at, "the file ends here")
	}
	return nil
}
