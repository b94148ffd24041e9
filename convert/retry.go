package convert

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// again is how long to wait before a span is read again after an error that a network
// file system gives for a moment.
var again = []time.Duration{50 * time.Millisecond, 250 * time.Millisecond, time.Second}

func passing(err error) bool {
	for _, e := range []error{syscall.ESTALE, syscall.EIO, syscall.ETIMEDOUT, syscall.EAGAIN} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// retry reads a span again that failed with err, by new readers of files that are opened
// anew.
func (l *lane) retry(ctx context.Context, s shardify.Span, mem *shardify.Arena, err error) (*shardify.Batch, error) {
	src, ok := l.source.(format.Reopener)
	if !ok || !passing(err) {
		return nil, err
	}
	for _, wait := range again {
		l.close() // what a failed read leaves behind is not defined
		src.Reopen()
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		b, e := l.once(ctx, s, mem)
		if e == nil || !passing(e) {
			return b, e
		}
		err = e
	}
	return nil, shardify.Amend(err, func(e *shardify.Error) {
		e.Err = fmt.Errorf("%w (tried %d times)", e.Err, 1+len(again))
	})
}
