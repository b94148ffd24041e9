package meta

import (
	"io"
	"sync"

	"github.com/shardify/shardify"
)

// Metadata is read through blocks of 64 KiB. The first touch of a block reads
// only the 4 KiB pages it needs, the second the whole block: lone structures
// between large data cost one small read, dense ones one read per 64 KiB.
const (
	blockBits = 16
	blockSize = 1 << blockBits
	pageSize  = 4096
)

// MaxMeta is the largest structure read as one piece. Nothing real comes near: a
// message has at most 64 KiB, a B-tree node a few.
const MaxMeta = 256 << 20

// blocks is a cache of parts of the file. Blocks are never changed nor reused
// once read, so that views into them stay valid.
type blocks struct {
	r    io.ReaderAt
	size int64

	mu   sync.Mutex
	m    map[int64]*block
	ring []int64 // keys in order of arrival
	next int
}

type block struct {
	lo   int64 // file offset of data[0]
	data []byte
	used bool // since the hand came by
}

func newBlocks(r io.ReaderAt, size, cacheBytes int64) *blocks {
	if cacheBytes <= 0 {
		cacheBytes = 4 << 20
	}
	n := max(int(min(cacheBytes, 1<<30)>>blockBits), 4)
	return &blocks{r: r, size: size, m: make(map[int64]*block), ring: make([]int64, 0, n)}
}

// bytes returns n bytes at off, which are inside the file. They must not be
// written to.
func (c *blocks) bytes(off int64, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if off>>blockBits == (off+int64(n)-1)>>blockBits {
		return c.inBlock(off, n)
	}
	if n > blockSize {
		b := make([]byte, n)
		return b, c.read(b, off)
	}
	b := make([]byte, 0, n)
	for n > 0 {
		k := min(n, int((off>>blockBits+1)<<blockBits-off))
		part, err := c.inBlock(off, k)
		if err != nil {
			return nil, err
		}
		b = append(b, part...)
		off, n = off+int64(k), n-k
	}
	return b, nil
}

func (c *blocks) inBlock(off int64, n int) ([]byte, error) {
	key := off >> blockBits
	c.mu.Lock()
	b := c.m[key]
	if b != nil && off >= b.lo && off+int64(n) <= b.lo+int64(len(b.data)) {
		b.used = true
		c.mu.Unlock()
		i := off - b.lo
		return b.data[i : i+int64(n) : i+int64(n)], nil
	}
	again := b != nil
	c.mu.Unlock()

	lo, hi := off&^(pageSize-1), (off+int64(n)+pageSize-1)&^(pageSize-1)
	if again {
		lo, hi = key<<blockBits, (key+1)<<blockBits
	}
	data := make([]byte, min(hi, c.size)-lo)
	if err := c.read(data, lo); err != nil {
		return nil, err
	}
	c.keep(key, &block{lo: lo, data: data})
	i := off - lo
	return data[i : i+int64(n) : i+int64(n)], nil
}

// keep stores a block, in the place of one that was not used for a round.
func (c *blocks) keep(key int64, b *block) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.m[key]; ok {
		c.m[key] = b
		return
	}
	if len(c.ring) < cap(c.ring) {
		c.ring = append(c.ring, key)
		c.m[key] = b
		return
	}
	for c.m[c.ring[c.next]].used {
		c.m[c.ring[c.next]].used = false
		c.next = (c.next + 1) % len(c.ring)
	}
	delete(c.m, c.ring[c.next])
	c.ring[c.next] = key
	c.m[key] = b
	c.next = (c.next + 1) % len(c.ring)
}

// read fills b from off past the cache.
func (c *blocks) read(b []byte, off int64) error {
	n, err := c.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return shardify.Corrupt(off, "the file ended at %d, it had %d bytes when opened", off+int64(n), c.size)
	}
	return &shardify.Error{Op: "read", Sample: -1, Offset: off, Err: err}
}

// Bytes returns n bytes at off, which are inside the file. They must not be written to.
func (f *File) Bytes(off int64, n int) ([]byte, error) { return f.blocks.bytes(off, n) }

// ReadAt fills b from off past the cache.
func (f *File) ReadAt(b []byte, off int64) error { return f.blocks.read(b, off) }

// Within checks that n bytes at off are inside the file. Metadata beyond the
// recorded end is readable, but worth a word.
func (f *File) Within(off, n int64, what string) error {
	if off == Undefined {
		return shardify.Corrupt(-1, "%s has no address", what)
	}
	if off < 0 || n < 0 || off > f.Size()-n {
		return shardify.Corrupt(off, "%s of %d bytes reaches past the end of the file at %d", what, n, f.Size())
	}
	if off+n > f.EOF {
		f.Warn("past eof", "metadata lies beyond the recorded end of the file")
	}
	return nil
}

// View returns n bytes of metadata at off. They must not be written to.
func (f *File) View(off, n int64, what string) ([]byte, error) {
	if err := f.Within(off, n, what); err != nil {
		return nil, err
	}
	if n > MaxMeta {
		return nil, shardify.Unsupported("%s of %d bytes at %d is larger than %d", what, n, off, MaxMeta)
	}
	return f.blocks.bytes(off, int(n))
}

// ViewUpTo is view for a structure whose length is not known yet: it returns
// fewer bytes at the end of the file.
func (f *File) ViewUpTo(off, n int64, what string) ([]byte, error) {
	if off >= 0 && off < f.Size() {
		n = min(n, f.Size()-off)
	}
	return f.View(off, n, what)
}
