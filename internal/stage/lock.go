package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock is held by the one process of the node that changes a destination. It ends
// with the process, however that ends.
type lock struct {
	name string
	f    *os.File
}

// acquire takes the lock, after waiting for whoever holds it. waited tells that
// somebody did.
func acquire(ctx context.Context, o *Options, name string) (l *lock, waited bool, err error) {
	begun := time.Now()
	for {
		l, err := try(name)
		if err != nil || l != nil {
			return l, waited, err
		}
		if !waited {
			waited = true
			defer o.Steps.Rest()()
			o.Waiting("another process that copies here")
		}
		if o.Wait > 0 && time.Since(begun) > o.Wait {
			return nil, true, fmt.Errorf("%s: %w: waited %v for it", o.Dest, ErrBusy, o.Wait)
		}
		if err := pause(ctx, o.tick); err != nil {
			return nil, true, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// try takes the lock if nobody holds it; nil otherwise. The file is opened for reading
// only, so that users can wait for each other. A holder removes the file before it
// lets go: what was locked must still be what has the name.
func try(name string) (*lock, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o644)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		f := os.NewFile(uintptr(fd), name)
		for {
			err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if err != nil {
			f.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, nil
			}
			return nil, &os.PathError{Op: "lock", Path: name, Err: err}
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if now, err := os.Lstat(name); err == nil && os.SameFile(mine, now) {
			return &lock{name, f}, nil
		}
		f.Close()
	}
}

// release removes the file and lets go. A file of that name which is not ours any more
// stays: somebody has removed ours, and another process may hold this one.
func (l *lock) release() error {
	mine, err := l.f.Stat()
	if now, e := os.Lstat(l.name); err == nil && e == nil && os.SameFile(mine, now) {
		err = os.Remove(l.name)
	}
	return errors.Join(err, l.f.Close())
}
