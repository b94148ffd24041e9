package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// partBytes is the size of the parts of an upload but the last. It is the same for all files,
// so that a file has the same parts, and the same ETag, from every writer. Tests change it.
var partBytes int64 = 16 << 20

const (
	// mostParts is how many an upload may have.
	mostParts = 10_000
	// smallBytes is what a file may keep beside the store's memory: most are smaller.
	smallBytes = 256 << 10
)

// pending is a file that is written. A small one is kept and sent by one request. Of a larger
// one all parts but the first are sent while it is written, as long as they are written in
// order: the first one may change until Commit. As soon as bytes come out of order, or memory
// is short, the rest of it is made in a file of this machine.
type pending struct {
	s    *Store
	name string
	end  int64 // where Write appends
	size int64

	head []byte   // the first part
	sent int64    // parts from the second one to here are sent, or being sent
	tail []byte   // the part behind them
	file *os.File // in the place of head and tail
	up   *upload
	done bool
}

// Create starts a file.
func (s *Store) Create(name string) (storage.Pending, error) {
	if err := storage.CheckName(name); err != nil {
		return nil, err
	}
	return &pending{s: s, name: name, sent: partBytes}, nil
}

func (p *pending) Write(b []byte) (int, error) {
	n, err := p.WriteAt(b, p.end)
	p.end += int64(n)
	return n, err
}

func (p *pending) WriteAt(b []byte, off int64) (n int, err error) {
	if p.done || off < 0 {
		return 0, fs.ErrClosed
	}
	for len(b) > 0 {
		k, err := p.place(b, off)
		n, off, b = n+k, off+int64(k), b[k:]
		p.size = max(p.size, off)
		p.s.written.Add(int64(k))
		if err != nil {
			return n, p.s.published(p.s.context(), p.name, err)
		}
	}
	return n, nil
}

// errSent: what was sent cannot be changed.
var errSent = errors.New("these bytes were sent to the server already")

// place writes as much as goes to one place.
func (p *pending) place(b []byte, off int64) (n int, err error) {
	switch {
	case off < partBytes:
		b = b[:min(int64(len(b)), partBytes-off)]
		if p.file == nil && !p.room(off+int64(len(b))) {
			return 0, p.spill()
		}
		if p.file == nil {
			return copy(p.head[off:], b), nil
		}
	case off < p.sent:
		return 0, errSent
	case p.file == nil && (off > p.size || p.size < partBytes):
		return 0, p.spill()
	case p.file == nil:
		if p.tail == nil {
			if p.tail, err = p.buffer(); err != nil {
				return 0, err
			}
		}
		if p.tail == nil {
			return 0, p.spill()
		}
		at := int(off - p.sent)
		n = min(len(b), int(partBytes)-at)
		p.tail = p.tail[:max(len(p.tail), at+n)]
		copy(p.tail[at:], b[:n])
		if int64(len(p.tail)) < partBytes {
			return n, nil
		}
		return n, p.send()
	}
	n, err = p.file.WriteAt(b, off)
	if err != nil {
		err = p.s.Failed(p.file, err)
	}
	return n, err
}

// room makes the first part at least so long and reports whether there is memory for it.
func (p *pending) room(n int64) bool {
	if n > smallBytes && int64(cap(p.head)) < partBytes {
		b := p.s.memory.get(false)
		if b == nil {
			return false
		}
		p.head = append(b, p.head...)
	}
	if more := int(n) - len(p.head); more > 0 {
		p.head = append(p.head, make([]byte, more)...)
	}
	return true
}

// buffer returns a buffer for a part. If none is free, it waits until a part of this file is
// sent; nil if no part is on its way.
func (p *pending) buffer() ([]byte, error) {
	for {
		if b := p.s.memory.get(false); b != nil || p.up == nil {
			return b, nil
		}
		if one, err := p.up.await(p.up.running() - 1); !one || err != nil {
			return nil, err
		}
	}
}

// send sends the part that is full.
func (p *pending) send() error {
	if err := p.begin(); err != nil {
		return err
	}
	b := p.tail
	p.tail = nil
	p.sent += partBytes
	return p.up.send(int(p.sent/partBytes), b)
}

func (p *pending) begin() (err error) {
	if p.up == nil {
		p.up, err = p.s.newUpload(p.name)
	}
	return err
}

// spill continues in a file of this machine.
func (p *pending) spill() (err error) {
	if p.file, err = p.s.Scratch(); err != nil {
		return err
	}
	_, err = p.file.WriteAt(p.head, 0)
	if err == nil {
		_, err = p.file.WriteAt(p.tail, p.sent)
	}
	p.release()
	return p.s.Failed(p.file, err)
}

func (p *pending) release() {
	p.s.memory.give(p.head)
	p.s.memory.give(p.tail)
	p.head, p.tail = nil, nil
}

// Commit publishes the file.
func (p *pending) Commit(ctx context.Context) error {
	if p.done {
		return fmt.Errorf("publish %s: already ended", p.name)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.done = true
	err := p.s.conditional(ctx)
	if err == nil {
		err = p.commit(ctx)
	}
	p.drop()
	return p.s.published(ctx, p.name, err)
}

func (p *pending) commit(ctx context.Context) error {
	if p.size <= partBytes {
		b := p.head
		if p.file != nil {
			b = p.s.memory.get(true)[:p.size]
			defer p.s.memory.give(b)
			if err := p.read(b, 0); err != nil {
				return err
			}
		}
		return p.s.putNew(ctx, p.name, b)
	}
	if p.size > partBytes*mostParts {
		return shardify.Unsupported("a file of more than %s: choose a smaller --shard-size", shardify.FormatSize(partBytes*mostParts))
	}
	if err := p.begin(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, p.up.cancel)()
	if err := p.sendRest(); err != nil {
		return err
	}
	return p.up.complete(ctx, p.size)
}

// sendRest sends the first part and those behind what was sent.
func (p *pending) sendRest() error {
	if p.file == nil {
		head, tail := p.head, p.tail
		p.head, p.tail = nil, nil
		err := p.up.send(1, head)
		if len(tail) > 0 {
			err = errors.Join(err, p.up.send(int(p.sent/partBytes)+1, tail))
		}
		return err
	}
	for off := int64(0); off < p.size; off += partBytes {
		if off == partBytes {
			off = p.sent
		}
		if off >= p.size {
			break
		}
		b, err := p.buffer()
		if err != nil {
			return err
		}
		if b == nil { // another file has it all, and may wait for this one
			b = p.s.memory.get(true)
		}
		b = b[:min(partBytes, p.size-off)]
		if err = p.read(b, off); err == nil {
			err = p.up.send(int(off/partBytes)+1, b)
		} else {
			p.s.memory.give(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *pending) read(b []byte, off int64) error {
	if n, err := p.file.ReadAt(b, off); n < len(b) {
		return err
	}
	return nil
}

// Abort drops the file; after Commit it does nothing.
func (p *pending) Abort() error {
	if p.done {
		return nil
	}
	p.done = true
	return p.drop()
}

// drop frees all that is not published.
func (p *pending) drop() (err error) {
	if p.up != nil {
		err = p.up.drop()
	}
	p.release()
	if p.file != nil {
		p.file.Close()
	}
	return err
}
