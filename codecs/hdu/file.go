package hdu

import (
	"bytes"
	"errors"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
)

// File is the HDUs of a file, which may be packed by gzip.
type File struct {
	HDUs   []HDU
	Notes  []string
	Packed bool

	in   io.ReaderAt // the file as it is
	size int64
}

// Open reads the headers of a file.
func Open(in io.ReaderAt, size int64) (*File, error) {
	f := &File{in: in, size: size}
	var mark [2]byte
	if size >= 2 {
		if n, err := in.ReadAt(mark[:], 0); n < 2 {
			return nil, errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	var err error
	if f.Packed = string(mark[:]) == "\x1f\x8b"; !f.Packed {
		f.HDUs, f.Notes, err = Parse(in, size)
		return f, err
	}
	if f.HDUs, f.Notes, err = Parse(&forward{in: f.unpack()}, -1); err != nil {
		return nil, err
	}
	for i := range f.HDUs {
		if x := &f.HDUs[i]; x.Data+x.Size > size*inflate.Most {
			return nil, shardify.Corrupt(-1, "%v has %d bytes, more than %d bytes of gzip can hold", x, x.Size, size)
		}
	}
	return f, nil
}

// unpack is what a packed file becomes, in order.
func (f *File) unpack() io.Reader {
	r := new(inflate.Reader)
	r.ResetGzip(io.NewSectionReader(f.in, 0, f.size))
	return r
}

// Plain is a file as one may read it anywhere. A packed one is unpacked into memory: hold gets how much that takes.
func (f *File) Plain(hold func(n int64) error) (io.ReaderAt, error) {
	if !f.Packed {
		return f.in, nil
	}
	last := &f.HDUs[len(f.HDUs)-1]
	n := last.Data + last.Size
	if err := hold(n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	r := f.unpack()
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, broken(err)
	}
	return bytes.NewReader(b), drain(r)
}

// drain reads the rest of a packed file, so that its checksum is compared.
func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return broken(err)
}

// broken makes an end that comes early damage of the file.
func (f *File) broken(err error) error {
	if !f.Packed && (err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)) {
		return shardify.Corrupt(f.size, "the file ends within the data")
	}
	return broken(err)
}

// broken makes what inflate says damage of the file.
func broken(err error) error {
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return shardify.Corrupt(-1, "the gzip stream ends early")
	case errors.Is(err, inflate.ErrCorrupt):
		return shardify.Corrupt(-1, "gzip: %v", err)
	}
	return err
}

// forward makes reads of a stream that go on, and not far back.
type forward struct {
	in   io.Reader
	at   int64  // of the end of kept
	kept []byte // the last bytes
	end  bool
}

// window is how far back a read may go: beyond the bytes of a header that are read ahead.
const window = 1 << 16

// ReadAt implements io.ReaderAt.
func (f *forward) ReadAt(p []byte, off int64) (int, error) {
	for !f.end && f.at < off+int64(len(p)) {
		if len(f.kept) >= 2*window {
			f.kept = append(f.kept[:0], f.kept[len(f.kept)-window:]...)
		}
		b := make([]byte, min(window, max(off+int64(len(p))-f.at, 4096)))
		n, err := io.ReadFull(f.in, b)
		f.at, f.kept = f.at+int64(n), append(f.kept, b[:n]...)
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF && n < len(b):
			f.end = true
		case err != nil:
			return 0, broken(err)
		}
	}
	from := off - (f.at - int64(len(f.kept)))
	if from > int64(len(f.kept)) && off-f.at >= 2880 { // what is missing is more than the padding of the last block
		return 0, shardify.Corrupt(f.at, "the data end %d bytes too early", off-f.at)
	}
	if from < 0 || from > int64(len(f.kept)) {
		return 0, io.EOF
	}
	n := copy(p, f.kept[from:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
