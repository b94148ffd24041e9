package inflate

import (
	"hash/crc32"
	"io"
)

// inputSize is how many bytes a Reader asks for at once.
const inputSize = 64 << 10

// keepBytes is how many used bytes stay in the buffer: run may hand back up to
// seven that it holds as bits.
const keepBytes = 8

// source is compressed input: a buffer, and where more comes from.
type source struct {
	buf  []byte
	ip   int       // next byte in buf
	base int64     // offset of buf[0] in the input
	r    io.Reader // nil when buf holds the whole input
	err  error     // what r returned last, kept until buf is used up
}

// offset is that of the next byte, from the start of the input.
func (s *source) offset() int64 { return s.base + int64(s.ip) }

// reset makes r the input, with an empty buffer.
func (s *source) reset(r io.Reader) {
	if s.buf == nil {
		s.buf = make([]byte, 0, keepBytes+inputSize)
	}
	s.buf = s.buf[:0]
	s.ip, s.base, s.r, s.err = 0, 0, r, nil
}

// more adds at least one byte to buf. At the end of the input it returns io.EOF.
// The unused bytes must leave room, as they do when run needs input: those are
// fewer than one block header.
func (s *source) more() error {
	if s.r == nil {
		return io.EOF
	}
	if s.err != nil {
		return s.err
	}
	if from := s.ip - keepBytes; from > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[from:])]
		s.ip -= from
		s.base += int64(from)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		s.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	s.err = io.ErrNoProgress
	return s.err
}

// next returns the next byte. At the end of the input it returns io.EOF.
func (s *source) next() (byte, error) {
	if s.ip == len(s.buf) {
		if err := s.more(); err != nil {
			return 0, err
		}
	}
	c := s.buf[s.ip]
	s.ip++
	return c, nil
}

// fail makes an Error at the next byte.
func (s *source) fail(cause error, what string) error {
	return &Error{Offset: s.offset(), What: what, Err: cause}
}

// ended returns the error for err from more or next where what was to come.
func (s *source) ended(err error, what string) error {
	if err == io.EOF {
		return s.fail(io.ErrUnexpectedEOF, "input ends in "+what)
	}
	return err
}

// field reads small parts of a frame, keeping their CRC. After the first error
// it returns zeros.
type field struct {
	src *source
	crc uint32
	err error
}

func (f *field) byte() byte {
	if f.err != nil {
		return 0
	}
	var c byte
	if c, f.err = f.src.next(); f.err == nil {
		// crc32.Update would move the byte to the heap: six allocations a chunk.
		f.crc = ^(crc32.IEEETable[byte(^f.crc)^c] ^ ^f.crc>>8)
	}
	return c
}

func (f *field) uint16() uint16 {
	lo := f.byte()
	return uint16(lo) | uint16(f.byte())<<8
}

func (f *field) uint32() uint32 {
	lo := f.uint16()
	return uint32(lo) | uint32(f.uint16())<<16
}

func (f *field) skip(n int) {
	for ; n > 0 && f.err == nil; n-- {
		f.byte()
	}
}

func (f *field) skipString() {
	for f.err == nil && f.byte() != 0 {
	}
}
