package root

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
)

// Reader implements shardify.Source.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if run != 0 {
		return nil, fmt.Errorf("root: there is no run %d", run)
	}
	return &reader{s: s}, nil
}

// reader reads spans. It remembers the input that it read last.
type reader struct {
	s      *source
	in     uint32
	handle *rows.Handle[*joined]
	r      *joinedReader
	lead   []int // by column: the one before with the same counter
	closed bool
}

// Close implements shardify.Reader.
func (r *reader) Close() error {
	r.drop()
	r.closed = true
	return nil
}

func (r *reader) drop() {
	if r.handle != nil {
		r.handle.Release()
	}
	if r.r != nil {
		r.r.close()
	}
	r.handle, r.r = nil, nil
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("root: Read after Close")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in, b, err := r.s.Begin(ctx, sp, mem)
	if err != nil {
		return nil, err
	}
	if err := r.open(ctx, &in, b); err != nil {
		return nil, shardify.Annotate(err, "open", in.Name(), "")
	}
	if err := r.r.read(ctx, sp.Lo, sp.Hi, mem, b); err != nil {
		r.drop() // what it remembers of baskets may be half done
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	if err := share(b, r.lead); err != nil {
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	for i := range b.Columns {
		if err := rows.CheckText(&b.Columns[i], sp.Lo); err != nil {
			return nil, shardify.Annotate(err, "read", in.Name(), "")
		}
	}
	return r.s.Finish(&in, b, mem)
}

// open makes the span's input the one at hand.
func (r *reader) open(ctx context.Context, in *rows.Input, b *shardify.Batch) error {
	if r.handle != nil && r.in == in.Index {
		return nil
	}
	r.drop()
	h, err := r.s.handles.Acquire(ctx, in)
	if err != nil {
		return err
	}
	take := make([]int, len(b.Columns))
	for i := range take {
		take[i] = in.Field(i)
		if take[i] < 0 {
			continue
		}
		if w := h.Value.wanted; take[i] >= len(w) || !fits(&h.Value.list[w[take[i]]].Field, &b.Columns[i].Field) {
			h.Release()
			return errState
		}
	}
	jr, err := h.Value.reader(take)
	if err != nil {
		h.Release()
		return err
	}
	r.handle, r.in, r.r, r.lead = h, in.Index, jr, sharing(b.Columns)
	return nil
}

// fits reports whether a file's field is what the plan takes it for.
func fits(have, want *shardify.Field) bool {
	return have.DType == want.DType && have.Levels == want.Levels && have.ElemBytes() == want.ElemBytes()
}
