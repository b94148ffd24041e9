package wds

import (
	"sync"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

const (
	// outputBytes is the size of each write but the last, whole pieces of the digest:
	// read, hashed and written while it is in the second-level cache. One piece costs 5 %
	// more on files of 37 KB, whose last one it copies as often again, and so do four,
	// which leave that cache.
	outputBytes = 2 * index.PieceBytes
)

// output is a tar that is being written: bytes pass through one buffer into the file and
// the digest. Both the place in the tar and the fill of the buffer are the same modulo a
// block, so a header always fits in one piece.
type output struct {
	w    storage.Pending
	sum  index.PieceDigest
	buf  []byte // of buffers
	n    int    // of buf
	size int64  // before buf
}

// buffers pass from shard to shard: fresh memory costs more than to fill it.
var buffers = sync.Pool{New: func() any { return new([outputBytes]byte) }}

// free gives the buffer back; nothing must be written afterwards.
func (o *output) free() {
	if o.buf != nil {
		buffers.Put((*[outputBytes]byte)(o.buf))
		o.buf = nil
	}
}

// offset is the place of the next byte.
func (o *output) offset() int64 { return o.size + int64(o.n) }

// header returns room for a header block.
func (o *output) header() ([]byte, error) {
	if o.n == len(o.buf) {
		if err := o.flush(); err != nil {
			return nil, err
		}
	}
	h := o.buf[o.n : o.n+tar.Block]
	o.n += tar.Block
	return h, nil
}

// data appends p.
func (o *output) data(p []byte) error {
	for o.n == 0 && len(p) >= outputBytes {
		if err := o.put(p[:outputBytes]); err != nil {
			return err
		}
		p = p[outputBytes:]
	}
	n := copy(o.buf[o.n:], p)
	o.n += n
	if n == len(p) {
		return nil
	}
	return o.more(p[n:])
}

// lead puts what waits in the buffer at the end of p, if there is room for it, and returns
// how much that was.
func (o *output) lead(p []byte) int {
	if o.n == 0 || len(p) < o.n {
		return 0
	}
	n := copy(p[len(p)-o.n:], o.buf[:o.n])
	o.n = 0
	return n
}

// more appends p after a full buffer.
func (o *output) more(p []byte) error {
	for len(p) >= outputBytes {
		if err := o.flush(); err != nil {
			return err
		}
		if err := o.put(p[:outputBytes]); err != nil {
			return err
		}
		p = p[outputBytes:]
	}
	for len(p) > 0 {
		if o.n == len(o.buf) {
			if err := o.flush(); err != nil {
				return err
			}
		}
		n := copy(o.buf[o.n:], p)
		o.n += n
		p = p[n:]
	}
	return nil
}

// fill completes the block of the last data.
func (o *output) fill() {
	n := -o.n & (tar.Block - 1)
	clear(o.buf[o.n : o.n+n])
	o.n += n
}

func (o *output) flush() error {
	n := o.n
	o.n = 0
	return o.put(o.buf[:n])
}

func (o *output) put(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	o.sum.Write(p)
	_, err := o.w.Write(p)
	o.size += int64(len(p))
	return err
}
