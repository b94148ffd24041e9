package verify

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
)

// pieceBytes is how much of a shard is in memory at a time.
const pieceBytes = 1 << 20

// buffers are what one worker needs: for the check of a format, and to digest what that
// leaves out.
type buffers struct{ format, digest []byte }

var bufferPool = sync.Pool{New: func() any {
	return &buffers{make([]byte, pieceBytes), make([]byte, pieceBytes)}
}}

// watched is a file whose reads end with the context and are counted.
type watched struct {
	ctx  context.Context
	r    io.ReaderAt
	read *atomic.Int64
	own  atomic.Int64 // of read, by this one
}

func (w *watched) ReadAt(b []byte, at int64) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.r.ReadAt(b, at)
	w.read.Add(int64(n))
	w.own.Add(int64(n))
	return n, err
}

// hasher computes a digest: that of a tar or of any other file.
type hasher interface {
	io.Writer
	String() string
}

// digesting digests a file from its beginning to its end while a walk reads from
// it, mostly forward: what the walk reads is digested on its way, what it leaves
// out is read for the digest alone.
type digesting struct {
	r      io.ReaderAt
	size   int64
	buf    []byte
	done   int64 // bytes digested
	digest hasher
}

// ReadAt serves the walk.
func (d *digesting) ReadAt(b []byte, at int64) (int, error) {
	if at > d.done {
		if err := d.skip(at); err != nil {
			return 0, err
		}
	}
	n, err := d.r.ReadAt(b, at)
	if end := at + int64(n); end > d.done {
		d.digest.Write(b[d.done-at : n])
		d.done = end
	}
	return n, err
}

// skip digests up to a place; io.EOF when the file ends before it.
func (d *digesting) skip(to int64) error {
	for d.done < to {
		n, err := d.r.ReadAt(d.buf[:min(int64(len(d.buf)), to-d.done)], d.done)
		d.digest.Write(d.buf[:n])
		d.done += int64(n)
		if n == 0 {
			if err == nil {
				err = io.ErrNoProgress
			}
			return err
		}
	}
	return nil
}

// rest reads what the walk has left out and returns the digest of the whole.
func (d *digesting) rest() (string, error) {
	if err := d.skip(d.size); err != nil && !errors.Is(err, io.EOF) {
		return "", &shardify.Error{Op: "read", Sample: -1, Offset: d.done, Err: err}
	}
	return d.digest.String(), nil
}

// overlaid is a file whose beginning is known better than from the file.
type overlaid struct {
	head []byte
	r    io.ReaderAt
}

func (o *overlaid) ReadAt(b []byte, at int64) (int, error) {
	n := 0
	if at < int64(len(o.head)) {
		n = copy(b, o.head[at:])
	}
	if n == len(b) {
		return n, nil
	}
	m, err := o.r.ReadAt(b[n:], at+int64(n))
	return n + m, err
}
