package set

import (
	"context"
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Table is a Source of inputs that stay open: what the Sources of most formats begin with. A format
// embeds it and adds what it has of its own.
type Table[T io.Closer] struct {
	*Set
	*Handles[T] // Close and Reopen
	reader      func() shardify.Reader
}

// NewTable makes a Table of a set. open is as for NewHandles; reader makes a Reader, by NewReader
// or of the format's own.
func NewTable[T io.Closer](s *Set, open func(ctx context.Context, f storage.File, in *Input) (T, error), reader func() shardify.Reader) *Table[T] {
	return &Table[T]{s, NewHandles(open), reader}
}

// Reader implements shardify.Source.
func (t *Table[T]) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("%s: there is no run %d", t.of.Format, run)
	}
	return t.reader(), nil
}

// ReadSpan makes the batch of a span by read, which is given what is kept of the span's input.
func (t *Table[T]) ReadSpan(ctx context.Context, sp shardify.Span, mem *shardify.Arena, read func(T, *Input, *shardify.Batch) error) (*shardify.Batch, error) {
	in, b, err := t.Begin(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	kept, err := t.Acquire(ctx, &in)
	if err != nil {
		return nil, err
	}
	defer kept.Release()
	if err := read(kept.Value, &in, b); err != nil {
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	return t.Finish(&in, b, mem)
}

// Worker reads the spans of one reader. It may keep what it decoded of an input for the next span.
type Worker[T any] interface {
	// Take makes an open input the one that is read. b has the columns that are wanted.
	Take(open T, in *Input, b *shardify.Batch) error
	// Read fills the columns of a span of that input.
	Read(ctx context.Context, in *Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error
	// Drop forgets all of that input: another one follows, or a read has failed and it may be half
	// done. It may be called without an input.
	Drop()
	// Close gives back what is left, after a Drop.
	Close()
}

// NewReader makes a Reader of a worker, which has the input that it read last until the next one.
func NewReader[T io.Closer](t *Table[T], w Worker[T]) shardify.Reader {
	return &keeper[T]{table: t, work: w}
}

// keeper implements shardify.Reader.
type keeper[T io.Closer] struct {
	table  *Table[T]
	work   Worker[T]
	input  uint32
	handle *Handle[T] // of the input; nil without one
	closed bool
}

func (k *keeper[T]) drop() {
	k.work.Drop()
	if k.handle != nil {
		k.handle.Release()
	}
	k.handle = nil
}

// Close implements shardify.Reader.
func (k *keeper[T]) Close() error {
	k.drop()
	k.work.Close()
	k.closed = true
	return nil
}

// Read implements shardify.Reader.
func (k *keeper[T]) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if k.closed {
		return nil, fmt.Errorf("%s: Read after Close", k.table.of.Format)
	}
	in, b, err := k.table.Begin(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	if k.handle == nil || k.input != in.Index {
		k.drop()
		h, err := k.table.Acquire(ctx, &in)
		if err != nil {
			return nil, err
		}
		k.handle, k.input = h, in.Index
		if err := k.work.Take(h.Value, &in, b); err != nil {
			k.drop()
			return nil, shardify.Annotate(err, "open", in.Name(), "")
		}
	}
	if err := k.work.Read(ctx, &in, sp, b, mem); err != nil {
		k.drop()
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	return k.table.Finish(&in, b, mem)
}
