package store

import (
	"errors"
	"io"
	"os"

	"github.com/shardify/shardify"
)

// Spill is a scratch file: appended to, then copied to its final place. It has
// no name, so nothing is left of it whatever happens.
type Spill struct {
	f    *os.File
	size int64
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
	return &Spill{f: f}, nil
}

func (d *Dir) spillFile() (*os.File, error) {
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
	return n, err
}

// Size is the bytes written so far.
func (s *Spill) Size() int64 { return s.size }

// ReadAt reads what was written.
func (s *Spill) ReadAt(b []byte, off int64) (int, error) { return s.f.ReadAt(b, off) }

// CopyTo writes the whole content at off of dst, inside the kernel where both
// are files.
func (s *Spill) CopyTo(dst shardify.Pending, off int64) error {
	var done int64
	if o, ok := dst.(interface{ OSFile() *os.File }); ok {
		done = copyRange(o.OSFile(), off, s.f, 0, s.size)
	}
	buf := make([]byte, min(1<<20, s.size-done))
	for done < s.size {
		n, err := s.f.ReadAt(buf[:min(int64(len(buf)), s.size-done)], done)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		if _, err := dst.WriteAt(buf[:n], off+done); err != nil {
			return err
		}
		done += int64(n)
	}
	return nil
}

// Close frees the space.
func (s *Spill) Close() error { return s.f.Close() }
