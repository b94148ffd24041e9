package set

import (
	"context"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/openfiles"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// maxOpen is how many files of a set are kept open.
const maxOpen = 64

// Handles keeps the files of a Set open. T is what the format needs to read a file.
type Handles[T io.Closer] struct {
	*openfiles.Cache[*File, T]
	open func(ctx context.Context, f storage.File, in *Input) (T, error)
}

// Handle is a file in use.
type Handle[T io.Closer] = openfiles.Handle[*File, T]

// NewHandles makes an empty cache. open gets the file, opened and found to have the
// size that it had at the survey; after success the T owns f and closes it, after an
// error open need not close it.
func NewHandles[T io.Closer](open func(ctx context.Context, f storage.File, in *Input) (T, error)) *Handles[T] {
	return &Handles[T]{openfiles.New[*File, T](maxOpen), open}
}

// Acquire returns the file of an input, open. Errors name the file.
func (h *Handles[T]) Acquire(ctx context.Context, in *Input) (*Handle[T], error) {
	return h.Cache.Acquire(ctx, in.file, func(ctx context.Context) (T, error) {
		v, err := h.openOne(ctx, in)
		return v, shardify.Annotate(err, "open", in.Name(), "")
	})
}

func (h *Handles[T]) openOne(ctx context.Context, in *Input) (v T, err error) {
	f, err := rows.OpenFile(ctx, storages.Of(in.set.of.Table), in.Path(), in.Size)
	if err != nil {
		return v, err
	}
	if v, err = h.open(ctx, f, in); err != nil {
		f.Close()
	}
	return v, err
}
