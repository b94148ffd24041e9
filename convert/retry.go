package convert

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
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

// retry reads a span again that failed with err, by new readers of files that are opened again.
func (l *spanReader) retry(ctx context.Context, s shardify.Span, mem *shardify.Arena, err error) (*shardify.Batch, error) {
	src, ok := l.source.(format.Reopener)
	for _, wait := range again {
		fetched := ok && l.refetch(ctx, s, err)
		if !fetched && (!ok || !passing(err)) {
			return nil, err
		}
		l.close() // what a failed read leaves behind is not defined
		src.Reopen()
		if !fetched {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		var b *shardify.Batch
		if b, err = l.once(ctx, s, mem); err == nil {
			return b, nil
		}
	}
	if passing(err) || l.refetch(ctx, s, err) {
		err = tried(err)
	}
	return nil, err
}

func tried(err error) error {
	return shardify.Amend(err, func(e *shardify.Error) {
		e.Err = fmt.Errorf("%w (tried %d times)", e.Err, 1+len(again))
	})
}

func (l *spanReader) refetch(ctx context.Context, s shardify.Span, err error) bool {
	return l.table != nil && int(s.Input) < l.table.Len() && refetch(ctx, l.table, l.table.Path(int(s.Input)), err)
}

// refetch has files of another machine fetched again after damage was found in them, which may
// have come about on the way: an input, and the file that err names. It reports whether there
// are any.
func refetch(ctx context.Context, t *format.Table, input string, err error) (kept bool) {
	e, ok := errors.AsType[*shardify.Error](err)
	if !ok || !errors.Is(err, shardify.ErrCorrupt) {
		return false
	}
	for _, name := range []string{input, e.File, e.File + tar.IndexExt} {
		if storages.Local(name) {
			continue
		}
		if f, err := storage.OpenOwn(ctx, storages.Of(t), name); err == nil {
			kept = dataset.Again(f, e) || kept
			f.Close()
		}
	}
	return kept
}

// unproven is the error of an input object that has another checksum than it should have.
type unproven struct{ error }

// Unwrap is the error itself.
func (e *unproven) Unwrap() error { return e.error }

// Unproven reports damage that is in an object, but not known to be in certain samples: they
// cannot be left out.
func Unproven(err error) bool {
	_, ok := errors.AsType[*unproven](err)
	return ok
}

// untilProven does a unit again as long as objects that came from another machine for it are
// unproven.
func untilProven(ctx context.Context, t *format.Table, unit func() error) error {
	for n := 0; ; n++ {
		err := unit()
		bad, ok := errors.AsType[*unproven](err)
		switch {
		case !ok:
			return err
		case !refetch(ctx, t, "", bad.error):
			return bad
		case n == len(again):
			return &unproven{tried(bad.error)}
		}
	}
}
