package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shardify/shardify/convert"
)

// Patience is how long a request to stop may take: batch systems kill soon after
// they ask.
const Patience = 4 * time.Second

// Signals returns a context that ends on request: TERM and USR1 (sent by batch
// systems before the time limit) with cause convert.ErrStopped, INT with
// ErrInterrupted. Whoever still works after Patience, or is interrupted again,
// is ended by exit; nothing half is ever published, so that is safe.
func Signals(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	return signals(parent, Patience, exit)
}

func signals(parent context.Context, patience time.Duration, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		var late <-chan time.Time
		code := CodeStopped
		for {
			select {
			case s := <-ch:
				switch {
				case s == syscall.SIGINT && code == CodeInterrupted:
					exit(code)
				case s == syscall.SIGINT:
					code = CodeInterrupted
					cancel(ErrInterrupted)
				default:
					cancel(convert.ErrStopped)
				}
				if late == nil {
					late = time.After(patience)
				}
			case <-late:
				exit(code)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); close(done); cancel(nil) }
}
