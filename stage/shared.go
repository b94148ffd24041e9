package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/storage/local"
)

// Shared is copies of data sets for all processes of a user on a node that read the same
// ones at the same time:
//
//	FOLDER/shardify-UID-FINGERPRINT.lock   held shared by its users, alone by the one that copies
//	FOLDER/shardify-UID-FINGERPRINT/0 1 .. the copies, each made as Run makes it
//
// The last user removes them, unless they are to be kept. The next process continues the work of a
// killed one.
type Shared struct {
	dir  string
	keep bool
	sets []*dataset.Set
	how  Verify
	lock *lock
	held bool // complete, and locked as long as it is used
}

// NewShared names the copies of data sets in a folder. fingerprint distinguishes them from those of
// others; how says how their shards are checked.
func NewShared(folder, fingerprint string, sets []*dataset.Set, how Verify, keep bool) *Shared {
	return &Shared{dir: filepath.Join(folder, "shardify-"+strconv.Itoa(os.Geteuid())+"-"+fingerprint), keep: keep, sets: sets, how: how}
}

// Dir is the folder of the copies.
func (g *Shared) Dir() string { return g.dir }

// Path is the copy of the i-th set.
func (g *Shared) Path(i int) string { return filepath.Join(g.dir, strconv.Itoa(i)) }

// Check returns an error if the folder of the copies cannot be made because its parent does not
// exist.
func (g *Shared) Check() error {
	_, err := os.Stat(filepath.Dir(g.dir) + string(filepath.Separator))
	return err
}

// Open copies the sets, so many files at once, or waits until another process has.
func (g *Shared) Open(ctx context.Context, jobs int) error {
	for !g.held {
		done, err := g.try(ctx, jobs)
		if err != nil {
			g.unlock()
			return shardify.Annotate(err, "stage", g.dir, "")
		}
		if g.held = done; done {
			break
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// try takes the lock, shared if the copies are complete, else alone to complete them. It
// returns false if another one has it.
func (g *Shared) try(ctx context.Context, jobs int) (ok bool, err error) {
	if g.lock == nil {
		if g.lock, err = openLock(g.dir+".lock", 0o600); err != nil {
			return false, err
		}
	}
	if ok, err := g.acquire(shared); !ok || err != nil {
		return false, err
	}
	if g.complete() {
		return true, nil
	}
	if ok, err := g.acquire(alone); !ok || err != nil {
		if g.lock != nil { // a process that waits for it alone must find it free
			_, e := g.lock.set(nobody)
			err = errors.Join(err, e)
		}
		return false, err
	}
	if !g.complete() {
		if err := g.fill(ctx, jobs); err != nil {
			return false, err
		}
	}
	return g.lock.set(shared)
}

// acquire takes the lock, unless its last user has removed it meanwhile.
func (g *Shared) acquire(how int) (bool, error) {
	ok, err := g.lock.set(how)
	if ok && !g.lock.current() {
		g.unlock()
		return false, nil
	}
	return ok, err
}

// complete: a copy has its name once it is.
func (g *Shared) complete() bool {
	for i := range g.sets {
		if !g.has(i) {
			return false
		}
	}
	return g.private() == nil
}

func (g *Shared) has(i int) bool {
	_, err := os.Lstat(filepath.Join(g.Path(i), filepath.FromSlash(MarkName)))
	return err == nil
}

// private refuses a folder that another user made or may write to.
func (g *Shared) private() error {
	st, err := os.Lstat(g.dir)
	if err != nil {
		return err
	}
	sys, known := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || st.Mode().Perm()&0o022 != 0 || known && int(sys.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: not a folder of this user alone: %w", g.dir, fs.ErrPermission)
	}
	return nil
}

// fill copies what is missing.
func (g *Shared) fill(ctx context.Context, jobs int) error {
	if err := os.Mkdir(g.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := g.private(); err != nil {
		return err
	}
	need := int64(0)
	for i, s := range g.sets {
		if !g.has(i) {
			need += s.Bytes
		}
	}
	if free := host.FreeSpace(g.dir); len(g.sets) > 1 && free >= 0 && need > free {
		return fmt.Errorf("the shards take %s, %s are free: %w", shardify.FormatSize(need), shardify.FormatSize(free), ErrSpace)
	}
	for i, s := range g.sets {
		if g.has(i) {
			continue
		}
		// A removal was cut short. No other process writes here.
		if err := os.RemoveAll(g.Path(i)); err != nil {
			return err
		}
		o := Options{Source: s.Path, Dest: g.Path(i), Verify: g.how, Jobs: jobs, Sync: local.SyncNone, digest: s.Digest}
		if _, err := Run(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (g *Shared) unlock() {
	if g.lock != nil {
		g.lock.f.Close()
		g.lock = nil
	}
}

// Close ends the use of the copies. The last user removes them.
func (g *Shared) Close() error {
	if g.lock == nil {
		return nil
	}
	defer g.unlock()
	if g.keep {
		return nil
	}
	if ok, err := g.acquire(alone); !ok || err != nil {
		return nil
	}
	var err error
	for i := range g.sets { // first what makes them complete: a removal that is cut short leaves no trap
		err = errors.Join(err, os.RemoveAll(filepath.Join(g.Path(i), filepath.FromSlash(MarkName))))
	}
	return errors.Join(err, os.RemoveAll(g.dir), os.RemoveAll(g.lock.name))
}
