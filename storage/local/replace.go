package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Replacer is a folder whose files replace those of the same name, at once, so that others
// see the old file or the new one. It is for the few files that describe a data set
// (manifest, lists of shards), never for shards.
type Replacer struct{ *Dir }

// Create starts a file that replaces another at its Commit.
func (r Replacer) Create(name string) (storage.Pending, error) {
	p, err := r.Dir.Create(name)
	if err != nil {
		return nil, err
	}
	return replacing{p.(*pending)}, nil
}

type replacing struct{ *pending }

// Commit makes the file durable, then gives it its name.
func (p replacing) Commit(ctx context.Context) error {
	return p.commit(ctx, p.dir.sync != SyncNone, rename)
}

// Replace publishes content under a name that may be taken. It leaves no folder for files
// being written that was not there.
func (d *Dir) Replace(ctx context.Context, name string, content []byte) error {
	private := d.path(storage.Private)
	if _, err := os.Stat(private); errors.Is(err, os.ErrNotExist) {
		defer os.Remove(private)
		defer os.Remove(d.path(tempDir))
	}
	f, err := Replacer{NewDir(d.root, d.sync)}.Create(name) // d need not know folders that go
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit(ctx)
}

// Place implements storage.Placer. The file that is being written is hidden beside its final name; the next Place
// removes one that a killed process has left.
func (d *Dir) Place(ctx context.Context, name string, content []byte) error {
	err := storage.CheckName(name)
	if err == nil {
		err = d.mkdir("")
	}
	if err != nil {
		return err
	}
	hidden := "." + name
	if err = d.owner.clean(d.root, hidden+"."); err == nil {
		err = d.place(ctx, hidden, name, content)
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &shardify.Error{Op: "publish", File: d.path(name), Sample: -1, Offset: -1, Err: d.failed(d.root, err)}
}

func (d *Dir) place(ctx context.Context, hidden, name string, content []byte) error {
	f, err := d.owner.create(d.root, hidden)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if err == nil && d.sync != SyncNone {
		err = syncFile(f)
	}
	if err = errors.Join(err, closeFile(f)); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err = rename(f.Name(), d.path(name)); err == nil && d.sync != SyncNone {
		err = syncDir(d.root)
	}
	return err
}

// Swap publishes content in the place of a file that the caller has read. Between comparing and publishing
// another process may come: callers hold a lock.
func (d *Dir) Swap(ctx context.Context, name string, old, content []byte) error {
	if err := storage.CheckName(name); err != nil {
		return err
	}
	b, err := os.ReadFile(d.path(name))
	if err == nil && !bytes.Equal(b, old) {
		err = fmt.Errorf("another process has changed it: %w", shardify.ErrExists)
	}
	if err != nil {
		return &shardify.Error{Op: "publish", File: d.path(name), Sample: -1, Offset: -1, Err: err}
	}
	return d.Replace(ctx, name, content)
}

// Link publishes an existing file of the same file system under a name. One that has
// the name must be that file, or have its content.
func (d *Dir) Link(file, name string) error {
	if err := storage.CheckName(name); err != nil {
		return err
	}
	if err := d.mkdir(path.Dir(name)); err != nil {
		return err
	}
	final := d.path(name)
	err := hardLink(file, final)
	if errors.Is(err, os.ErrExist) {
		return d.Same(file, name)
	}
	if err != nil {
		return &shardify.Error{Op: "publish", File: final, Sample: -1, Offset: -1, Err: d.failed(filepath.Dir(final), err)}
	}
	if d.sync == SyncShard {
		return syncDir(filepath.Dir(final))
	}
	return nil
}

// Same refuses a published file that is not the given one, nor has its content.
func (d *Dir) Same(file, name string) error {
	final := d.path(name)
	x, err := os.Stat(file)
	var y os.FileInfo
	if err == nil {
		y, err = os.Stat(final)
	}
	same := err == nil && os.SameFile(x, y)
	if err == nil && !same {
		same, err = equal(file, final)
	}
	if err == nil && !same {
		err = fmt.Errorf("a file of other content is there: %w", shardify.ErrExists)
	}
	if err != nil {
		return &shardify.Error{Op: "publish", File: final, Sample: -1, Offset: -1, Err: d.failed(filepath.Dir(final), err)}
	}
	return nil
}

// CannotLink reports whether linking failed because the file systems do not support it.
func CannotLink(err error) bool { return refused(err) }
