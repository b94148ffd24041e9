package root

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// reader reads spans of one input.
type reader struct {
	r    *joinedReader
	lead []int // by column: the one before with the same counter
}

// Close implements set.Worker.
func (r *reader) Close() {}

// Drop implements set.Worker.
func (r *reader) Drop() {
	if r.r != nil {
		r.r.close()
	}
	r.r = nil
}

// Take implements set.Worker.
func (r *reader) Take(j *joined, in *set.Input, b *shardify.Batch) (err error) {
	take := make([]int, len(b.Columns))
	for i := range take {
		take[i] = in.Field(i)
		if take[i] < 0 {
			continue
		}
		if w := j.wanted; take[i] >= len(w) || !fits(&j.list[w[take[i]]].Field, &b.Columns[i].Field) {
			return errState
		}
	}
	if r.r, err = j.reader(take); err == nil {
		r.lead = sharing(b.Columns)
	}
	return err
}

// Read implements set.Worker.
func (r *reader) Read(ctx context.Context, _ *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	if err := r.r.read(ctx, sp.Lo, sp.Hi, mem, b); err != nil {
		return err
	}
	if err := share(b, r.lead); err != nil {
		return err
	}
	for i := range b.Columns {
		if err := rows.CheckText(&b.Columns[i], sp.Lo); err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether a file's field is what the plan takes it for.
func fits(have, want *shardify.Field) bool {
	return have.DType == want.DType && have.Levels == want.Levels && have.ElemBytes() == want.ElemBytes()
}
