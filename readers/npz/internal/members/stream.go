package members

import (
	"compress/bzip2"
	"errors"
	"hash/crc32"
	"io"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/storage/zips"
)

// Stream decodes one compressed member from its start, in order, with memory
// that does not depend on its size.
type Stream struct {
	inf  inflate.Reader
	dec  io.Reader // &inf, or a bzip2 reader
	raw  counter
	size int64 // decoded
	Pos  int64 // decoded bytes given out
	Sum  uint32
	want uint32
	Done bool // the end was checked
}

// counter is the packed bytes; step bounds a read while only a header is wanted.
type counter struct {
	io.SectionReader
	step int
	n    int64
}

func (c *counter) Read(p []byte) (int, error) {
	if c.step > 0 && len(p) > c.step {
		p = p[:c.step]
	}
	n, err := c.SectionReader.Read(p)
	c.n += int64(n)
	return n, err
}

// streams keeps the decoders, some 400 KiB each, from file to file.
var streams = sync.Pool{New: func() any { return new(Stream) }}

// OpenStream starts at the first byte of the packed data [off, off+packed) of r.
func OpenStream(r io.ReaderAt, off, packed, size int64, method uint16, crc uint32) *Stream {
	s := streams.Get().(*Stream)
	s.raw = counter{SectionReader: *io.NewSectionReader(r, off, packed)}
	s.size, s.Pos, s.Sum, s.want, s.Done = size, 0, 0, crc, false
	if method == zips.Bzip2ed {
		s.dec = bzip2.NewReader(&s.raw)
	} else {
		s.inf.Reset(&s.raw)
		s.dec = &s.inf
	}
	return s
}

// Close gives the decoder back. The stream must not be used afterwards.
func (s *Stream) Close() {
	if s != nil {
		s.raw, s.dec = counter{}, nil
		streams.Put(s)
	}
}

// Fill reads the next len(p) decoded bytes.
func (s *Stream) Fill(p []byte) error {
	if int64(len(p)) > s.size-s.Pos {
		return shardify.Corrupt(s.Pos, "truncated: needs %d bytes, has %d", len(p), s.size-s.Pos)
	}
	n, err := io.ReadFull(s.dec, p)
	s.Sum = crc32.Update(s.Sum, crc32.IEEETable, p[:n])
	s.Pos += int64(n)
	if err != nil {
		return s.fail(err)
	}
	return nil
}

// Finish checks that nothing follows the last byte, and the sum.
func (s *Stream) Finish() error {
	if s.Done || s.Pos < s.size {
		return nil
	}
	var one [1]byte
	switch n, err := io.ReadFull(s.dec, one[:]); {
	case n > 0:
		return shardify.Corrupt(s.size, "member is larger than its array")
	case err != io.EOF:
		return s.fail(err)
	}
	used := s.raw.n
	if s.dec == &s.inf {
		used = s.inf.InputBytes()
	}
	if used != s.raw.Size() {
		return shardify.Corrupt(-1, "compressed data end after %d of %d bytes", used, s.raw.Size())
	}
	if s.Sum != s.want {
		return BadSum(s.Sum, s.want)
	}
	s.Done = true
	return nil
}

// BadSum is the error of a member whose checksum differs from the stored one.
func BadSum(is, want uint32) error {
	return shardify.Corrupt(-1, "crc32 is %08x, stored %08x", is, want)
}

// fail says where decoding stopped. Damage becomes ErrCorrupt; an error of the
// file stays what it is.
func (s *Stream) fail(err error) error {
	var bz bzip2.StructuralError
	var inf *inflate.Error
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return shardify.Corrupt(s.Pos, "truncated: the compressed data end after %d of %d bytes", s.Pos, s.size)
	case errors.As(err, &bz), errors.As(err, &inf):
		return shardify.Corrupt(s.Pos, "%v", err)
	}
	return err
}
