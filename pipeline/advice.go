package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/storage/local"
	"golang.org/x/sys/unix"
)

// GoesOn is the advice where work was stopped.
const GoesOn = "what is published is kept; the same command continues from there"

// Advice is what to do about an error: its hints, and what its kind calls for. command is
// what continues the work; "" if it is not known.
func Advice(err error, command string) []string {
	hints := shardify.Hints(err)
	if errors.Is(err, convert.ErrStopped) {
		hints = append(hints, GoesOn)
	}
	if errors.Is(err, shardify.ErrChanged) {
		hints = append(hints, "convert what it is now: into another folder (-o), or in place of the unfinished one (the same conversion with --fresh)")
		if text := err.Error(); strings.Contains(text, "modified") || strings.Contains(text, "was replaced") {
			hints = append(hints, "if only the time is another and the bytes are the same: --ignore-times")
		}
	}
	return append(hints, refused(err, command)...)
}

// refused says in words what the system means by an error of it, and what helps. command is the one
// that goes on from here; "" if unknown.
func refused(err error, command string) (hints []string) {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return nil
	}
	var f *local.Failure
	if !errors.As(err, &f) {
		f = &local.Failure{Path: pathOf(err), Errno: errno, Space: host.Space{Bytes: -1, Inodes: -1}}
		if f.Path != "" {
			f.Space = host.SpaceOf(f.Path)
		}
	}
	cure := cures(f)
	if cure == "" {
		return nil
	}
	hints = []string{cure}
	if f.Written > 0 {
		hints = append(hints, fmt.Sprintf("this run has written %s; what is published is kept", shardify.FormatSize(f.Written)))
	}
	if command != "" {
		hints = append(hints, "then continue with: "+command)
	}
	return hints
}

// cures says what an error means and what helps; "" for errors that say it themselves.
func cures(f *local.Failure) string {
	where := f.Path
	if where == "" {
		where = "the output"
	}
	switch f.Errno {
	case syscall.ENOSPC:
		if f.NoInodes() {
			return fmt.Sprintf("the file system of %s has no inodes left, though %s are free: remove files that are not needed, or make fewer and larger shards (--shard-size)", where, shardify.FormatSize(f.Space.Bytes))
		}
		return "the file system of " + where + " is full: free some space, or let the operators do it"
	case syscall.EDQUOT:
		return "a quota is used up in " + where + whose(where) + ": remove files that are not needed, or ask for more"
	case syscall.EFBIG:
		if n, ok := limit(unix.RLIMIT_FSIZE); ok {
			return fmt.Sprintf("files of this process may have no more than %s (ulimit -f): raise it, or make smaller shards (--shard-size)", shardify.FormatSize(n))
		}
		return "the file system of " + where + " takes no file so large: make smaller shards (--shard-size)"
	case syscall.EMFILE:
		n, _ := limit(unix.RLIMIT_NOFILE)
		return fmt.Sprintf("this process may have no more than %d files open (ulimit -n), and needs some 64 and a few for each job: raise it, or take fewer --jobs", n)
	case syscall.ENFILE:
		return "the machine has as many files open as it can: try again later, or on another node"
	case syscall.EROFS:
		return "the file system of " + where + " is mounted read-only: choose another folder, or ask the operators what happened to it"
	case syscall.EACCES, syscall.EPERM:
		return fmt.Sprintf("user %d has no right to this in %s: check the owner and the mode (ls -ld)", syscall.Getuid(), where)
	}
	return ""
}

// whose names the quotas that are used up, if that is known.
func whose(dir string) string {
	var of []string
	for _, q := range host.Quotas(dir) {
		const little = 16 << 20
		switch {
		case q.Bytes >= 0 && q.Bytes < little:
			of = append(of, q.Of+", "+shardify.FormatSize(q.Bytes)+" left")
		case q.Inodes == 0:
			of = append(of, q.Of+", no inodes left")
		}
	}
	if of == nil {
		return " (of the user, the group or the project; see lfs quota or quota -s)"
	}
	return " (" + strings.Join(of, "; ") + ")"
}

func limit(resource int) (int64, bool) {
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil || r.Cur > math.MaxInt64 {
		return 0, false
	}
	return int64(r.Cur), true
}

// pathOf is the folder of the file that an error is about.
func pathOf(err error) string {
	var p *fs.PathError
	var e *shardify.Error
	switch {
	case errors.As(err, &p):
		return filepath.Dir(p.Path)
	case errors.As(err, &e) && e.File != "":
		return filepath.Dir(e.File)
	}
	return ""
}
