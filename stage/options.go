package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// Verify is how shards of a set are checked, as their format says: its Stream counts.
type Verify func(m *index.Manifest) (format.Verifier, error)

// Steps is what is waited for at a time.
type Steps = stall.Board

// Options say what is copied where.
type Options struct {
	Source string // a data set's folder, or its manifest
	Dest   string // the folder that becomes the copy
	Verify Verify // nil: digests cover all bytes of a shard
	Jobs   int    // files at once (default 4)
	// Memory bounds the buffers of the jobs (default 64 MiB).
	Memory int64
	Sync   local.Sync // default local.SyncShard
	// Fresh removes a copy of something else, or a damaged one, that is at Dest.
	Fresh bool
	// Wait is how long to wait for space; 0 fails at once. Another process that copies
	// here is waited for without limit, or for this long if it is set.
	Wait time.Duration
	// InMemory is the memory that a copy in a file system of memory may take, as far
	// as this process is concerned; 0 is unknown.
	InMemory int64
	// Waiting, if set, is called when waiting begins, with what for.
	Waiting func(what string)
	// Progress, if set, may be read while Run works.
	Progress *Progress
	// Steps, if set, has what Run waits for.
	Steps *Steps

	digest string // of the manifest, if that was read before
	free   func(dir string) int64
	tick   time.Duration
}

// Progress is how far a copy is.
type Progress struct{ Bytes, Total, Files atomic.Int64 }

// Result is what Run has done.
type Result struct {
	Path string // of the copy, absolute
	// Already: the copy was there. Waited: another process made it meanwhile.
	Already, Waited bool
	Files, Samples  int64
	Bytes           int64 // of all files
	Reused          int64 // of them left by an earlier run that had ended early
	// Sets are the data sets inside: "" or the names of the splits.
	Sets []string
}

// The decisions callers make.
var (
	// ErrStale: at Dest is a copy of something else: of the same data set before it
	// changed, or of another one.
	ErrStale = errors.New("a copy of another data set")
	// ErrDamaged: files of the copy at Dest are missing or have other sizes.
	ErrDamaged = errors.New("damaged copy")
	// ErrSpace: the copy does not fit.
	ErrSpace = errors.New("not enough space")
	// ErrBusy: another process was copying for longer than Wait.
	ErrBusy = errors.New("another process is using it")
	// ErrNotOurs: the folder is not a copy that was staged.
	ErrNotOurs = errors.New("not a staged copy")
)

const (
	defaultJobs   = 4
	defaultMemory = 64 << 20
	// pieceBytes is what a job reads at a time; jobMemory what it takes with the
	// writer's share.
	pieceBytes = 1 << 20
	jobMemory  = 2 * pieceBytes
	tick       = 100 * time.Millisecond
)

func (o *Options) check() error {
	if o.Jobs == 0 {
		o.Jobs = defaultJobs
	}
	if o.Memory == 0 {
		o.Memory = defaultMemory
	}
	if o.Sync == "" {
		o.Sync = local.SyncShard
	}
	if o.Verify == nil {
		o.Verify = func(*index.Manifest) (v format.Verifier, err error) { return v, nil }
	}
	if o.Progress == nil {
		o.Progress = &Progress{}
	}
	if o.Waiting == nil {
		o.Waiting = func(string) {}
	}
	if o.free == nil {
		o.free = host.FreeSpace
	}
	if o.tick == 0 {
		o.tick = tick
	}
	if o.Jobs < 0 || o.Memory < 0 || o.Wait < 0 {
		return fmt.Errorf("jobs %d, memory %s, wait %v: none may be negative", o.Jobs, shardify.FormatSize(o.Memory), o.Wait)
	}
	o.Jobs = int(max(min(int64(o.Jobs), o.Memory/jobMemory), 1))
	return nil
}

// place is a destination and the names beside it.
type place struct {
	dest, parent            string
	lock, staging, removing string
}

func placeOf(dest string) (place, error) {
	if dest == "" {
		return place{}, errors.New("no folder to copy to")
	}
	abs, err := filepath.Abs(dest)
	if err != nil {
		return place{}, err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	base := filepath.Base(abs)
	if abs == filepath.Dir(abs) {
		return place{}, fmt.Errorf("%s cannot be the folder of a copy: want a new folder in it", dest)
	}
	if mounted(abs) {
		return place{}, fmt.Errorf("%s is where a file system is mounted and cannot be the folder of a copy: want a new folder in it, such as %s", dest, filepath.Join(dest, "data"))
	}
	beside := func(what string) string { return filepath.Join(filepath.Dir(abs), "."+base+what) }
	return place{abs, filepath.Dir(abs), beside(".stage-lock"), beside(".staging"), beside(".removing")}, nil
}

// checkSeparate refuses a copy onto the source, into it, or around it.
func (p *place) checkSeparate(source string) error {
	if !storages.Local(source) {
		return nil
	}
	src, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	if src, err = filepath.EvalSymlinks(src); err != nil {
		return err
	}
	dest := p.dest
	if real, err := filepath.EvalSymlinks(p.parent); err == nil {
		dest = filepath.Join(real, filepath.Base(p.dest))
	}
	inside := func(a, b string) bool {
		rel, err := filepath.Rel(b, a)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator))
	}
	if inside(src, dest) || inside(dest, src) {
		return fmt.Errorf("%s and %s are one inside the other: a copy wants a folder of its own", source, p.dest)
	}
	return nil
}
