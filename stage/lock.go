package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock is a lock file. It ends with the process that holds it, however that ends.
type lock struct {
	name string
	f    *os.File
}

// openLock opens a lock file for reading only, so that users can wait for each other. A
// link that another user has put there is not followed.
func openLock(name string, mode uint32) (*lock, error) {
	for {
		fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
		switch {
		case err == nil:
			return &lock{name, os.NewFile(uintptr(fd), name)}, nil
		case !errors.Is(err, unix.EINTR):
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// The ways to take a lock.
const (
	alone  = unix.LOCK_EX
	shared = unix.LOCK_SH
	nobody = unix.LOCK_UN
)

// set takes the lock, alone or shared, or changes from one to the other, or lets go of it. It does
// not wait: false means that another process has it.
func (l *lock) set(how int) (bool, error) {
	for {
		err := unix.Flock(int(l.f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "lock", Path: l.name, Err: err}
		}
	}
}

// current reports whether the lock is that of the file that others open. A holder removes the file
// before it lets go.
func (l *lock) current() bool {
	mine, err := l.f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(l.name)
	return err == nil && os.SameFile(mine, now)
}

// release removes the file and lets go. A file of that name which is not ours any more stays:
// another process has removed ours, and a third one may hold this file.
func (l *lock) release() (err error) {
	if l.current() {
		err = os.Remove(l.name)
	}
	return errors.Join(err, l.f.Close())
}

// acquire takes a lock alone, after waiting for the process that holds it. waited reports whether
// it had to wait.
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

// try takes a lock alone if no other process holds it; nil otherwise.
func try(name string) (*lock, error) {
	for {
		l, err := openLock(name, 0o644)
		if err != nil {
			return nil, err
		}
		ok, err := l.set(alone)
		if ok && l.current() {
			return l, nil
		}
		if l.f.Close(); !ok {
			return nil, err
		}
	}
}
