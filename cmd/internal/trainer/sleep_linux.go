package trainer

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// sleep waits as long as an accelerator would compute. The runtime's timers may be
// a millisecond late, the kernel's some fifty microseconds.
func sleep(ctx context.Context, d time.Duration) {
	const coarse = 10 * time.Millisecond
	end := time.Now().Add(d)
	if d > 2*coarse {
		select {
		case <-time.After(d - coarse):
		case <-ctx.Done():
			return
		}
	}
	for {
		left := time.Until(end)
		if left <= 0 || ctx.Err() != nil {
			return
		}
		ts := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&ts, nil) // interrupted: the rest follows
	}
}
