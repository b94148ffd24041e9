package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// tally is what became of samples: read + copied == written + dropped + skipped.
type tally struct {
	copied, dropped int64
	written         []int64 // by split
	counts          []shardify.Count
	skipped         []index.Skip
}

func (t *tally) add(o *tally) {
	t.copied += o.copied
	t.dropped += o.dropped
	if t.written == nil {
		t.written = make([]int64, len(o.written))
	}
	for i, n := range o.written {
		t.written[i] += n
	}
	for _, c := range o.counts {
		t.counts = addCount(t.counts, c)
	}
	t.skipped = append(t.skipped, o.skipped...)
}

// addCount adds to the count of the same name. They are in the order of their names:
// which comes first must not depend on how batches are cut.
func addCount(list []shardify.Count, c shardify.Count) []shardify.Count {
	i, ok := slices.BinarySearchFunc(list, c.Name, func(x shardify.Count, name string) int { return strings.Compare(x.Name, name) })
	if ok {
		list[i].N += c.N
		return list
	}
	return slices.Insert(list, i, c)
}

// runner takes the batches of one unit through the flow. It is used by one goroutine.
type runner struct {
	f     *flow
	pool  *shardify.Pool
	share int64 // memory beside a batch
	upto  int   // stages to go through
	whole bool  // leave the samples unrouted
	// skippable tells errors that may cost samples rather than the conversion.
	skippable func(error) bool

	to   []uint16
	rows [][]int32
	all  []int32
}

func (f *flow) runner(pool *shardify.Pool, share int64, skippable func(error) bool) *runner {
	return &runner{f: f, pool: pool, share: max(share, 1), upto: f.stages(), skippable: skippable, rows: make([][]int32, len(f.splits))}
}

