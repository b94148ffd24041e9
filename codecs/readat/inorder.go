package readat

import (
	"errors"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
)

// InOrder is bytes of a file that are read one after the other, or what they become unpacked.
type InOrder struct {
	Pos, Size int64 // the place of what Take returns next, and the end
	Ahead     int64 // bytes that are read at once, at least

	r        io.ReaderAt
	base     int64 // of place 0 in the file
	buf      []byte
	unpacked *inflate.Reader // of DEFLATE; nil else
}

// New reads size bytes from a place in a file on. That place is 0.
func New(r io.ReaderAt, at, size int64) *InOrder {
	return &InOrder{r: r, base: at, Size: size, Ahead: 4 << 10}
}

// Begin gives it the first bytes, which are in memory: these are not read.
func (in *InOrder) Begin(b []byte) { in.buf = b[:min(int64(len(b)), in.Size)] }

// Unpack reads what the rest becomes, which is DEFLATE. Its places count from 0.
func (in *InOrder) Unpack() *InOrder {
	out := &InOrder{base: in.base + in.Pos, Size: (in.Size - in.Pos) * inflate.Most, Ahead: in.Ahead, unpacked: new(inflate.Reader)}
	out.unpacked.Reset(io.NewSectionReader(in.r, out.base, in.Size-in.Pos))
	return out
}

// Corrupt is damage at the place in the file; of what is packed, at its beginning.
func (in *InOrder) Corrupt(format string, args ...any) error {
	at := in.base + in.Pos
	if in.unpacked != nil {
		at = in.base
	}
	return shardify.Corrupt(at, format, args...)
}

// Peek is the next n bytes, which stay.
func (in *InOrder) Peek(n int64) ([]byte, error) {
	if n < 0 || n > in.Size-in.Pos {
		return nil, in.Corrupt("%d bytes are needed, %d are left", n, in.Size-in.Pos)
	}
	if n <= int64(len(in.buf)) {
		return in.buf[:n:n], nil
	}
	b := make([]byte, min(max(n, in.Ahead), in.Size-in.Pos))
	if in.unpacked == nil {
		if err := Full(in.r, b, in.base+in.Pos); err != nil {
			return nil, err
		}
		in.buf = b
		return b[:n:n], nil
	}
	have := copy(b, in.buf)
	k, err := io.ReadAtLeast(in.unpacked, b[have:], int(n)-have)
	if in.buf = b[:have+k]; err != nil {
		return nil, in.broken(err)
	}
	return b[:n:n], nil
}

// Take is the next n bytes. They are not written again.
func (in *InOrder) Take(n int64) ([]byte, error) {
	b, err := in.Peek(n)
	if err == nil {
		in.buf, in.Pos = in.buf[n:], in.Pos+n
	}
	return b, err
}

// Fill fills dst with the next bytes, in pieces where they are unpacked.
func (in *InOrder) Fill(dst []byte) error {
	n := copy(dst, in.buf)
	in.buf, in.Pos = in.buf[n:], in.Pos+int64(n)
	if dst = dst[n:]; len(dst) == 0 {
		return nil
	}
	var err error
	if in.unpacked == nil {
		err = Full(in.r, dst, in.base+in.Pos)
	} else if _, err = io.ReadFull(in.unpacked, dst); err != nil {
		err = in.broken(err)
	}
	in.Pos += int64(len(dst))
	return err
}

// Skip passes n bytes.
func (in *InOrder) Skip(n int64) error {
	if n < 0 || n > in.Size-in.Pos {
		return in.Corrupt("%d bytes are needed, %d are left", n, in.Size-in.Pos)
	}
	if n <= int64(len(in.buf)) {
		in.buf, in.Pos = in.buf[n:], in.Pos+n
		return nil
	}
	if in.unpacked != nil {
		if _, err := io.CopyN(io.Discard, in.unpacked, n-int64(len(in.buf))); err != nil {
			return in.broken(err)
		}
	}
	in.buf, in.Pos = nil, in.Pos+n
	return nil
}

// End reports whether nothing is left.
func (in *InOrder) End() bool {
	if len(in.buf) > 0 {
		return false
	}
	if in.unpacked == nil {
		return in.Pos >= in.Size
	}
	b := make([]byte, 1)
	k, err := io.ReadFull(in.unpacked, b)
	in.buf = b[:k]
	return err == io.EOF
}

// broken makes what inflate says damage of the file.
func (in *InOrder) broken(err error) error {
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return in.Corrupt("the packed bytes end early")
	case errors.Is(err, inflate.ErrCorrupt):
		return in.Corrupt("packed bytes: %v", err)
	}
	return err
}
