package tfrecord

import (
	"encoding/binary"
	"errors"
	"hash"
	"hash/adler32"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/crc32c"
	"github.com/shardify/shardify/codecs/inflate"
)

// firstRead is the least that a Scanner asks for at once.
const firstRead = 1 << 20

// longRecord is the least record that is summed before it is in memory.
const longRecord = 16 << 20

// Scanner passes over the records of a file in order. It checks both checksums of each.
type Scanner struct {
	r    io.Reader
	left int64 // bytes that r still has; -1 if that is not known
	buf  []byte
	lo   int
	base int64 // of r in the file
	sure int   // bytes that are known to be there, from buf[lo] on
	off  int64 // of buf[lo]
	at   int64
	// Most, if set, is the most bytes that a record of a packed file can have.
	Most int64
	// Hold, if set, is called with the bytes that it will have in memory before that grows.
	Hold func(n int64) error
}

// NewScanner reads records from r, which begins at byte off of a file and has size bytes; -1 if
// that is not known. An r that is an io.ReaderAt, too, reads long records twice: only if their checksums are right, all of
// one is in memory.
func NewScanner(r io.Reader, off, size int64) *Scanner {
	s := &Scanner{}
	s.Reset(r, off, size)
	return s
}

// Reset begins again with another stream. The memory is kept.
func (s *Scanner) Reset(r io.Reader, off, size int64) {
	s.r, s.base, s.off, s.left, s.buf, s.lo = r, off, off, size, s.buf[:0], 0
}

// At is where the record begins that Next returned, in the file, or in what it unpacks to.
func (s *Scanner) At() int64 { return s.at }

// Ends is where the next one begins.
func (s *Scanner) Ends() int64 { return s.off }

// Held is the bytes that it has in memory.
func (s *Scanner) Held() int64 { return int64(cap(s.buf)) }

// Next returns the data of the next record, until the next call; io.EOF behind the last one.
func (s *Scanner) Next() ([]byte, error) {
	s.at = s.off
	if err := s.fill(HeadBytes); err != nil {
		if err == io.EOF && len(s.buf) > s.lo {
			err = shardify.Corrupt(s.at, "the file ends inside of the head of a record")
		}
		return nil, err
	}
	n, ok := ParseHead(s.buf[s.lo:])
	switch {
	case !ok:
		return nil, shardify.Corrupt(s.at, "the checksum of the length of a record is wrong")
	case s.left >= 0 && n+TailBytes > uint64(s.left)+uint64(len(s.buf)-s.lo-HeadBytes) || n > 1<<50 || s.Most > 0 && n > uint64(s.Most):
		return nil, shardify.Corrupt(s.at, "a record of %d bytes is announced, the file ends earlier", n)
	case n > MaxRecord:
		return nil, shardify.Unsupported("a record of %d bytes at byte %d: at most %d are read", n, s.at, MaxRecord)
	}
	err := s.look(int64(n))
	if err == nil {
		err = s.fill(HeadBytes + int(n) + TailBytes)
	}
	if s.sure = 0; err != nil {
		return nil, s.early(int64(n), err)
	}
	b := s.buf[s.lo+HeadBytes:][:n+TailBytes]
	s.lo, s.off = s.lo+HeadBytes+len(b), s.off+int64(HeadBytes+len(b))
	b = b[:n:len(b)]
	return b, s.check(mask(b), b[n:n+TailBytes])
}

func (s *Scanner) check(sum uint32, tail []byte) error {
	if sum != binary.LittleEndian.Uint32(tail) {
		return shardify.Corrupt(s.at+HeadBytes, "the checksum of the data of a record is wrong")
	}
	return nil
}

// look checks the checksum of a long record of n bytes piece by piece, before all of it is in memory.
func (s *Scanner) look(n int64) error {
	f, ok := s.r.(io.ReaderAt)
	if !ok || s.left < 0 || n < longRecord {
		return nil
	}
	buf, sum := make([]byte, firstRead), uint32(0)
	at := s.at + HeadBytes - s.base
	for left := n; left > 0; {
		k, err := f.ReadAt(buf[:min(left, int64(len(buf)))], at)
		if err != nil && (err != io.EOF || k == 0) {
			return err
		}
		sum = crc32c.Update(sum, buf[:k])
		at, left = at+int64(k), left-int64(k)
	}
	if k, err := f.ReadAt(buf[:TailBytes], at); k < TailBytes {
		return err
	}
	s.sure = HeadBytes + int(n) + TailBytes
	return s.check(masked(sum), buf)
}

