package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/shardify/shardify/convert"
)

// patience is how long a request to stop may take: batch systems kill soon after
// they ask.
const patience = 4 * time.Second

// ErrNotice is the request to stop that a batch system makes before the time limit. It is an
// ErrStopped. TERM may come from a user who wants to end the job; this never does.
var ErrNotice = fmt.Errorf("%w: the time limit is near", convert.ErrStopped)

// Signals returns a context that ends on request: TERM, and HUP of a terminal that was closed, with
// cause convert.ErrStopped, USR1 (sent by batch systems before the time limit) with ErrNotice, INT
// with errInterrupted. A process that still works after Patience, or is interrupted again, is ended
// by exit; nothing half is ever published, so that is safe. The same happens when no process reads
// the output any more: the cause is errPipe.
func (o *IO) Signals(parent context.Context, exit func(code int)) (ctx context.Context, stop func()) {
	return signals(parent, patience, o.pipe.gone, exit)
}

func signals(parent context.Context, patience time.Duration, gone <-chan struct{}, exit func(code int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGTERM, syscall.SIGUSR1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if !signal.Ignored(s) { // nohup, and shells for what runs in the background, say so
			signal.Notify(ch, s)
		}
	}
	done := make(chan struct{})
	go func() {
		var late <-chan time.Time
		code := CodeStopped
		for {
			select {
			case s := <-ch:
				switch {
				case s == syscall.SIGINT && code == codeInterrupted:
					exit(code)
				case s == syscall.SIGINT:
					code = codeInterrupted
					cancel(errInterrupted)
				case s == syscall.SIGUSR1:
					cancel(ErrNotice)
				default:
					cancel(convert.ErrStopped)
				}
				if late == nil {
					late = time.After(patience)
				}
			case <-gone:
				gone, code = nil, codePipe
				cancel(errPipe)
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
