package verify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/store"
)

// repairFile replaces a file by its right content. nil content means that it
// could not be told.
func (s *set) repairFile(ctx context.Context, name string, content []byte) error {
	full := s.prefix + name
	if content == nil {
		s.c.mu.Lock()
		defer s.c.mu.Unlock()
		s.c.report.Done = append(s.c.report.Done, full+": cannot be made anew, the shard or the receipts it follows from are damaged too")
		return nil
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := replace(ctx, s.store, name, content); err != nil {
		return fmt.Errorf("repair %s: %w", full, err)
	}
	s.c.repaired(full, fmt.Sprintf("%s: made anew, %d bytes", full, len(content)))
	return nil
}

// replace publishes content under a name that may be taken. Readers see the old
// file or the new one, never half of either.
func replace(ctx context.Context, s shardify.Store, name string, content []byte) error {
	switch s := s.(type) {
	case *sub:
		return replace(ctx, s.Store, s.prefix+name, content)
	case *store.Dir:
		return replaceFile(s.Root(), name, content)
	case interface{ Set(string, []byte) }:
		s.Set(name, content)
		return nil
	}
	if err := s.Remove(name); err != nil {
		return err
	}
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Abort())
	}
	return f.Commit(ctx)
}

// replaceFile writes beside the data set, then renames over the old file: a
// store's Commit never replaces anything.
func replaceFile(root, name string, content []byte) (err error) {
	dir := filepath.Join(root, store.Private, "tmp")
	if _, e := os.Stat(filepath.Dir(dir)); errors.Is(e, os.ErrNotExist) {
		defer os.Remove(filepath.Dir(dir)) // the folder had none, and needs none
		defer os.Remove(dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	temp := filepath.Join(dir, fmt.Sprintf("%s.repair.%08x", path.Base(name), rand.Uint32()))
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	final := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(final), 0o777); err != nil {
		return err
	}
	if err := os.Rename(temp, final); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(final))
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems cannot; the old file was damaged anyway
	return d.Close()
}
