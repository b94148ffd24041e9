package verify

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// pieceBytes is how much of a shard is in memory at a time.
const pieceBytes = 1 << 20

// windowBytes is the buffer of a walk over tar headers.
const windowBytes = 64 << 10

// buffers are what one worker needs.
type buffers struct{ piece, window []byte }

var bufferPool = sync.Pool{New: func() any {
	return &buffers{make([]byte, pieceBytes), make([]byte, windowBytes)}
}}

// watched is a file whose reads end with the context and are counted.
type watched struct {
	ctx  context.Context
	r    io.ReaderAt
	read *atomic.Int64
}

func (w *watched) ReadAt(b []byte, at int64) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, context.Cause(w.ctx)
	}
	n, err := w.r.ReadAt(b, at)
	w.read.Add(int64(n))
	return n, err
}

// pieces reads a file once from its beginning to its end and digests it, while a
// walk that mostly goes forward reads from what is in memory.
type pieces struct {
	r      io.ReaderAt
	size   int64
	buf    []byte
	lo     int64 // place of buf[0]
	n      int   // bytes of buf in use
	digest index.Digest
}

// ReadAt serves the walk. What lies behind is read again; it is little.
func (p *pieces) ReadAt(b []byte, at int64) (done int, err error) {
	for done < len(b) {
		here := at + int64(done)
		if here < p.lo {
			n, err := p.r.ReadAt(b[done:min(int64(len(b)), int64(done)+p.lo-here)], here)
			if done += n; n == 0 {
				return done, noProgress(err)
			}
			continue
		}
		if here < p.lo+int64(p.n) {
			done += copy(b[done:], p.buf[here-p.lo:p.n])
			continue
		}
		if err := p.next(); err != nil {
			return done, err
		}
	}
	return done, nil
}

func noProgress(err error) error {
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// next reads and digests the next piece; io.EOF at the end of the file, which
// may come before size.
func (p *pieces) next() error {
	at := p.lo + int64(p.n)
	want := int(min(int64(len(p.buf)), p.size-at))
	if want <= 0 {
		return io.EOF
	}
	n, err := p.r.ReadAt(p.buf[:want], at)
	p.digest.Write(p.buf[:n])
	p.lo, p.n = at, n
	if n > 0 {
		return nil
	}
	return noProgress(err)
}

// rest reads what the walk has left out and returns the digest of the whole.
func (p *pieces) rest() (string, error) {
	for {
		err := p.next()
		if errors.Is(err, io.EOF) {
			return p.digest.String(), nil
		}
		if err != nil {
			return "", &shardify.Error{Op: "read", Sample: -1, Offset: p.lo + int64(p.n), Err: err}
		}
	}
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
