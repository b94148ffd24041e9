package local

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
	"github.com/shardify/shardify/internal/host"
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
	scratch bool // it is in the folder for scratch files, without a name
	done    bool
}

// writer is a file that may have room reserved behind its end, until Trim.
type writer interface {
	io.Writer
	io.WriterAt
	Trim() error
}

// CopyRange copies inside the kernel, where the file systems do that.
func (p *pending) CopyRange(off int64, src *os.File, from, n int64) (int64, error) {
	return copyRange(p.File, off, src, from, n), nil
}

func (p *pending) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	return n, p.wrote(n, err)
}

func (p *pending) WriteAt(b []byte, off int64) (int, error) {
	n, err := p.out.WriteAt(b, off)
	return n, p.wrote(n, err)
}

// wrote counts what was written.
func (p *pending) wrote(n int, err error) error {
	if !p.scratch {
		p.dir.written.Add(int64(n))
		p.written += int64(n)
		if p.dir.sync == SyncShard && p.written-p.started >= writeback {
			p.started = p.written
			startWriteback(p.File)
		}
	}
	return p.failed(err)
}

func (p *pending) failed(err error) error { return p.dir.failed(filepath.Dir(p.File.Name()), err) }

// Commit makes the file durable, then visible. A failed fsync is final: the
// kernel may have dropped the pages, so a second fsync proves nothing.
func (p *pending) Commit(ctx context.Context) error {
	return p.commit(ctx, p.dir.durable(p.name), func(temp, final string) error {
		err := link(temp, final)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		same, err := equal(temp, final)
		if err != nil || same {
			return err
		}
		if p.dir.sync != SyncShard { // else what has its name is whole
			if same, err = torn(final, temp); err != nil {
				return err
			}
			if same {
				return rename(temp, final)
			}
		}
		return fmt.Errorf("a file of other content is there: %w", shardify.ErrExists)
	})
}

// commit completes the file and calls name to give it its name.
func (p *pending) commit(ctx context.Context, durable bool, name func(temp, final string) error) error {
	if p.done {
		return fmt.Errorf("publish %s: already ended", p.name)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	final := p.dir.path(p.name)
	p.done = true
	err := p.complete(ctx, durable)
	if !p.scratch { // else no file was made
		defer os.Remove(p.File.Name())
	}
	if err == nil {
		err = p.dir.mkdir(path.Dir(p.name))
	}
	if err == nil {
		err = name(p.File.Name(), final)
	}
	if err == nil && durable {
		err = syncDir(filepath.Dir(final))
	}
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	return &shardify.Error{Op: "publish", File: final, Sample: -1, Offset: -1, Err: p.dir.failed(filepath.Dir(final), err)}
}

// complete makes the bytes final, in a file of the temporary folder, and closes it. What
// close says counts: on network file systems a full disk may show there first.
func (p *pending) complete(ctx context.Context, durable bool) error {
	err := p.out.Trim()
	if err == nil && p.scratch {
		err = p.moveOut(ctx)
	}
	if err == nil && durable {
		err = syncFile(p.File)
	}
	return p.failed(errors.Join(err, closeFile(p.File)))
}

// The calls that tests let fail.
var (
	hardLink = os.Link
	syncFile = (*os.File).Sync
	syncAll  = syncFS

	writtenBack = host.WrittenBack
	rename      = os.Rename
	noReplace   = renameNoReplace
)

// link gives the file its final name unless that is taken. Where hard links are refused it
// renames without replacing. Where that is refused too, it looks before it renames: a race
// remains, but it does no harm, since two writers of one name write equal bytes.
func link(temp, final string) error {
	err := hardLink(temp, final)
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
	err = noReplace(temp, final)
	if err == nil || !refused(err) && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	if _, err := os.Lstat(final); err == nil {
		return fs.ErrExist
	}
	return rename(temp, final)
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
	fa, _, err := OpenOwn(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	fb, _, err := OpenOwn(b)
	if err != nil {
		return false, err
	}
	defer fb.Close()
	x, errA := fa.Stat()
	y, errB := fb.Stat()
	if errA == nil && errB == nil && os.SameFile(x, y) {
		return true, nil // a link whose success got lost on the way, and was tried again
	}
	return sameBytes(fa, fb)
}

func sameBytes(a, b io.Reader) (bool, error) {
	bufA, bufB := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		endA := errA == io.EOF || errA == io.ErrUnexpectedEOF
		endB := errB == io.EOF || errB == io.ErrUnexpectedEOF
		switch { // errors first: they too make one shorter than the other
		case errA != nil && !endA:
			return false, errA
		case errB != nil && !endB:
			return false, errB
		case n != m || string(bufA[:n]) != string(bufB[:m]):
			return false, nil
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
	if p.scratch {
		return p.File.Close()
	}
	return errors.Join(p.File.Close(), os.Remove(p.File.Name()))
}
