package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/dataset/proof"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
)

// worker is the state of one unit.
type worker struct {
	j        *Job
	shards   []int // to do, in order
	shard    int   // being written, or -1
	left     int   // its spans still to come
	run      *flow.Runner
	out      destination // the shard being written
	emit     func(split int, b *shardify.Batch, mem *shardify.Arena) error
	sum      flow.Tally
	rec      plan.Receipt
	sums     proof.Sums
	activity *activity
	followed
}

// unit does one unit: its shards in order, each published before the next.
func (j *Job) unit(ctx context.Context, u int) error {
	defer j.left.Add(-1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := j.worker()
	w.activity = j.activities.open()
	defer j.activities.close(w.activity)
	spans, release, err := w.todo(ctx, u)
	if err != nil || len(spans) == 0 {
		return err
	}
	defer release()
	defer w.abort()
	err = j.ahead(ctx, spans, w)
	if err != nil {
		return err
	}
	if len(w.shards) > 0 {
		return fmt.Errorf("unit %d: %d shards left without samples", u, len(w.shards))
	}
	return nil
}

func (j *Job) worker() *worker {
	w := &worker{j: j, shard: -1}
	w.run = j.flow.NewRunner(j.Source, j.Pool, j.share(), w.skippable)
	w.emit = func(split int, b *shardify.Batch, mem *shardify.Arena) error { return w.out.write(split, b, mem) }
	return w
}

// todo lists the shards without a receipt and their spans, to be released when these
// are read.
func (w *worker) todo(ctx context.Context, u int) (spans []shardify.Span, release func(), err error) {
	p := w.j.Plan
	for i := p.Pack.Units[u].Lo; i < p.Pack.Units[u].Hi; i++ {
		w.activity.at(atChecking, i)
		r, err := w.j.receipts().portion(i)
		if err != nil {
			return nil, nil, err
		}
		if r != nil {
			w.j.Progress.Shards.Add(1)
			w.j.Progress.Samples.Add(p.Pack.Shards[i].Samples)
			w.j.Progress.Bytes.Add(p.Pack.ShardBytes(i))
			w.j.Progress.Resumed.Add(p.Pack.ShardBytes(i))
			continue
		}
		w.shards = append(w.shards, i)
	}
	w.activity.leave()
	if len(w.shards) == 0 {
		return nil, nil, nil
	}
	of, release, err := w.j.holdSpans(ctx, w.shards[0])
	if err != nil {
		return nil, nil, err
	}
	for _, i := range w.shards {
		spans = append(spans, of[p.Pack.Shards[i].Lo:p.Pack.Shards[i].Hi]...)
	}
	return spans, release, nil
}

// use takes the next span of the unit.
func (w *worker) use(ctx context.Context, r result) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.open()
	w.activity.at(atWriting, w.shard)
	defer w.activity.leave()
	if err := w.follow(ctx, r.span.Input); err != nil {
		return err
	}
	w.rec.Read += r.span.Samples()
	if r.err != nil {
		if err := w.skip(ctx, r); err != nil {
			return err
		}
	} else if err := w.write(ctx, r.batch); err != nil {
		return err
	}
	w.j.Progress.Samples.Add(r.span.Samples())
	w.j.Progress.Bytes.Add(r.span.Bytes)
	if w.left -= r.ends; r.ends > 0 && w.left == 0 {
		return w.commit(ctx)
	}
	return nil
}

// next is how the sink of the next batch would have it framed, and the spans that
// its shard still has to come.
func (w *worker) next() (lead int, bytes int64, spans int, err error) {
	w.open()
	s, err := w.out.(*sinks).sink(0)
	if err != nil {
		return 0, 0, 0, err
	}
	lead, bytes = s.(format.Framer).NextFrame()
	return lead, bytes, w.left, nil
}

// open begins the next shard, unless one is being written.
func (w *worker) open() {
	if w.shard >= 0 {
		return
	}
	i := w.shards[0]
	s := w.j.Plan.Pack.Shards[i]
	w.shards, w.shard, w.left, w.out = w.shards[1:], i, s.Hi-s.Lo, w.j.destination(i)
	w.rec = plan.Receipt{Plan: w.j.Plan.Digest(), Index: i}
	w.sum = flow.Tally{Written: make([]int64, len(w.j.flow.Splits))}
}

