package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
)

// Tally is what became of samples: read + copied == written + dropped + skipped.
type Tally struct {
	Copied, Dropped int64
	Written         []int64 // by split
	Counts          []shardify.Count
	Skipped         []index.Skip
}

// Add adds what became of other samples.
func (t *Tally) Add(o *Tally) {
	t.Copied += o.Copied
	t.Dropped += o.Dropped
	if t.Written == nil {
		t.Written = make([]int64, len(o.Written))
	}
	for i, n := range o.Written {
		t.Written[i] += n
	}
	t.Counts = AddCounts(t.Counts, o.Counts...)
	t.Skipped = append(t.Skipped, o.Skipped...)
}

// AddCounts adds to the counts of the same names. They are in the order of their names:
// which comes first must not depend on how batches are cut.
func AddCounts(list []shardify.Count, more ...shardify.Count) []shardify.Count {
	for _, c := range more {
		i, ok := slices.BinarySearchFunc(list, c.Name, func(x shardify.Count, name string) int { return strings.Compare(x.Name, name) })
		if !ok {
			list = slices.Insert(list, i, shardify.Count{Name: c.Name})
		}
		x := &list[i]
		x.N += c.N
		if c.Of > 0 {
			if x.Used == nil {
				x.Used = new(shardify.RowSet)
			}
			x.Used.Merge(c.Used)
			x.Of, x.N = c.Of, c.Of-x.Used.Len()
		}
	}
	return list
}

// Sums is counts for people: without what it takes to add others to them.
func Sums(list []shardify.Count) []shardify.Count {
	for i := range list {
		list[i].Of, list[i].Used = 0, nil
	}
	return slices.DeleteFunc(list, func(c shardify.Count) bool { return c.N == 0 })
}

// Runner takes the batches of one unit through the flow. It is used by one goroutine.
type Runner struct {
	f     *Flow
	src   shardify.Source
	pool  *shardify.Pool
	share int64 // memory beside a batch
	upto  int   // stages to go through
	whole bool  // leave the samples unrouted
	// skippable reports whether an error may cost samples rather than the conversion.
	skippable func(error) bool

	to   []uint16
	rows [][]int32
	all  []int32
}

// NewRunner makes a runner of batches of a source.
func (f *Flow) NewRunner(src shardify.Source, pool *shardify.Pool, share int64, skippable func(error) bool) *Runner {
	return &Runner{f: f, src: src, pool: pool, share: max(share, 1), upto: f.stages(), skippable: skippable, rows: make([][]int32, len(f.Splits))}
}

// NewSurveyor makes a runner for a survey: through the stages in front of place upto, and the
// router if routed.
func (f *Flow) NewSurveyor(src shardify.Source, pool *shardify.Pool, share int64, skippable func(error) bool, upto int, routed bool) *Runner {
	r := f.NewRunner(src, pool, share, skippable)
	r.upto, r.whole = upto, !routed
	return r
}

// Run takes a batch through the stages, in parts that fit the memory, hands what comes
// out to emit, split by split, and adds to sum what became of the samples. Of a plain flow
// emit is given the batch itself, and no arena.
func (r *Runner) Run(ctx context.Context, b *shardify.Batch, sum *Tally, emit func(split int, b *shardify.Batch, mem *shardify.Arena) error) error {
	sum.Counts = AddCounts(sum.Counts, b.Counts...)
	if r.f.Plain {
		sum.Written[0] += int64(b.Samples)
		return emit(0, b, nil)
	}
	b = owned(r.src, b)
	step := b.Samples
	if n := r.f.cost.of(b.Samples, b.Bytes()); n > r.share {
		step = max(int(int64(b.Samples)*r.share/n), 1)
	}
	for lo := 0; lo < b.Samples; lo += step {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.part(ctx, b, lo, min(lo+step, b.Samples), sum, emit); err != nil {
			return err
		}
	}
	return nil
}

// Whole takes a batch of one split through the stages, in memory that the caller has.
func (r *Runner) Whole(b *shardify.Batch, split int, mem *shardify.Arena, sum *Tally) (*shardify.Batch, error) {
	outs, err := r.compute(owned(r.src, b), 0, b.Samples, mem, sum)
	if err != nil {
		return nil, err
	}
	return outs[split], nil
}

// part runs samples [lo, hi) of a batch. Nothing is emitted before all of them are
// through, so that a failure may be tried again in halves.
func (r *Runner) part(ctx context.Context, b *shardify.Batch, lo, hi int, sum *Tally, emit func(int, *shardify.Batch, *shardify.Arena) error) error {
	// Room for this is part of the span's grant; to wait for another grant here could
	// be to wait for ever.
	mem := r.pool.Overdraft()
	defer mem.Release()
	one := Tally{Written: make([]int64, len(r.f.Splits))}
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
		one.Written[s] += int64(out.Samples)
	}
	if read := int64(hi - lo); read+one.Copied != one.total() {
		return fmt.Errorf("span of %d samples: %d copied, %d written, %d dropped", read, one.Copied, one.total()-one.Dropped, one.Dropped)
	}
	sum.Add(&one)
	return nil
}

