package convert

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
)

// shaping is what a worker has where samples do not simply pass through.
type shaping struct {
	run  *flow.Runner
	ctx  context.Context // of the unit
	out  outlet          // the shard in work
	emit func(split int, b *shardify.Batch, mem *shardify.Arena) error
	sum  flow.Tally
}

func (j *Job) worker(ctx context.Context) *worker {
	w := &worker{j: j, shard: -1}
	if j.flow != nil {
		w.ctx = ctx
		w.run = j.flow.NewRunner(j.Pool, j.share(), w.skippable)
		w.emit = func(split int, b *shardify.Batch, mem *shardify.Arena) error { return w.out.write(split, b, mem) }
	}
	return w
}

// begin opens the outlet of the next shard.
func (w *worker) begin() error {
	i := w.shards[0]
	s := w.j.Plan.Shards[i]
	w.shards, w.shard, w.left, w.out = w.shards[1:], i, s.Hi-s.Lo, w.j.outlet(i)
	w.rec = plan.Receipt{Plan: w.j.Plan.Digest(), Index: i}
	w.sum = flow.Tally{Written: make([]int64, len(w.j.flow.Splits))}
	return nil
}

// shape takes a batch through the operations to the outlet.
func (w *worker) shape(b *shardify.Batch) error {
	w.proofs.add(b.Proofs...)
	t, err := w.run.Run(w.ctx, flow.Owned(w.j.Source, b), w.emit)
	if err != nil {
		return err
	}
	w.sum.Add(&t)
	for _, s := range t.Skipped {
		w.j.Progress.Skipped.Add(s.Hi - s.Lo)
	}
	return nil
}

// complete publishes what the portion gave, and its receipt.
func (w *worker) complete(ctx context.Context) error {
	r := &w.rec
	r.Copied, r.Dropped, r.Counts = w.sum.Copied, w.sum.Dropped, w.sum.Counts
	r.Skipped = append(r.Skipped, w.sum.Skipped...)
	if w.j.Plan.Split != nil || w.j.Plan.Shuffle == plan.ShuffleGlobal {
		r.Written = w.sum.Written
	}
	if err := w.out.commit(ctx, r); err != nil {
		return err
	}
	if err := r.Wrote(w.sum.Written); err != nil {
		return err
	}
	if err := w.j.publishPortion(ctx, w.receipt()); err != nil {
		return err
	}
	w.out = nil
	w.done()
	return nil
}

// worker is the state of one unit.
type worker struct {
	j      *Job
	shards []int // to do, in order
	shard  int   // being written, or -1
	left   int   // its spans still to come
	sink   shardify.Sink
	rec    plan.Receipt
	proofs proofs
	post   *post
	followed
	shaping
}

// todo lists the shards without a receipt and their spans, to be released when these
// are read.
func (w *worker) todo(ctx context.Context, u int) (spans []shardify.Span, release func(), err error) {
	p := w.j.Plan
	for i := p.Units[u].Lo; i < p.Units[u].Hi; i++ {
		w.post.at(atChecking, i)
		r, err := w.j.portion(i)
		if err != nil {
			return nil, nil, err
		}
		if r != nil {
			w.j.Progress.Shards.Add(1)
			w.j.Progress.Samples.Add(p.Shards[i].Samples)
			w.j.Progress.Bytes.Add(p.ShardBytes(i))
			w.j.Progress.Resumed.Add(p.ShardBytes(i))
			continue
		}
		w.shards = append(w.shards, i)
	}
	w.post.leave()
	if len(w.shards) == 0 {
		return nil, nil, nil
	}
	of, release, err := w.j.holdSpans(ctx, w.shards[0])
	if err != nil {
		return nil, nil, err
	}
	for _, i := range w.shards {
		spans = append(spans, of[p.Shards[i].Lo:p.Shards[i].Hi]...)
	}
	return spans, release, nil
}

// use takes the next span of the unit.
func (w *worker) use(ctx context.Context, r result) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if w.shard < 0 {
		if err := w.open(); err != nil {
			return err
		}
	}
	w.post.at(atWriting, w.shard)
	defer w.post.leave()
	if err := w.follow(ctx, r.span.Input); err != nil {
		return err
	}
	w.rec.Read += r.span.Samples()
	if r.err != nil {
		if err := w.skip(ctx, r); err != nil {
			return err
		}
	} else if err := w.write(r.batch); err != nil {
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
	if w.shard < 0 {
		if err := w.open(); err != nil {
			return 0, 0, 0, err
		}
	}
	lead, bytes = w.sink.(shardify.Framer).NextFrame()
	return lead, bytes, w.left, nil
}

