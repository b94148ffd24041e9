package mat5

import (
	"errors"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/codecs/readat"
)

// input is bytes in order.
type input struct {
	at   io.ReaderAt
	base int64 // of place 0 in the file
	size int64
	pos  int64
	buf  []byte

	unpacked *inflate.Reader // of a compressed element; nil else
}

const ahead = 4 << 10

func (in *input) corrupt(format string, args ...any) error {
	at := in.base + in.pos
	if in.unpacked != nil {
		at = in.base
	}
	return shardify.Corrupt(at, format, args...)
}

// take is the next n bytes, until the next call.
func (in *input) take(n int64) ([]byte, error) {
	if n > int64(len(in.buf)) {
		if n > in.size-in.pos {
			return nil, in.corrupt("%d bytes are needed, %d are left", n, in.size-in.pos)
		}
		if err := in.fill(n); err != nil {
			return nil, err
		}
	}
	b := in.buf[:n]
	in.buf, in.pos = in.buf[n:], in.pos+n
	return b, nil
}

func (in *input) fill(n int64) error {
	b := make([]byte, min(max(n, ahead), in.size-in.pos))
	if in.unpacked == nil {
		in.buf = b
		if err := readat.Full(in.at, b, in.base+in.pos); err != nil {
			in.buf = nil
			return err
		}
		return nil
	}
	have := copy(b, in.buf)
	k, err := io.ReadAtLeast(in.unpacked, b[have:], int(n)-have)
	in.buf = b[:have+k]
	return in.broken(err)
}

// broken makes what inflate says damage of the file.
func (in *input) broken(err error) error {
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return in.corrupt("the compressed element ends early")
	case errors.Is(err, inflate.ErrCorrupt):
		return in.corrupt("compressed element: %v", err)
	}
	return err
}

// skip passes n bytes.
func (in *input) skip(n int64) error {
	if n < 0 || n > in.size-in.pos {
		return in.corrupt("an element of %d bytes, %d are left", n, in.size-in.pos)
	}
	if n <= int64(len(in.buf)) {
		in.buf, in.pos = in.buf[n:], in.pos+n
		return nil
	}
	if in.unpacked != nil {
		if _, err := io.CopyN(io.Discard, in.unpacked, n-int64(len(in.buf))); err != nil {
			return in.broken(err)
		}
	}
	in.buf, in.pos = nil, in.pos+n
	return nil
}
