package dcm

import (
	"errors"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/codecs/readat"
)

// input is bytes in order.
type input struct {
	at    io.ReaderAt
	size  int64
	pos   int64 // of what take returns next
	buf   []byte
	ahead int

	unpacked *inflate.Reader // of a deflated data set; nil else
}

// most is how many bytes a byte of DEFLATE may become.
const most = 1032

func newInput(r io.ReaderAt, size int64) *input { return &input{at: r, size: size, ahead: 8 << 10} }

// deflated is the rest of an input, unpacked. Its places count from the beginning of what was unpacked.
func (in *input) deflated() *input {
	out := &input{size: (in.size - in.pos) * most, ahead: 8 << 10, unpacked: new(inflate.Reader)}
	out.unpacked.Reset(io.NewSectionReader(in.at, in.pos, in.size-in.pos))
	return out
}

func (in *input) cut(n int64) error {
	return shardify.Corrupt(in.pos, "the file ends within an element: %d more bytes are needed", n)
}

// take is the next n bytes, until the next call.
func (in *input) take(n int) ([]byte, error) {
	if n > len(in.buf) {
		if int64(n) > in.size-in.pos {
			return nil, in.cut(int64(n) - (in.size - in.pos))
		}
		if err := in.fill(n); err != nil {
			return nil, err
		}
	}
	b := in.buf[:n]
	in.buf, in.pos = in.buf[n:], in.pos+int64(n)
	return b, nil
}

func (in *input) fill(n int) error {
	want := int(min(int64(max(n, in.ahead)), in.size-in.pos))
	b := make([]byte, want)
	if in.unpacked == nil {
		err := readat.Full(in.at, b, in.pos)
		if err == nil {
			in.buf = b
		}
		return err
	}
	have := copy(b, in.buf)
	k, err := io.ReadAtLeast(in.unpacked, b[have:], n-have)
	in.buf = b[:have+k]
	return in.broken(err)
}

// broken makes what inflate says damage of the file.
func (in *input) broken(err error) error {
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return shardify.Corrupt(in.pos, "the deflated data set ends early")
	case errors.Is(err, inflate.ErrCorrupt):
		return shardify.Corrupt(in.pos, "deflated data set: %v", err)
	}
	return err
}

// skip passes n bytes.
func (in *input) skip(n int64) error {
	if n > in.size-in.pos {
		return in.cut(n - (in.size - in.pos))
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

// end reports whether nothing is left.
func (in *input) end() bool {
	if len(in.buf) > 0 {
		return false
	}
	if in.unpacked == nil {
		return in.pos >= in.size
	}
	var b [1]byte
	k, err := io.ReadFull(in.unpacked, b[:])
	if k == 1 {
		in.buf = b[:]
	}
	return err == io.EOF
}
