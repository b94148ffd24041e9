package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/shardify/shardify"
)

// Spill is a scratch file: appended to, then copied to its final place, range by
// range. It has no name, so nothing is left of it whatever happens.
type Spill struct {
	f    *os.File
	size int64
	dir  *Dir // nil if the store has no folder
}

// spiller is a store that has room for scratch files beside its own.
type spiller interface{ spillFile() (*os.File, error) }

// NewSpill makes a scratch file, beside the data set if the store has a folder,
// else in the system's temporary folder.
func NewSpill(s shardify.Store) (*Spill, error) {
	var f *os.File
	var err error
	if sp, ok := s.(spiller); ok {
		f, err = sp.spillFile()
	} else if f, err = os.CreateTemp("", "shardify-spill-*"); err == nil {
		err = os.Remove(f.Name())
	}
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	x := &Spill{f: f}
	x.dir, _ = s.(*Dir)
	return x, nil
}

func (d *Dir) spillFile() (*os.File, error) {
	if d.scratch != "" {
		return d.scratchFile("spill")
	}
	f, err := d.temp("spill")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// Write appends.
func (s *Spill) Write(b []byte) (int, error) {
	n, err := s.f.WriteAt(b, s.size)
	s.size += int64(n)
	if err != nil && s.dir != nil {
		err = s.dir.failed(filepath.Dir(s.f.Name()), err)
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
// the kernel where both are files. buf is scratch memory, handed back for the next
// call.
func (s *Spill) CopyTo(dst shardify.Pending, off int64, extents []Extent, buf []byte) ([]byte, error) {
	o, files := dst.(interface{ OSFile() *os.File })
	buf = buf[:0]
	flush := func() error {
		_, err := dst.WriteAt(buf, off)
		off += int64(len(buf))
		buf = buf[:0]
		return err
	}
	for _, e := range extents {
		if files && e.Len >= direct {
			if err := flush(); err != nil {
				return buf, err
			}
			done := copyRange(o.OSFile(), off, s.f, e.Off, e.Len)
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

// Close frees the space.
func (s *Spill) Close() error { return closeFile(s.f) }
