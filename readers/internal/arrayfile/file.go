package arrayfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

// File is an open file.
type File struct {
	Name string // without its folder
	// Packed: it is packed by gzip, and Size is that of the packed bytes.
	Packed bool
	Size   int64
	// Group has the files that are a sample together, of which this is the first; nil where it is one by itself.
	Group *Group

	ctx    context.Context
	fs     storage.FS
	path   string
	in     storage.File
	head   []byte
	packed []byte // the first bytes of a packed file, as they are stored
	beside []*File
	*Header
}

// headBytes is what is read of a file at first: more than the headers of most formats.
const headBytes = 8 << 10

func newFile(ctx context.Context, files storage.FS, name string, in storage.File) (*File, error) {
	f := &File{Name: path.Base(storage.Clean(name)), Size: in.Size(), ctx: ctx, fs: files, path: name, in: in}
	b, err := f.Head(2)
	if err != nil {
		return nil, err
	}
	if string(b) == "\x1f\x8b" {
		f.Packed, f.head, f.packed = true, nil, f.head
	}
	return f, nil
}

// Close closes the file and those beside it.
func (f *File) Close() error {
	err := f.in.Close()
	for _, b := range f.beside {
		err = errors.Join(err, b.Close())
	}
	return err
}

// Head is the first n bytes, unpacked, fewer if there are fewer. They are the file's: not to be changed.
func (f *File) Head(n int) ([]byte, error) {
	if n <= len(f.head) || !f.Packed && int64(len(f.head)) == f.Size {
		return f.head[:min(n, len(f.head))], nil
	}
	b := make([]byte, max(n, headBytes))
	var k int
	var err error
	if f.Packed {
		var s *stream
		if s, err = f.stream(0, headBytes); err != nil {
			return nil, err
		}
		defer s.close()
		if k, err = io.ReadFull(&s.reader, b[:n]); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, damaged(err)
		}
	} else if k, err = f.in.ReadAt(b[:min(int64(len(b)), f.Size)], 0); err != nil && err != io.EOF {
		return nil, err
	}
	f.head = b[:k]
	return f.head[:min(n, k)], nil
}

// ReadAt implements io.ReaderAt, for a file that is not packed.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off >= 0 && off+int64(len(p)) <= int64(len(f.head)) {
		return copy(p, f.head[off:]), nil
	}
	return f.in.ReadAt(p, off)
}

// room refuses n bytes from an offset on that cannot be there.
func (f *File) room(at, n int64) error {
	end := rows.SatAdd(at, n)
	switch {
	case at < 0 || n < 0:
		return shardify.Corrupt(-1, "%d bytes at %d", n, at)
	case f.Packed && end > rows.SatMul(f.Size, inflate.Most):
		return shardify.Corrupt(-1, "%d bytes of values, more than %d bytes of gzip can hold", n, f.Size)
	case !f.Packed && end > f.Size:
		return shardify.Corrupt(f.Size, "the values take %d bytes from byte %d on, and the file has %d: %d are missing", n, at, f.Size, end-f.Size)
	}
	return nil
}

// Beside opens a file of the same folder.
func (f *File) Beside(name string) (*File, error) {
	for _, b := range f.beside {
		if b.Name == name {
			return b, nil
		}
	}
	full := storage.Join(storage.Dir(f.path), name)
	in, err := rows.OpenFile(f.ctx, f.fs, full, -1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, shardify.Unsupported("the file %s is not beside it", name)
	}
	if err != nil {
		return nil, err
	}
	b, err := newFile(f.ctx, f.fs, full, in)
	if err != nil {
		in.Close()
		return nil, err
	}
	f.beside = append(f.beside, b)
	return b, nil
}

// stream is what a packed file becomes, in order.
type stream struct {
	reader inflate.Reader
	in     limited
}

// limited reads a file in order, at most so many bytes at once.
type limited struct {
	in    storage.File
	first []byte // are in memory
	at    int64
	most  int
}

func (l *limited) Read(p []byte) (int, error) {
	if l.at < int64(len(l.first)) {
		n := copy(p[:min(len(p), l.most)], l.first[l.at:])
		l.at += int64(n)
		return n, nil
	}
	if l.at >= l.in.Size() {
		return 0, io.EOF
	}
	n, err := l.in.ReadAt(p[:min(int64(len(p)), int64(l.most), l.in.Size()-l.at)], l.at)
	l.at += int64(n)
	if err == io.EOF && n > 0 {
		err = nil
	}
	return n, err
}

var streams = sync.Pool{New: func() any { return new(stream) }}

// stream unpacks a file from an offset on; once is how many packed bytes are read at once.
func (f *File) stream(off int64, once int) (*stream, error) {
	s := streams.Get().(*stream)
	s.in = limited{f.in, f.packed, 0, once}
	s.reader.ResetGzip(&s.in)
	if err := s.skip(off); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stream) close() {
	s.in = limited{}
	streams.Put(s)
}

func (s *stream) skip(n int64) error {
	if k, err := io.CopyN(io.Discard, &s.reader, n); err != nil {
		return cut(err, k, n)
	}
	return nil
}

// fill fills p.
func (s *stream) fill(p []byte) error {
	if k, err := io.ReadFull(&s.reader, p); err != nil {
		return cut(err, int64(k), int64(len(p)))
	}
	return nil
}

func cut(err error, have, want int64) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return shardify.Corrupt(-1, "the gzip stream ends early: %d of %d bytes are missing", want-have, want)
	}
	return damaged(err)
}

// damaged makes what inflate refuses damage of the file.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return shardify.Corrupt(-1, "the gzip stream is cut: %v", err)
	}
	if _, ok := errors.AsType[*inflate.Error](err); ok {
		return shardify.Corrupt(-1, "gzip: %v", err)
	}
	return err
}

// tail is how much may follow the values of a packed file.
const tail = 1 << 20

// finish reads what is behind the values, so that the checksum of the stream is compared.
func (s *stream) finish() error {
	n, err := io.CopyN(io.Discard, &s.reader, tail+1)
	switch {
	case n > tail:
		return shardify.Corrupt(-1, "more than %s follow the values", shardify.FormatSize(tail))
	case err == io.EOF:
		return nil
	}
	return cut(err, n, n+1)
}

// changed is the error of a header that says something else than it did.
func changed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{shardify.ErrChanged}, args...)...)
}
