package gpuload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/storage/local"
)

// stage is the shards of a Dataset in a folder of fast storage, for all Loaders of the
// user's on a node:
//
//	FOLDER/shardify-UID-FINGERPRINT.lock   held shared by its users, alone by who copies
//	FOLDER/shardify-UID-FINGERPRINT/       0/ 1/ ... the inputs' shards under their names
//	                        .../complete   written last
//
// A shard gets its name when it was copied and checked: what a killed process left
// behind is gone on with. The last user removes the folder, unless it is to be kept.
type stage struct {
	dir   string
	keep  bool
	lock  *os.File
	held  bool // complete, and locked as long as it is used
	ready bool // all that is read from it first
}

// completeName is the file that says that a stage is complete.
const completeName = "complete"

func newStage(d *Dataset, c *Config) *stage {
	return &stage{dir: filepath.Join(c.Stage, "shardify-"+strconv.Itoa(os.Geteuid())+"-"+d.fingerprint), keep: c.KeepStage}
}

// open copies the shards, or waits until another process has, and lets the set read
// from there.
func (g *stage) open(ctx context.Context, s *shardSet, c *crew) error {
	for !g.held {
		done, err := g.try(ctx, s, c)
		if err != nil {
			g.unlock()
			return shardify.Annotate(err, "stage", g.dir, "")
		}
		if done {
			g.held = true
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	for _, sh := range s.shards {
		sh.path = g.place(s, sh, sh.record.Name)
	}
	return nil
}

// place is where a file of a shard's input is staged.
func (g *stage) place(s *shardSet, sh *shard, name string) string {
	return filepath.Join(g.dir, strconv.Itoa(sh.number), filepath.FromSlash(name))
}

// try takes the lock, shared if the stage is complete, else alone to complete it. It
// returns false if another one has it.
func (g *stage) try(ctx context.Context, s *shardSet, c *crew) (bool, error) {
	if g.lock == nil {
		if err := g.openLock(); err != nil {
			return false, err
		}
	}
	if ok, err := tryLock(g.lock, false); !ok || err != nil {
		return false, err
	}
	if !g.current() { // its last user has removed it meanwhile
		g.unlock()
		return false, nil
	}
	if g.complete() {
		return true, nil
	}
	if ok, err := tryLock(g.lock, true); !ok || err != nil {
		// Whoever waits for it alone must find it free.
		return false, errors.Join(err, releaseLock(g.lock))
	}
	if !g.current() {
		g.unlock()
		return false, nil
	}
	if !g.complete() {
		if err := g.fill(ctx, s, c); err != nil {
			return false, err
		}
	}
	return tryLock(g.lock, false)
}

func (g *stage) openLock() error {
	f, err := os.OpenFile(g.dir+".lock", os.O_RDWR|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return err
	}
	g.lock = f
	return nil
}

// current tells whether the lock is that of the file that others open.
func (g *stage) current() bool {
	a, err := g.lock.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(g.lock.Name())
	return err == nil && os.SameFile(a, b)
}

func (g *stage) complete() bool {
	_, err := os.Lstat(filepath.Join(g.dir, completeName))
	return err == nil && g.private() == nil
}

// private refuses a folder that another user made or may write to.
func (g *stage) private() error {
	st, err := os.Lstat(g.dir)
	if err != nil {
		return err
	}
	if !st.IsDir() || st.Mode().Perm()&0o022 != 0 || !ownedByUs(st) {
		return fmt.Errorf("%s: not a folder of this user alone: %w", g.dir, fs.ErrPermission)
	}
	return nil
}

// fill copies what is missing, several shards at once.
func (g *stage) fill(ctx context.Context, s *shardSet, c *crew) error {
	if err := os.Mkdir(g.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := g.private(); err != nil {
		return err
	}
	need := int64(0)
	var missing []*shard
	for _, sh := range s.shards {
		if st, err := os.Lstat(g.place(s, sh, sh.record.Name)); err == nil && st.Mode().IsRegular() && st.Size() == sh.record.Bytes {
			continue
		}
		missing = append(missing, sh)
		need += sh.record.Bytes
	}
	if free := host.FreeSpace(g.dir); free >= 0 && need > free {
		return fmt.Errorf("the shards take %s, %s are free", shardify.FormatSize(need), shardify.FormatSize(free))
	}
	err := c.each(len(missing), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return shardify.Annotate(g.copyShard(s, missing[i]), "stage", missing[i].path, "")
	})
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(g.dir, completeName), nil)
}

// copyShard copies a shard and what belongs to it, checks the copy, and gives it its
// name.
func (g *stage) copyShard(s *shardSet, sh *shard) error {
	to := g.place(s, sh, sh.record.Name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if sh.tar != nil {
		b, err := local.ReadOwn(sh.path+index.TarIndexExt, (sh.record.Samples+1)*8)
		if err != nil {
			return err
		}
		if err := writeWhole(to+index.TarIndexExt, b); err != nil {
			return err
		}
	}
	part := to + ".part"
	if err := copyFile(sh.path, part, sh.record.Bytes); err != nil {
		return errors.Join(err, remove(part))
	}
	if err := g.check(s, sh, part); err != nil {
		return errors.Join(err, remove(part))
	}
	return os.Rename(part, to)
}

// check holds a copy against the manifest and its checksums.
func (g *stage) check(s *shardSet, sh *shard, name string) error {
	f, err := dataset.OpenFile(name, sh.record.Bytes)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.verify == VerifyNone {
		return nil
	}
	if sh.tar != nil {
		return dataset.CheckTar(f, sh.record)
	}
	head, err := index.OpenShard(f, sh.record.Bytes, sh.record)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	for i := range head.Tensors {
		if err := head.CheckTensor(f, i, buf); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string, size int64) error {
	src, err := dataset.OpenFile(from, size)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := remove(to); err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(dst, io.LimitReader(src, size)); err != nil {
		return errors.Join(err, dst.Close())
	}
	return dst.Close()
}

// writeWhole writes a small file that is there whole or not at all.
func writeWhole(name string, b []byte) error {
	part := name + ".part"
	if err := errors.Join(remove(part), os.WriteFile(part, b, 0o600)); err != nil {
		return err
	}
	return os.Rename(part, name)
}

func remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unlock lets go of the lock.
func (g *stage) unlock() {
	if g.lock != nil {
		g.lock.Close()
		g.lock = nil
	}
}

// close ends the use of the stage. The last user removes it.
func (g *stage) close() (err error) {
	if g.lock == nil {
		return nil
	}
	defer g.unlock()
	if g.keep {
		return nil
	}
	if alone, _ := tryLock(g.lock, true); !alone || !g.current() || !strings.HasPrefix(filepath.Base(g.dir), "shardify-") {
		return nil
	}
	// First what makes it complete: a removal that is cut short leaves no trap.
	return errors.Join(remove(filepath.Join(g.dir, completeName)), os.RemoveAll(g.dir), remove(g.lock.Name()))
}