// because counts samples that were dropped, by the reason.
func (t *Tally) because(reason string, n int64) {
	if n > 0 {
		t.Counts = AddCounts(t.Counts, plan.Dropped(reason, n))
	}
}

func (t *Tally) total() int64 {
	n := t.Dropped
	for _, w := range t.Written {
		n += w
	}
	return n
}

// halves tries again what failed, down to the samples that cause the error.
func (r *Runner) halves(ctx context.Context, err error, b *shardify.Batch, lo, hi int, sum *Tally, emit func(int, *shardify.Batch, *shardify.Arena) error) error {
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
	rec := index.Skip{Input: r.f.plan.In.Name(id.Input), Lo: id.Sample, Hi: id.Sample + 1, Reason: Reason(err)}
	var e *shardify.Error
	if errors.As(err, &e) {
		rec.Object = e.Object
	}
	sum.Skipped = append(sum.Skipped, rec)
	return nil
}

// compute gives the batches of each split.
func (r *Runner) compute(b *shardify.Batch, lo, hi int, mem *shardify.Arena, t *Tally) ([]*shardify.Batch, error) {
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

func (r *Runner) stretch(lo, hi int) []int32 {
	r.all = r.all[:0]
	for i := lo; i < hi; i++ {
		r.all = append(r.all, int32(i))
	}
	return r.all
}

// route parts a batch into the splits.
func (r *Runner) route(b *shardify.Batch, mem *shardify.Arena, t *Tally) ([]*shardify.Batch, error) {
	outs := make([]*shardify.Batch, len(r.f.Splits))
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
	var nowhere [3]int64
	for i, s := range to {
		if s >= splits.Unplaced {
			t.Dropped++
			nowhere[s-splits.Unplaced]++
			continue
		}
		r.rows[s] = append(r.rows[s], int32(i))
	}
	for i, n := range nowhere {
		if n > 0 {
			t.because(r.f.plan.Splits.Rule.Why(splits.Unplaced+uint16(i)), n)
		}
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
func (r *Runner) branch(s int, b *shardify.Batch, mem *shardify.Arena, t *Tally) (*shardify.Batch, error) {
	var err error
	// A survey in front of the split counts each sample once.
	if n := r.f.Copies[s]; n > 1 && !r.whole {
		if b, err = r.multiply(b, n, mem); err != nil {
			return nil, err
		}
		t.Copied += int64(b.Samples - b.Samples/n)
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
func (r *Runner) multiply(b *shardify.Batch, n int, mem *shardify.Arena) (*shardify.Batch, error) {
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
func (r *Runner) apply(s *stage, b *shardify.Batch, mem *shardify.Arena, t *Tally) (*shardify.Batch, error) {
	if b.Samples == 0 {
		return b, nil
	}
	in := *b
	in.Counts, in.Proofs = nil, nil
	out, err := s.Apply(&in, s.seed, mem)
	if err != nil {
		return nil, shardify.Annotate(err, r.f.opName(s), r.f.inputOf(b, err), "")
	}
	t.Counts = AddCounts(t.Counts, out.Counts...)
	before := t.Dropped
	if err := r.account(b, out, t); err != nil {
		return nil, r.f.named(s, err)
	}
	t.because(cmp.Or(s.Text, r.f.opName(s)), t.Dropped-before)
	return out, nil
}

func (f *Flow) opName(s *stage) string {
	if s.Op >= 0 && s.Op < len(f.ops) {
		return f.ops[s.Op].Name
	}
	return "shape"
}

// inputOf names the input that an error is about: that of its sample, if it says which, else
// of the batch, if it has one.
func (f *Flow) inputOf(b *shardify.Batch, err error) string {
	first, last := b.ID(0).Input, b.ID(b.Samples-1).Input
	if e, ok := errors.AsType[*shardify.Error](err); ok && e.At != nil {
		first, last = e.At.Input, e.At.Input
	}
	if first != last || int64(first) >= int64(f.plan.In.Table.Len()) {
		return ""
	}
	return f.plan.In.Table.Path(int(first))
}

// account counts what a stage has dropped and made more of: its samples must be those
// it was given, in their order.
func (r *Runner) account(in, out *shardify.Batch, t *Tally) error {
	if out.Samples == 0 {
		t.Dropped += int64(in.Samples)
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
			t.Dropped++
		} else {
			t.Copied += int64(n - 1)
		}
	}
	if k != len(out.IDs) {
		return fmt.Errorf("sample %d came out that did not go in, or in another order", out.IDs[k].Sample)
	}
	return nil
}

// Reason is the cause of an error without the places, which may be absolute
// paths and have no business in a manifest.
func Reason(err error) string {
	var e *shardify.Error
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}
