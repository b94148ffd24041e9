package files

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/folders"
	"github.com/shardify/shardify/storage/local/dirfd"
	"github.com/shardify/shardify/storage/walk"
)

// retries is how often a file is opened again after an error that a network file
// system gives for a moment.
const retries = 3

var backoff = [retries]time.Duration{50 * time.Millisecond, 250 * time.Millisecond, time.Second}

// again calls do until it gives no transient error.
func (r *reader) again(ctx context.Context, do func() error) error {
	for try := 0; ; try++ {
		err := do()
		if err == nil || try == retries || !dirfd.Transient(err) {
			return err
		}
		r.leave(true)
		select {
		case <-time.After(backoff[try]):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// file fills all of dst but its last byte with the content of file i.
func (r *reader) file(ctx context.Context, i int, dst []byte) error {
	if err := r.once(ctx, i, dst); err != nil {
		if !dirfd.Transient(err) {
			return err
		}
		return r.again(ctx, func() error { return r.once(ctx, i, dst) })
	}
	return nil
}

func (r *reader) once(ctx context.Context, i int, dst []byte) error {
	if err := r.enter(ctx, i); err != nil {
		return err
	}
	keep := r.pace.Next(r.dir.Dir)
	h, err := r.dir.OpenFile(ctx, &r.name, r.noatime, keep)
	if err != nil && r.noatime && dirfd.Refused(err) {
		r.noatime = false
		h, err = r.dir.OpenFile(ctx, &r.name, false, keep)
	}
	if err != nil {
		return err
	}
	err = fill(&h, dst)
	h.Close()
	if errors.Is(err, syscall.EISDIR) {
		return dirfd.ErrNotFile
	}
	return err
}

// maxRead bounds one read: the kernel gives no more than 2 GiB, and a read that
// it cut short must not be taken for the end.
const maxRead = 1 << 30

// fill reads a file of len(dst)-1 bytes. It asks for a byte more than there
// should be: not to get it is the proof that the file ends here, without a stat
// or a further read.
func fill(h *folders.Handle, dst []byte) error {
	size, got := len(dst)-1, 0
	for {
		ask := min(len(dst)-got, maxRead)
		n, err := h.Read(dst[got : got+ask])
		if err != nil {
			return err
		}
		got += n
		switch {
		case got > size, n == 0 && got < size:
			return changed(h, int64(size))
		case got == size && n < ask:
			return nil
		}
	}
}

// changed says what a file is that is not what was planned.
func changed(h *folders.Handle, planned int64) error {
	info, err := h.Info()
	switch {
	case err != nil:
		return err
	case info.Type != dirfd.File:
		return dirfd.ErrNotFile
	case info.Size == planned:
		return fmt.Errorf("read other than the %d bytes it has: %w", planned, ErrChanged)
	}
	return fmt.Errorf("%d bytes, planned %d: %w", info.Size, planned, ErrChanged)
}

// stat finds the size of a file that the plan does not know.
func (r *reader) stat(ctx context.Context, i int) (size int64, err error) {
	err = r.again(ctx, func() error {
		if err := r.enter(ctx, i); err != nil {
			return err
		}
		info, err := r.dir.Stat(ctx, &r.name, false)
		switch {
		case err != nil:
			return err
		case info.Type != dirfd.File:
			return dirfd.ErrNotFile
		case info.Size > maxFile:
			return tooLarge(info.Size)
		}
		size = info.Size
		return nil
	})
	return size, err
}

// enter opens the folder of file i, if the reader is not there already, and
// sets the file's name.
func (r *reader) enter(ctx context.Context, i int) error {
	rel, root := r.files.Rel(i), r.files.Table.Root(i)
	d := bytes.LastIndexByte(rel, '/') + 1
	r.name.Set(rel[d:])
	if r.dir != nil && root == r.root && bytes.Equal(rel[:d], r.rel) {
		return nil
	}
	r.leave(false)
	r.key = append(binary.LittleEndian.AppendUint32(r.key[:0], uint32(root)), rel[:d]...)
	dir, err := r.dirs.hold(ctx, r.key, func() string { return r.files.Folder(root, rel[:d]) })
	if err != nil {
		return err
	}
	r.dir, r.root, r.rel = dir, root, append(r.rel[:0], rel[:d]...)
	return nil
}

// leave gives up the folder; after an error it must not be used again.
func (r *reader) leave(forget bool) {
	if r.dir == nil {
		return
	}
	if forget {
		r.dirs.forget(r.dir)
	}
	r.dirs.release(r.dir)
	r.dir = nil
}

func (r *reader) fail(err error, i, j int, sample int64) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	// What a server does not deliver stays an error of its storage, whatever its reason: it is no
	// damage of the sample.
	_, failed := errors.AsType[*fs.PathError](err)
	if failed = failed && storage.Scheme(r.files.Table.Path(i)) != ""; !failed {
		err = reasonOf(err)
	}
	if errors.Is(err, dirfd.ErrNotFile) {
		err = fmt.Errorf("%w any more: %w", err, ErrChanged)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("gone: %w: %w", ErrChanged, err)
	}
	e := &shardify.Error{Op: "read", File: walk.Quote(r.files.Table.Path(i)), Field: r.schema[j].Name, Sample: sample, Offset: -1, Err: err}
	var inner *shardify.Error
	if errors.As(err, &inner) && !failed {
		e.Err, e.Object, e.Offset = inner.Err, inner.Object, inner.Offset
	}
	return e
}

// reasonOf drops the path that a file system error repeats.
func reasonOf(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
