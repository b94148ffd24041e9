package stage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"golang.org/x/sync/errgroup"
)

// copier fills the staging folder.
type copier struct {
	*plan
	o       *Options
	staging string
	store   *local.Dir
	buffers chan []byte
}

// run copies and checks all files, several at once, and returns the bytes that
// earlier runs had left.
func (c *copier) run(ctx context.Context) (reused int64, err error) {
	c.buffers = make(chan []byte, c.o.Jobs)
	for range c.o.Jobs {
		c.buffers <- make([]byte, pieceBytes)
	}
	var left atomic.Int64
	g, jobs := errgroup.WithContext(ctx)
	g.SetLimit(c.o.Jobs)
	for i := range c.files {
		if jobs.Err() != nil {
			break
		}
		g.Go(func() error {
			buf := <-c.buffers
			defer func() { c.buffers <- buf }()
			n, err := c.file(jobs, &c.files[i], buf)
			if err == nil {
				left.Add(n)
				c.o.Progress.Files.Add(1)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if ctx.Err() != nil { // not all files were started
		return 0, context.Cause(ctx)
	}
	return left.Load(), nil
}

// file brings one file into the staging folder.
func (c *copier) file(ctx context.Context, f *file, buf []byte) (reused int64, err error) {
	step := c.o.Steps.Begin("copying " + c.path(f.name))
	p, reused, err := c.fill(ctx, f, buf)
	step.End()
	if err != nil || p == nil {
		return reused, err
	}
	defer c.o.Steps.Begin("publishing " + c.left(f) + " (fsync)").End()
	if err := p.Commit(ctx); err != nil {
		return 0, errors.Join(err, p.Abort())
	}
	return 0, nil
}

// left is where an earlier run has left a file.
func (c *copier) left(f *file) string { return filepath.Join(c.staging, filepath.FromSlash(f.name)) }

// fill copies a file, unless an earlier run has left a good copy.
func (c *copier) fill(ctx context.Context, f *file, buf []byte) (p storage.Pending, reused int64, err error) {
	left := c.left(f)
	if _, err := os.Lstat(left); err == nil {
		n, _, err := c.pass(ctx, left, f, nil, buf)
		if err == nil {
			return nil, n, nil
		}
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		c.o.Progress.Bytes.Add(-n)
		if err := os.Remove(left); err != nil {
			return nil, 0, err
		}
	}
	for k := 0; ; k++ {
		if p, err = c.store.Create(f.name); err != nil {
			return nil, 0, err
		}
		n, again, err := c.pass(ctx, c.path(f.name), f, p, buf)
		if err == nil {
			return p, 0, nil
		}
		if err = errors.Join(err, p.Abort()); !again || k == dataset.Refetches {
			return nil, 0, err
		}
		c.o.Progress.Bytes.Add(-n)
	}
}

// pass reads a file once, checks it, and writes it to w unless that is nil. It
// returns how many bytes it read. again: it arrived damaged from another machine, and is
// fetched again by the next pass.
func (c *copier) pass(ctx context.Context, path string, f *file, w io.Writer, buf []byte) (n int64, again bool, err error) {
	n, again, err = c.stream(ctx, path, f, w, buf)
	if err == nil || ctx.Err() != nil {
		return n, false, err
	}
	var p *fs.PathError
	if errors.As(err, &p) { // names its file by itself
		return n, false, err
	}
	return n, again, shardify.Annotate(err, "stage", path, "")
}

func (c *copier) stream(ctx context.Context, path string, f *file, w io.Writer, buf []byte) (at int64, again bool, err error) {
	files := storage.NewBound(storages.Files)
	files.Until(ctx)
	r, err := dataset.OpenFile(ctx, files, path, f.bytes)
	if err != nil {
		return 0, false, err
	}
	defer func() {
		again = dataset.Again(r, err)
		r.Close()
	}()
	if o := storage.OSFile(r); o != nil {
		sequential(o)
	}
	check, err := f.checker(r, c.o.Verify)
	if err != nil {
		return 0, false, err
	}
	for at < f.bytes {
		if ctx.Err() != nil {
			return at, false, context.Cause(ctx)
		}
		b := buf[:min(int64(len(buf)), f.bytes-at)]
		n, err := r.ReadAt(b, at)
		if n < len(b) {
			if err == io.EOF {
				err = shardify.Corrupt(at+int64(n), "the file ends here, it had %d bytes", f.bytes)
			}
			return at, false, err
		}
		if _, err := check.Write(b); err != nil {
			return at, false, err
		}
		if w != nil {
			if _, err := w.Write(b); err != nil {
				return at, false, err
			}
		}
		at += int64(n)
		c.o.Progress.Bytes.Add(int64(n))
	}
	return at, false, check.End()
}
