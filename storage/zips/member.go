package zips

import (
	"hash/crc32"
	"io"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/storage"
)

// maxParts bounds a deflated member that is read in parts: it is decoded to memory.
const maxParts = 256 << 20

// member is a member of an archive, open. Its CRC-32 is compared before anything of it is used. One
// that is read as a whole goes to where it is wanted, without a copy.
type member struct {
	a    *archive
	e    *Entry
	i    int
	off  int64 // of its data in the archive
	d    *decoded
	mu   sync.Mutex
	shut sync.Once
}

func (m *member) Size() int64          { return m.e.Decoded }
func (m *member) Stamp() storage.Stamp { return m.a.stampOf(m.i) }

// Close implements storage.File.
func (m *member) Close() error {
	m.shut.Do(func() {
		m.a.mu.Lock()
		if m.d != nil {
			if m.d.refs--; m.d.refs == 0 {
				delete(m.a.decoded, m.i)
			}
		}
		m.a.mu.Unlock()
		m.a.release()
	})
	return nil
}

// ReadAt implements io.ReaderAt.
func (m *member) ReadAt(p []byte, off int64) (int, error) {
	size := m.e.Decoded
	if off < 0 || off >= size {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, m.empty()
	}
	n := int(min(int64(len(p)), size-off))
	err := m.read(p[:n], off)
	switch {
	case err != nil:
		return 0, inMember(m.e, err)
	case n < len(p):
		return n, io.EOF
	}
	return n, nil
}

// empty is what a read behind the end gives: a member without bytes has a checksum, too.
func (m *member) empty() error {
	if m.e.Decoded == 0 && m.e.CRC != 0 {
		return inMember(m.e, m.sum(0))
	}
	return io.EOF
}

func (m *member) read(p []byte, off int64) error {
	whole := int64(len(p)) == m.e.Decoded
	switch {
	case m.e.Method == Deflated && whole:
		return m.inflate(p)
	case m.e.Method == Deflated:
		all, err := m.all()
		copy(p, all[min(off, int64(len(all))):])
		return err
	case whole:
		if err := m.stored(p, off); err != nil {
			return err
		}
		return m.sum(crc32.ChecksumIEEE(p))
	}
	if err := m.check(); err != nil {
		return err
	}
	return m.stored(p, off)
}

func (m *member) stored(p []byte, off int64) error {
	return full(m.a.in, p, m.off+off)
}

// full fills p from a file that has the bytes.
func full(in io.ReaderAt, p []byte, off int64) error {
	n, err := in.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return shardify.Corrupt(off+int64(n), "truncated while it was read")
	}
	return err
}

var packedBuffers = sync.Pool{New: func() any { return new([]byte) }}

// inflate decodes a deflated member into p, which has its size.
func (m *member) inflate(p []byte) error {
	buf := packedBuffers.Get().(*[]byte)
	defer packedBuffers.Put(buf)
	if int64(cap(*buf)) < m.e.Packed {
		*buf = make([]byte, m.e.Packed)
	}
	src := (*buf)[:m.e.Packed]
	if err := full(m.a.in, src, m.off); err != nil {
		return err
	}
	n, used, err := inflate.Deflate(p, src)
	switch {
	case err != nil:
		return shardify.Corrupt(m.off, "deflate: %v", err)
	case n != len(p) || used != len(src):
		return shardify.Corrupt(m.off, "%d of %d deflated bytes give %d, the directory says %d", used, len(src), n, len(p))
	}
	return m.sum(crc32.ChecksumIEEE(p))
}

func (m *member) sum(is uint32) error {
	if is != m.e.CRC {
		return shardify.Corrupt(m.off, "crc32 is %08x, stored %08x", is, m.e.CRC)
	}
	return nil
}

// all is the content of a deflated member, which is decoded once.
func (m *member) all() ([]byte, error) {
	if m.e.Decoded > maxParts {
		return nil, shardify.Unsupported("deflated, and read in parts: of %d bytes at most %d are kept in memory: unpack the archive first, with unzip", m.e.Decoded, maxParts)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.d == nil {
		m.a.mu.Lock()
		if m.d = m.a.decoded[m.i]; m.d == nil {
			m.d = &decoded{}
			m.a.decoded[m.i] = m.d
		}
		m.d.refs++
		m.a.mu.Unlock()
	}
	m.d.once.Do(func() {
		m.d.all = make([]byte, m.e.Decoded)
		if m.d.err = m.inflate(m.d.all); m.d.err != nil {
			m.d.all = nil
		}
	})
	return m.d.all, m.d.err
}

// check compares the checksum of a stored member that is read in parts, once.
func (m *member) check() error {
	m.a.mu.Lock()
	done := m.a.checked[m.i]
	m.a.mu.Unlock()
	if done {
		return nil
	}
	h := crc32.NewIEEE()
	if n, err := io.Copy(h, io.NewSectionReader(m.a.in, m.off, m.e.Decoded)); err != nil || n < m.e.Decoded {
		if err == nil {
			err = shardify.Corrupt(m.off+n, "truncated while it was read")
		}
		return err
	}
	if err := m.sum(h.Sum32()); err != nil {
		return err
	}
	m.a.mu.Lock()
	m.a.checked[m.i] = true
	m.a.mu.Unlock()
	return nil
}
