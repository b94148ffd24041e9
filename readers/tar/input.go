package tar

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/internal/guard"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// input is an open tar: its bytes as they are without compression.
type input interface {
	tar.Input
	// read fills b with the bytes from at on. Compressed inputs are read forwards.
	read(b []byte, at int64) error
	io.Closer
}

// windowBytes is the size of reads of small members, directBytes that from which
// data are read to where they belong.
const (
	windowBytes = 512 << 10
	directBytes = 64 << 10
)

// maxWindow bounds the memory that a zstd frame may ask for.
const maxWindow = 256 << 20

// openInput opens file i of the table, which must have its size.
func openInput(ctx context.Context, t *format.Table, i int) (in input, packing uint8, err error) {
	name := t.Path(i)
	f, err := storages.Of(t).Open(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	switch {
	case t.Size(i) != format.SizeUnknown && f.Size() != t.Size(i):
		err = fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, f.Size(), t.Size(i))
	}
	var head [4]byte
	if err == nil {
		var n int
		if n, err = f.ReadAt(head[:], 0); errors.Is(err, io.EOF) {
			err = nil
		}
		packing = packingOf(head[:n])
	}
	if err == nil {
		in, err = unpack(f, f.Size(), packing)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return in, packing, nil
}

func unpack(f storage.File, size int64, packing uint8) (input, error) {
	if packing == plain {
		p := &file{f: f}
		p.w.Reset(f, size, make([]byte, windowBytes))
		return p, nil
	}
	s := &stream{f: f, buf: make([]byte, tar.MaxRead), end: -1}
	if packing == gzipped {
		var r inflate.Reader
		r.ResetGzip(io.NewSectionReader(f, 0, size))
		s.r, s.what = &r, "gzip"
		return s, nil
	}
	d, err := zstd.NewReader(io.NewSectionReader(f, 0, size), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, err
	}
	s.r, s.what, s.free = d, "zstd", d.Close
	return s, nil
}

// file is a tar that is not compressed.
type file struct {
	f storage.File
	w tar.Window
}

func (p *file) Bytes(at int64, n int) ([]byte, int64, error) {
	n = int(min(int64(n), max(p.w.Size()-at, 0)))
	if n == 0 {
		return nil, p.w.Size(), nil
	}
	b, err := p.w.Bytes(at, n)
	return b, p.w.Size(), err
}

func (p *file) read(b []byte, at int64) error {
	if len(b) > directBytes {
		return p.w.ReadAt(b, at)
	}
	got, err := p.w.Bytes(at, len(b))
	copy(b, got)
	return err
}

func (p *file) Close() error { return p.f.Close() }

// stream is a compressed tar. It goes forwards only.
type stream struct {
	f    storage.File
	r    io.Reader
	free func()
	what string
	pos  int64 // of the next decoded byte
	end  int64 // of all, -1 until it is met
	buf  []byte
}

var errBackwards = errors.New("a compressed tar is read forwards only")

// next decodes up to len(b) bytes, fewer only at the end.
func (s *stream) next(b []byte) (n int, err error) {
	if s.end >= 0 {
		return 0, nil
	}
	err = guard.Do(func() error {
		n, err = io.ReadFull(s.r, b)
		return err
	})
	s.pos += int64(n)
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF || err == io.ErrUnexpectedEOF && s.ended():
		s.end = s.pos
		return n, nil
	}
	var place *fs.PathError
	if errors.As(err, &place) {
		return n, err
	}
	return n, shardify.Corrupt(s.pos, "%s: %v", s.what, err)
}

// ended reports whether io.ReadFull met the end of the data, or the decoder an end
// where none should be: asked again, the decoder says which.
func (s *stream) ended() bool {
	_, err := s.r.Read(s.buf[:1])
	return err == io.EOF
}

// skip continues to a place, or to the end if that comes first.
func (s *stream) skip(to int64) error {
	if to < s.pos {
		return errBackwards
	}
	for s.pos < to && s.end < 0 {
		if _, err := s.next(s.buf[:min(int64(len(s.buf)), to-s.pos)]); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) Bytes(at int64, n int) ([]byte, int64, error) {
	if err := s.skip(at); err != nil {
		return nil, -1, err
	}
	if s.pos < at {
		return nil, s.end, nil
	}
	n, err := s.next(s.buf[:n])
	return s.buf[:n], s.end, err
}

func (s *stream) read(b []byte, at int64) error {
	if err := s.skip(at); err != nil {
		return err
	}
	n, err := s.next(b)
	if err == nil && n < len(b) {
		err = shardify.Corrupt(s.pos, "ends here, %d more bytes expected", len(b)-n)
	}
	return err
}

func (s *stream) Close() error {
	if s.free != nil {
		s.free()
		s.free = nil
	}
	return s.f.Close()
}
