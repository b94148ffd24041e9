package wds

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

const (
	// outputBytes is about the size of each write. What is pending is hashed and
	// written while it is in the second-level cache.
	outputBytes = 512 << 10
	// byReference is the length from which a payload is written from where it
	// lies in the batch, instead of being copied beside the headers.
	byReference = 1 << 10
	// maxPieces is the most pieces of one write: the kernel's limit.
	maxPieces = 1024
)

// gatherer is a Pending that writes several pieces with one call.
type gatherer interface{ WritePieces(pieces [][]byte) error }

// output is a tar in the making. Headers and short data are copied into one
// buffer, long payloads are only noted, and flush hashes and writes them all in
// order.
type output struct {
	w      shardify.Pending
	sum    index.Digest
	buf    []byte
	n      int // of buf
	piece  int // of buf: where the piece that is growing begins
	pieces [][]byte
	noted  int   // bytes in pieces
	refs   bool  // some pieces lie in the batch
	size   int64 // of the tar so far
}

// offset is the place of the next byte.
func (o *output) offset() int64 { return o.size }

// room makes sure that the buffer takes n more bytes.
func (o *output) room(n int) error {
	if o.n+n <= len(o.buf) {
		return nil
	}
	return o.flush()
}

// header returns room for a header block.
func (o *output) header() ([]byte, error) {
	if err := o.room(index.TarBlock); err != nil {
		return nil, err
	}
	h := o.buf[o.n : o.n+index.TarBlock]
	o.n += index.TarBlock
	o.size += index.TarBlock
	return h, nil
}

// data appends a copy of p.
func (o *output) data(p []byte) error {
	o.size += int64(len(p))
	for {
		n := copy(o.buf[o.n:], p)
		o.n += n
		p = p[n:]
		if len(p) == 0 {
			return nil
		}
		if err := o.flush(); err != nil {
			return err
		}
	}
}

// payload appends p, which must not change before the next flush.
func (o *output) payload(p []byte) error {
	if len(p) < byReference {
		return o.data(p)
	}
	o.size += int64(len(p))
	if len(p) < outputBytes {
		o.cut()
		o.pieces = append(o.pieces, p)
		o.noted += len(p)
		o.refs = true
		if len(o.pieces) > maxPieces-2 || o.noted+o.n >= outputBytes {
			return o.flush()
		}
		return nil
	}
	if err := o.flush(); err != nil {
		return err
	}
	for len(p) > 0 {
		n := min(len(p), outputBytes)
		o.sum.Write(p[:n])
		if _, err := o.w.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// fill completes the block of the last data.
func (o *output) fill() error {
	n := int(-o.size & (index.TarBlock - 1))
	if err := o.room(n); err != nil {
		return err
	}
	clear(o.buf[o.n : o.n+n])
	o.n += n
	o.size += int64(n)
	return nil
}

// cut ends the piece of the buffer that is growing.
func (o *output) cut() {
	if o.n > o.piece {
		o.pieces = append(o.pieces, o.buf[o.piece:o.n])
		o.piece = o.n
	}
}

// release writes what lies in the batch, so that the batch may go.
func (o *output) release() error {
	if !o.refs {
		return nil
	}
	return o.flush()
}

func (o *output) flush() error {
	o.cut()
	pieces := o.pieces
	o.pieces, o.n, o.piece, o.noted, o.refs = o.pieces[:0], 0, 0, 0, false
	for _, p := range pieces {
		o.sum.Write(p)
	}
	if g, ok := o.w.(gatherer); ok {
		return g.WritePieces(pieces)
	}
	for _, p := range pieces {
		if _, err := o.w.Write(p); err != nil {
			return err
		}
	}
	return nil
}
