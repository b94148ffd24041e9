package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/shardify/shardify"
)

// writeback is how many bytes are written before the kernel is asked to start
// putting them on disk, so that the final fsync is short.
const writeback = 64 << 20

type pending struct {
	*os.File
	out     writer // File, where it can be written to fast
	dir     *Dir
	name    string
	written int64
	started int64
	done    bool
}

// writer is a file that may have room reserved behind its end, until Trim.
type writer interface {
	io.Writer
	io.WriterAt
	Trim() error
}

// OSFile gives spill files access to copy_file_range.
func (p *pending) OSFile() *os.File { return p.File }

func (p *pending) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	p.wrote(int64(n))
	return n, err
}

func (p *pending) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.out.WriteAt(b, off)
	p.wrote(int64(n))
	return n, err
}

func (p *pending) wrote(n int64) {
	p.written += n
	if p.dir.sync == SyncShard && p.written-p.started >= writeback {
		p.started = p.written
		startWriteback(p.File)
	}
}

// Commit makes the file durable, then visible. A failed fsync is final: the
// kernel may have dropped the pages, so a second fsync proves nothing.
func (p *pending) Commit(ctx context.Context) error {
	if p.done {
		return fmt.Errorf("publish %s: already ended", p.name)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := p.publish(); err != nil {
		return &shardify.Error{Op: "publish", File: p.dir.path(p.name), Sample: -1, Offset: -1, Err: err}
	}
	return nil
}

func (p *pending) publish() error {
	temp := p.File.Name()
	p.done = true
	defer os.Remove(temp)
	if err := p.out.Trim(); err != nil {
		p.File.Close()
		return err
	}
	if p.dir.sync == SyncShard {
		if err := p.File.Sync(); err != nil {
			p.File.Close()
			return err
		}
	}
	if err := p.File.Close(); err != nil {
		return err
	}
	parent := path.Dir(p.name)
	if err := p.dir.mkdir(parent); err != nil {
		return err
	}
	final := p.dir.path(p.name)
	if err := link(temp, final); err != nil {
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		same, err := equal(temp, final)
		if err != nil {
			return err
		}
		if !same {
			return fmt.Errorf("a file of other content is there: %w", shardify.ErrExists)
		}
	}
	if p.dir.sync == SyncShard {
		return syncDir(filepath.Dir(final))
	}
	return nil
}

// link gives the file its final name unless that is taken. Where hard links are
// refused it renames without replacing, and where that is refused too it looks
// before it renames: two writers of one name write equal bytes, so the race that
// is left harms nobody.
func link(temp, final string) error {
	err := os.Link(temp, final)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if !refused(err) {
		// A lost reply on NFS: the link may be there although the call failed.
		if st, e := os.Stat(temp); e == nil {
			if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Nlink == 2 {
				return nil
			}
		}
		return err
	}
	err = renameNoReplace(temp, final)
	if err == nil || !refused(err) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	if _, err := os.Lstat(final); err == nil {
		return fs.ErrExist
	}
	return os.Rename(temp, final)
}

func refused(err error) bool {
	for _, e := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS, syscall.EMLINK, syscall.EXDEV} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func equal(a, b string) (bool, error) {
	fa, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	return sameBytes(fa, fb)
}

func sameBytes(a, b io.Reader) (bool, error) {
	bufA, bufB := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if n != m || string(bufA[:n]) != string(bufB[:m]) {
			return false, nil
		}
		endA := errA == io.EOF || errA == io.ErrUnexpectedEOF
		endB := errB == io.EOF || errB == io.ErrUnexpectedEOF
		switch {
		case errA != nil && !endA:
			return false, errA
		case errB != nil && !endB:
			return false, errB
		case endA || endB:
			return endA && endB, nil
		}
	}
}

func (p *pending) Abort() error {
	if p.done {
		return nil
	}
	p.done = true
	return errors.Join(p.File.Close(), os.Remove(p.File.Name()))
}
