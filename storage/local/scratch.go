package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify/storage"
)

// Shards being written may be on a disk of this node, beside the folder that they are
// for: they are written there in any order, and copied out from first to last once they
// are complete. Their files have no name, so nothing is left of them whatever happens.

// copyPiece is how much is copied out at a time.
const copyPiece = 1 << 20

// SetScratch puts shards being written, and spill files, into a folder below dir.
// Call it before the first file.
func (d *Dir) SetScratch(dir string) error {
	// The user's own: other people may use the same dir.
	d.scratch = filepath.Join(dir, fmt.Sprintf("shardify-%d", os.Getuid()))
	if err := os.MkdirAll(d.scratch, 0o700); err != nil {
		return d.failed(dir, err)
	}
	return d.owner.clean(d.scratch, "")
}

// DropScratch removes the folder of scratch files, unless another process uses it.
func (d *Dir) DropScratch() {
	if d.scratch != "" {
		os.Remove(d.scratch)
	}
}

// large reports whether a file is worth a detour over a scratch disk: shards are.
func large(name string) bool {
	return !strings.HasPrefix(name, storage.Private+"/") && path.Ext(name) != ".json" && path.Ext(name) != ".idx"
}

// scratchFile makes a file that has no name any more.
func (d *Dir) scratchFile(base string) (*os.File, error) {
	f, err := d.owner.create(d.scratch, base)
	if err == nil {
		if err = os.Remove(f.Name()); err != nil {
			f.Close()
		}
	}
	return f, d.failed(d.scratch, err)
}

func (d *Dir) createScratch(name string) (storage.Pending, error) {
	f, err := d.scratchFile(path.Base(name))
	if err != nil {
		return nil, err
	}
	return &pending{dir: d, name: name, File: f, out: output(f), scratch: true}, nil
}

// moveOut copies the file to one in the temporary folder of the store, which takes its
// place. The scratch file is closed and so gone, unless that fails.
func (p *pending) moveOut(ctx context.Context) error {
	from := p.File
	st, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := p.dir.temp(path.Base(p.name))
	if err != nil {
		return err
	}
	p.File, p.out, p.scratch = to, output(to), false
	defer from.Close()
	buf := make([]byte, copyPiece)
	for at := int64(0); at < st.Size(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := from.ReadAt(buf[:min(int64(len(buf)), st.Size()-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		if _, err := p.Write(buf[:n]); err != nil {
			return err
		}
		at += int64(n)
	}
	if err := p.out.Trim(); err != nil {
		return err
	}
	copied, err := to.Stat()
	if err == nil && copied.Size() != st.Size() {
		err = fmt.Errorf("the copy has %d bytes of %d", copied.Size(), st.Size())
	}
	return err
}
