package local

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/shardify/shardify/storage"
)

// Spill is a scratch file: appended to, then copied to its final place, range by
// range. It has no name, so nothing is left of it whatever happens.
type Spill struct {
	f    *os.File
	size int64
	in   storage.Scratcher // nil if the store has no room for such files
}

// NewSpill makes a scratch file, beside the data set if the store has a folder,
// else in the system's temporary folder.
func NewSpill(s storage.Store) (*Spill, error) {
	var f *os.File
	var err error
	in, ok := storage.As[storage.Scratcher](s)
	if ok {
		f, err = in.Scratch()
	} else if f, err = os.CreateTemp("", "shardify-spill-*"); err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return &Spill{f: f, in: in}, nil
}

// Scratch makes a file without a name in the folder of scratch files.
func (d *Dir) Scratch() (*os.File, error) {
	if d.scratch != "" {
		return d.scratchFile("spill")
	}
	f, err := d.temp("spill")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// Failed adds to the error of a scratch file what is known about the room there.
func (d *Dir) Failed(f *os.File, err error) error { return d.failed(filepath.Dir(f.Name()), err) }

// Write appends.
func (s *Spill) Write(b []byte) (int, error) {
	n, err := s.f.WriteAt(b, s.size)
	s.size += int64(n)
	if err != nil && s.in != nil {
		err = s.in.Failed(s.f, err)
	}
	return n, err
}

// Size is the bytes written so far.
func (s *Spill) Size() int64 { return s.size }

// ReadAt reads what was written.
func (s *Spill) ReadAt(b []byte, off int64) (int, error) { return s.f.ReadAt(b, off) }

// Extent is a range of bytes of a scratch file.
type Extent struct{ Off, Len int64 }

const (
	// gather is how much of small extents is read before it is written.
	gather = 1 << 20
	// direct is the length from which an extent is copied inside the kernel.
	direct = 256 << 10
)

// CopyTo writes the extents one after the other at off of dst, the long ones inside
// the kernel where both are files. buf is scratch memory, returned for the next
// call.
func (s *Spill) CopyTo(dst storage.Pending, off int64, extents []Extent, buf []byte) ([]byte, error) {
	kernel, ok := storage.As[storage.RangeCopier](dst)
	buf = buf[:0]
	flush := func() error {
		_, err := dst.WriteAt(buf, off)
		off += int64(len(buf))
		buf = buf[:0]
		return err
	}
	for _, e := range extents {
		if ok && e.Len >= direct {
			if err := flush(); err != nil {
				return buf, err
			}
			done, err := kernel.CopyRange(off, s.f, e.Off, e.Len)
			if err != nil {
				return buf, err
			}
			off, e.Off, e.Len = off+done, e.Off+done, e.Len-done
		}
		for e.Len > 0 {
			if cap(buf) == 0 {
				buf = make([]byte, 0, gather)
			}
			n := int(min(e.Len, int64(cap(buf)-len(buf))))
			got, err := s.f.ReadAt(buf[len(buf):len(buf)+n], e.Off)
			if got < n {
				if err == nil || errors.Is(err, io.EOF) {
					err = io.ErrUnexpectedEOF
				}
				return buf, err
			}
			buf = buf[:len(buf)+n]
			e.Off, e.Len = e.Off+int64(n), e.Len-int64(n)
			if len(buf) == cap(buf) {
				if err := flush(); err != nil {
					return buf, err
				}
			}
		}
	}
	if len(buf) == 0 {
		return buf, nil
	}
	return buf, flush()
}

// Copy copies a file to a new one: inside the kernel, which may share the blocks, where
// both are files of this machine. It returns how many bytes there were, more than size if the
// file is longer.
func Copy(dst storage.Pending, src *os.File, size int64) (n int64, err error) {
	if kernel, ok := storage.As[storage.RangeCopier](dst); ok {
		if n, err = kernel.CopyRange(0, src, 0, size); err != nil {
			return n, err
		}
	}
	rest, err := io.Copy(io.NewOffsetWriter(dst, n), io.NewSectionReader(src, n, math.MaxInt64-n))
	return n + rest, err
}

// Close frees the space.
func (s *Spill) Close() error { return closeFile(s.f) }