// open begins the next shard.
func (w *worker) open() error {
	p := w.j.Plan
	i := w.shards[0]
	s := p.Shards[i]
	if w.run != nil {
		return w.begin()
	}
	sink, err := w.j.Sink.New(w.j.Store, shardify.ShardSpec{
		Name: p.ShardName(i), Schema: p.Schema, Samples: s.Samples, Exact: p.OnError != plan.OnErrorSkip,
		Keyed: p.Keyed, Options: p.OutputOptions,
	})
	if err != nil {
		return err
	}
	w.shards, w.shard, w.left, w.sink = w.shards[1:], i, s.Hi-s.Lo, sink
	w.rec = plan.Receipt{Plan: p.Digest(), Index: i}
	return nil
}

// write brings a batch to its shard. Where there is more to do, or more than one
// shard to choose from, shape does it.
func (w *worker) write(b *shardify.Batch) error {
	if w.run != nil {
		return w.shape(b)
	}
	if err := w.sink.Write(b); err != nil {
		return err
	}
	w.proofs.add(b.Proofs...) // after Write: streams have theirs at their end
	w.rec.Shard.Samples += int64(b.Samples)
	return nil
}

// commit publishes the shard, then its receipt. Input objects that are complete
// by now must have their checksum first.
func (w *worker) commit(ctx context.Context) error {
	w.post.at(atPublishing, w.shard)
	if err := w.unchanged(ctx); err != nil {
		return err
	}
	if err := w.proofs.check(w.j.Source, w.j.Plan.Table); err != nil {
		return err
	}
	if w.run != nil {
		return w.complete(ctx)
	}
	written := w.rec.Shard.Samples
	if written > 0 {
		s, err := w.sink.Commit(ctx)
		if err != nil {
			return err
		}
		if s.Samples != written {
			return fmt.Errorf("%s: sink wrote %d samples of %d", s.Name, s.Samples, written)
		}
		w.rec.Shard = s
	} else if err := w.sink.Abort(); err != nil {
		return err
	}
	if err := w.j.publish(ctx, w.receipt()); err != nil {
		return err
	}
	w.done()
	return nil
}

// receipt is the receipt of the shard in work.
func (w *worker) receipt() *plan.Receipt {
	for _, p := range w.proofs.list {
		if !complete(p) { // what is whole was checked
			w.rec.Proofs = append(w.rec.Proofs, p)
		}
	}
	return &w.rec
}

// done leaves a published shard.
func (w *worker) done() {
	w.proofs.list = w.proofs.list[:0]
	w.sink, w.shard = nil, -1
	w.j.Progress.Shards.Add(1)
	w.j.Progress.Made.Add(1)
}

func (w *worker) abort() {
	if w.sink != nil {
		w.sink.Abort()
	}
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
	l := lane{source: w.j.Source}
	defer l.close()
	mid := r.span.Lo + r.span.Samples()/2
	for _, half := range []shardify.Span{plan.Sub(r.span, r.span.Lo, mid), plan.Sub(r.span, mid, r.span.Hi)} {
		if err := w.retry(ctx, &l, half); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) retry(ctx context.Context, l *lane, s shardify.Span) error {
	// Beyond the budget, by less than the span that failed: waiting for a grant
	// here, with that span's still held, could wait for ever.
	mem := w.j.Pool.Overdraft()
	defer mem.Release()
	b, err := l.read(ctx, s, mem)
	if err == nil {
		return w.write(b)
	}
	l.close() // what a failed read leaves behind is not defined
	return w.skip(ctx, result{span: s, err: err})
}

func (w *worker) skippable(err error) bool {
	return w.j.Plan.OnError == plan.OnErrorSkip && (errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported))
}

// skipped records samples that are left out.
func (w *worker) skipped(s shardify.Span, err error) error {
	rec := index.Skip{Input: w.j.Plan.InputName(s.Input), Lo: s.Lo, Hi: s.Hi, Reason: flow.Reason(err)}
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