// run takes a batch through the stages, in parts that fit the memory, and hands what
// comes out to emit, split by split.
func (r *runner) run(ctx context.Context, b *shardify.Batch, emit func(split int, b *shardify.Batch, mem *shardify.Arena) error) (tally, error) {
	sum := tally{written: make([]int64, len(r.f.splits))}
	step := b.Samples
	if n := r.f.cost.of(b.Samples, b.Bytes()); n > r.share {
		step = max(int(int64(b.Samples)*r.share/n), 1)
	}
	for lo := 0; lo < b.Samples; lo += step {
		if ctx.Err() != nil {
			return sum, context.Cause(ctx)
		}
		if err := r.part(ctx, b, lo, min(lo+step, b.Samples), &sum, emit); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// part runs samples [lo, hi) of a batch. Nothing is emitted before all of them are
// through, so that a failure may be tried again in halves.
func (r *runner) part(ctx context.Context, b *shardify.Batch, lo, hi int, sum *tally, emit func(int, *shardify.Batch, *shardify.Arena) error) error {
	// Room for this is part of the span's grant; to wait for another grant here could
	// be to wait for ever.
	mem := r.pool.Overdraft()
	defer mem.Release()
	one := tally{written: make([]int64, len(r.f.splits))}
	outs, err := r.compute(b, lo, hi, mem, &one)
	if err != nil {
		return r.halves(ctx, err, b, lo, hi, sum, emit)
	}
	for s, out := range outs {
		if out == nil || out.Samples == 0 {
			continue
		}
		if err := emit(s, out, mem); err != nil {
			return err
		}
		one.written[s] += int64(out.Samples)
	}
	if read := int64(hi - lo); read+one.copied != one.total() {
		return fmt.Errorf("span of %d samples: %d copied, %d written, %d dropped", read, one.copied, one.total()-one.dropped, one.dropped)
	}
	sum.add(&one)
	return nil
}

func (t *tally) total() int64 {
	n := t.dropped
	for _, w := range t.written {
		n += w
	}
	return n
}

// halves tries again what failed, down to the samples that are to blame.
func (r *runner) halves(ctx context.Context, err error, b *shardify.Batch, lo, hi int, sum *tally, emit func(int, *shardify.Batch, *shardify.Arena) error) error {
	if r.skippable == nil || !r.skippable(err) {
		return err
	}
	if hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if err := r.part(ctx, b, lo, mid, sum, emit); err != nil {
			return err
		}
		return r.part(ctx, b, mid, hi, sum, emit)
	}
	id := b.ID(lo)
	rec := index.Skip{Input: r.f.plan.inputName(id.Input), Lo: id.Sample, Hi: id.Sample + 1, Reason: reason(err)}
	var e *shardify.Error
	if errors.As(err, &e) {
		rec.Object = e.Object
	}
	sum.skipped = append(sum.skipped, rec)
	return nil
}

// compute gives the batches of each split.
func (r *runner) compute(b *shardify.Batch, lo, hi int, mem *shardify.Arena, t *tally) ([]*shardify.Batch, error) {
	cur := b
	var err error
	if lo > 0 || hi < b.Samples {
		if cur, err = b.Take(r.stretch(lo, hi), mem); err != nil {
			return nil, err
		}
	}
	for i := range r.f.before {
		if i >= r.upto {
			break
		}
		if cur, err = r.apply(&r.f.before[i], cur, mem, t); err != nil {
			return nil, err
		}
	}
	outs, err := r.route(cur, mem, t)
	if err != nil {
		return nil, err
	}
	for s := range outs {
		if outs[s] == nil || outs[s].Samples == 0 {
			continue
		}
		if outs[s], err = r.branch(s, outs[s], mem, t); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

func (r *runner) stretch(lo, hi int) []int32 {
	r.all = r.all[:0]
	for i := lo; i < hi; i++ {
		r.all = append(r.all, int32(i))
	}
	return r.all
}

// route parts a batch into the splits.
func (r *runner) route(b *shardify.Batch, mem *shardify.Arena, t *tally) ([]*shardify.Batch, error) {
	outs := make([]*shardify.Batch, len(r.f.splits))
	if r.f.router == nil || b.Samples == 0 || r.whole {
		outs[0] = b
		return outs, nil
	}
	if cap(r.to) < b.Samples {
		r.to = make([]uint16, b.Samples)
	}
	to := r.to[:b.Samples]
	if err := r.f.router.Route(b, to); err != nil {
		return nil, err
	}
	for s := range r.rows {
		r.rows[s] = r.rows[s][:0]
	}
	for i, s := range to {
		if s == Nowhere {
			t.dropped++
			continue
		}
		r.rows[s] = append(r.rows[s], int32(i))
	}
	for s, rows := range r.rows {
		switch {
		case len(rows) == b.Samples:
			outs[s] = b
		case len(rows) > 0:
			var err error
			if outs[s], err = b.Take(rows, mem); err != nil {
				return nil, err
			}
		}
	}
	return outs, nil
}

// branch is what happens to the samples of one split.
func (r *runner) branch(s int, b *shardify.Batch, mem *shardify.Arena, t *tally) (*shardify.Batch, error) {
	var err error
	// A survey in front of the split counts each sample once.
	if n := r.f.copies[s]; n > 1 && !r.whole {
		if b, err = r.multiply(b, n, mem); err != nil {
			return nil, err
		}
		t.copied += int64(b.Samples - b.Samples/n)
	}
	for i := range r.f.after {
		st := &r.f.after[i]
		if st.place >= r.upto {
			break
		}
		if !st.on[s] {
			continue
		}
		if b, err = r.apply(st, b, mem, t); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// multiply makes n of each sample.
func (r *runner) multiply(b *shardify.Batch, n int, mem *shardify.Arena) (*shardify.Batch, error) {
	r.all = r.all[:0]
	for i := range b.Samples {
		for range n {
			r.all = append(r.all, int32(i))
		}
	}
	out, err := b.Take(r.all, mem)
	if err != nil {
		return nil, err
	}
	for i := range out.IDs {
		out.IDs[i].Copy = uint16(i % n)
	}
	return out, nil
}

// apply runs one stage and holds it to its word.
func (r *runner) apply(s *stage, b *shardify.Batch, mem *shardify.Arena, t *tally) (*shardify.Batch, error) {
	if b.Samples == 0 {
		return b, nil
	}
	in := *b
	in.Counts, in.Proofs = nil, nil
	out, err := s.Apply(&in, s.seed, mem)
	if err != nil {
		return nil, shardify.Annotate(err, r.f.opName(s), r.f.inputOf(b, err), "")
	}
	for _, c := range out.Counts {
		t.counts = addCount(t.counts, c)
	}
	if err := r.account(b, out, t); err != nil {
		return nil, r.f.named(s, err)
	}
	return out, nil
}

func (f *flow) opName(s *stage) string {
	if s.Op >= 0 && s.Op < len(f.plan.Ops) {
		return f.plan.Ops[s.Op].Name
	}
	return "shape"
}

// inputOf names the input that an error is about: that of its sample, if it says which, else
// of the batch, if it has one.
func (f *flow) inputOf(b *shardify.Batch, err error) string {
	first, last := b.ID(0).Input, b.ID(b.Samples-1).Input
	if e, ok := errors.AsType[*shardify.Error](err); ok && e.At != nil {
		first, last = e.At.Input, e.At.Input
	}
	if first != last || int64(first) >= int64(f.plan.Table.Len()) {
		return ""
	}
	return f.plan.Table.Path(int(first))
}

// account counts what a stage has dropped and made more of: its samples must be those
// it was given, in their order.
func (r *runner) account(in, out *shardify.Batch, t *tally) error {
	if out.Samples == 0 {
		t.dropped += int64(in.Samples)
		return nil
	}
	if out.IDs == nil {
		if out.Samples != in.Samples {
			return fmt.Errorf("%d samples became %d without a list of which", in.Samples, out.Samples)
		}
		if in.IDs != nil || out.First != in.First {
			return fmt.Errorf("the samples lost their identities")
		}
		return nil
	}
	if out.Samples == in.Samples && len(in.IDs) == len(out.IDs) && &in.IDs[0] == &out.IDs[0] {
		return nil
	}
	if len(out.IDs) != out.Samples {
		return fmt.Errorf("%d identities for %d samples", len(out.IDs), out.Samples)
	}
	k := 0
	for i := range in.Samples {
		id := in.ID(i)
		n := 0
		for k < len(out.IDs) && out.IDs[k].Input == id.Input && out.IDs[k].Sample == id.Sample && (n > 0 || out.IDs[k].Copy == id.Copy) {
			if n > 0 && i+1 < in.Samples && in.ID(i+1) == out.IDs[k] {
				break // the next copy of the same sample
			}
			n, k = n+1, k+1
		}
		if n == 0 {
			t.dropped++
		} else {
			t.copied += int64(n - 1)
		}
	}
	if k != len(out.IDs) {
		return fmt.Errorf("sample %d came out that did not go in, or in another order", out.IDs[k].Sample)
	}
	return nil
}