// early is the error of a file that ends inside of a record.
func (s *Scanner) early(n int64, err error) error {
	if err == io.EOF {
		return shardify.Corrupt(s.at, "a record of %d bytes is announced, the file ends earlier", n)
	}
	return err
}

// fill has n bytes or more in memory; io.EOF if there are fewer.
func (s *Scanner) fill(n int) error {
	for len(s.buf)-s.lo < n {
		if s.lo > 0 {
			s.buf = s.buf[:copy(s.buf, s.buf[s.lo:])]
			s.lo = 0
		}
		if len(s.buf) == cap(s.buf) { // twice as much each time: a length is a claim until the bytes come
			size := max(min(2*cap(s.buf), n+firstRead), firstRead)
			if n <= s.sure {
				size = n
			}
			if s.left >= 0 {
				size = int(min(int64(size), int64(len(s.buf))+max(s.left, HeadBytes)))
			}
			if s.Hold != nil {
				if err := s.Hold(int64(size + cap(s.buf))); err != nil {
					return err
				}
			}
			s.buf = append(make([]byte, 0, size), s.buf...)
		}
		room := s.buf[len(s.buf):cap(s.buf)]
		if s.left >= 0 {
			room = room[:min(int64(len(room)), s.left)]
		}
		if len(room) == 0 {
			return io.EOF
		}
		k, err := io.ReadAtLeast(s.r, room, min(len(room), max(n-len(s.buf), 1)))
		s.buf = s.buf[:len(s.buf)+k]
		if s.left >= 0 {
			s.left -= int64(k)
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF && s.left < 0:
			if len(s.buf)-s.lo < n {
				return io.EOF
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// Expands is how many bytes one of DEFLATE can be at most.
const Expands = 1032

// Unpack reads the records of a packed file of size bytes, from r, which begins there.
func Unpack(p Packing, f io.ReaderAt, r io.Reader) io.Reader {
	if p == Gzip {
		g := &inflate.Reader{}
		g.ResetGzip(r)
		return &unpack{r: g}
	}
	z := &zlib{f: f, in: r, sum: adler32.New()}
	return &unpack{r: z}
}

// unpack has the errors of a packed stream as those of a file.
type unpack struct{ r io.Reader }

func (u *unpack) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	var e *inflate.Error
	if errors.As(err, &e) {
		if errors.Is(e.Err, inflate.ErrCorrupt) || errors.Is(e.Err, io.ErrUnexpectedEOF) {
			return n, shardify.Corrupt(e.Offset, "the packed stream: %s", e.What)
		}
		return n, shardify.Unsupported("the packed stream at byte %d: %s", e.Offset, e.What)
	}
	if err == io.ErrUnexpectedEOF {
		return n, shardify.Corrupt(-1, "the packed stream ends early")
	}
	return n, err
}

// zlib is a stream of zlib: two bytes, DEFLATE, the Adler-32 of what it unpacks to.
type zlib struct {
	f     io.ReaderAt
	in    io.Reader
	r     inflate.Reader
	sum   hash.Hash32
	begun bool
}

func (z *zlib) Read(b []byte) (int, error) {
	if !z.begun {
		var head [2]byte
		if _, err := io.ReadFull(z.in, head[:]); err != nil {
			return 0, err
		}
		if head[1]&0x20 != 0 {
			return 0, shardify.Unsupported("zlib with a dictionary")
		}
		z.r.Reset(z.in)
		z.begun = true
	}
	n, err := z.r.Read(b)
	z.sum.Write(b[:n])
	if err != io.EOF {
		return n, err
	}
	var tail [5]byte
	at := 2 + z.r.InputBytes()
	k, bad := z.f.ReadAt(tail[:], at)
	switch {
	case bad != nil && bad != io.EOF:
		return n, bad
	case k < 4:
		return n, shardify.Corrupt(at, "the packed stream ends early")
	case binary.BigEndian.Uint32(tail[:]) != z.sum.Sum32():
		return n, shardify.Corrupt(at, "the checksum of the packed stream is wrong")
	case k > 4:
		return n, shardify.Corrupt(at+4, "bytes behind the packed stream")
	}
	return n, io.EOF
}