// write takes a batch through the operations to its shard.
func (w *worker) write(ctx context.Context, b *shardify.Batch) error {
	before := len(w.sum.Skipped)
	if err := w.run.Run(ctx, b, &w.sum, w.emit); err != nil {
		return err
	}
	w.sums.Add(b.Proofs...) // streams have theirs at their end
	for _, s := range w.sum.Skipped[before:] {
		w.j.Progress.Skipped.Add(s.Hi - s.Lo)
	}
	return nil
}

// commit publishes the shard, then its receipt. Input objects that are complete
// by now must have their checksum first.
func (w *worker) commit(ctx context.Context) error {
	w.activity.at(atPublishing, w.shard)
	if err := w.unchanged(ctx); err != nil {
		return err
	}
	if err := w.sums.Check(w.j.Source, w.j.Plan.In.Table); err != nil {
		w.j.Progress.Samples.Add(-w.rec.Read)
		w.j.Progress.Bytes.Add(-w.j.Plan.Pack.ShardBytes(w.shard))
		return &unproven{err}
	}
	r := &w.rec
	r.Copied, r.Dropped, r.Counts = w.sum.Copied, w.sum.Dropped, w.sum.Counts
	r.Skipped = append(r.Skipped, w.sum.Skipped...)
	if w.j.Plan.Splits.Rule != nil || w.j.Plan.Order.Shuffle == plan.ShuffleGlobal {
		r.Written = w.sum.Written
	}
	r.Proofs = append(r.Proofs, w.sums.Parts()...)
	if err := w.out.commit(ctx, r); err != nil {
		return err
	}
	if err := r.Wrote(w.sum.Written); err != nil {
		return err
	}
	if err := w.j.receipts().publishPortion(ctx, r); err != nil {
		return err
	}
	w.sums.Reset()
	w.out, w.shard = nil, -1
	w.j.Progress.Shards.Add(1)
	w.j.Progress.Made.Add(1)
	return nil
}

func (w *worker) abort() {
	if w.out != nil {
		w.out.abort()
	}
}

// skip leaves out the smallest part of a span that cannot be read: it reads
// halves, quarters, ... down to single samples. In a run nothing after the
// damage can be read, so the span is skipped whole.
func (w *worker) skip(ctx context.Context, r result) error {
	if !w.skippable(r.err) {
		return r.err
	}
	if r.span.Run > 0 || r.span.Samples() == 1 {
		return w.skipped(r.span, r.err)
	}
	l := bareReader(w.j)
	defer l.close()
	mid := r.span.Lo + r.span.Samples()/2
	for _, half := range []shardify.Span{plan.Sub(r.span, r.span.Lo, mid), plan.Sub(r.span, mid, r.span.Hi)} {
		if err := w.retry(ctx, &l, half); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) retry(ctx context.Context, l *spanReader, s shardify.Span) error {
	// Beyond the budget, by less than the span that failed: waiting for a grant
	// here, with that span's still held, could wait for ever.
	mem := w.j.Pool.Overdraft()
	defer mem.Release()
	b, err := l.read(ctx, s, mem)
	if err == nil {
		return w.write(ctx, b)
	}
	l.close() // what a failed read leaves behind is not defined
	return w.skip(ctx, result{span: s, err: err})
}

// skippable reports whether the samples that err concerns are left out. What a storage does not
// deliver is not damage, whatever its reason: the next run may get it.
func (w *worker) skippable(err error) bool {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return false
	}
	return w.j.Plan.OnError == plan.OnErrorSkip && (errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported))
}

// skipped records samples that are left out.
func (w *worker) skipped(s shardify.Span, err error) error {
	rec := index.Skip{Input: w.j.Plan.In.Name(s.Input), Lo: s.Lo, Hi: s.Hi, Reason: flow.Reason(err)}
	var e *shardify.Error
	if errors.As(err, &e) {
		rec.Object = e.Object
	}
	w.j.Progress.Skipped.Add(s.Samples())
	if n := len(w.rec.Skipped); n > 0 {
		if last := &w.rec.Skipped[n-1]; last.Input == rec.Input && last.Object == rec.Object && last.Hi == rec.Lo && last.Reason == rec.Reason {
			last.Hi = rec.Hi
			return nil
		}
	}
	w.rec.Skipped = append(w.rec.Skipped, rec)
	return nil
}
