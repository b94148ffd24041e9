package convert

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/internal/shuffle"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// ErrStopped is the cause of a context that was cancelled on request: what was
// published stays, and the same command goes on.
var ErrStopped = errors.New("stopped on request")

// ErrIncomplete: some shards have no receipt yet.
var ErrIncomplete = errors.New("not complete")

// Job is a plan with what it takes to carry it out.
type Job struct {
	Plan   *Plan
	Source shardify.Source
	Sink   shardify.SinkFormat
	Store  storage.Store
	Pool   *shardify.Pool // memory for samples on their way; nil is one of 256 MiB
	Jobs   int            // units at once; 0 means GOMAXPROCS
	// Compile makes the plan's operations anew; nil without operations.
	Compile Compile
	// IgnoreTimes takes inputs of another modification time than the plan knows for
	// unchanged.
	IgnoreTimes bool
	// Scratch holds the fragments of a shuffle; nil is a private folder of Store.
	Scratch storage.Store
	// Progress counts what is done; may be read at any time.
	Progress Progress

	posts posts
	left  atomic.Int64 // units of this Work that are not done
	slow  atomic.Bool  // storage was, of late: read ahead
	flow  *flow        // what happens to samples; nil if nothing

	shuffle *shuffle.Shuffle // nil without
}

// Progress counts the samples and decoded bytes that were read, and the shards
// that are published. Resumed shards count from the start.
type Progress struct {
	Samples, Bytes, Shards, Skipped atomic.Int64
	// Resumed is those of Bytes that were done before.
	Resumed atomic.Int64
	// Gathered counts the samples of a global shuffle that are in their shards.
	Gathered atomic.Int64
	// Made counts the shards and fragments that this process has published.
	Made atomic.Int64
}

func (j *Job) jobs() int {
	if j.Jobs > 0 {
		return j.Jobs
	}
	return runtime.GOMAXPROCS(0)
}

// readers is the most goroutines that read ahead for one unit: storage that is
// not in memory wants several requests in flight whatever the number of jobs.
func (j *Job) readers() int { return max(2, 4*runtime.GOMAXPROCS(0)/j.jobs()) }

// slow is the time for a mebibyte from which a read is taken to wait for storage
// (or to decode), so that more of them at once are worth their memory. From the
// page cache one reader is ahead of the writer, and eight only push each other's
// data out of the processor's cache.
const slow = 5 * time.Millisecond

// Work does the units that have no receipt yet.
func (j *Job) Work(ctx context.Context, units []int) error {
	if err := j.bind(); err != nil {
		return err
	}
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(j.jobs())
	j.left.Store(int64(len(units)))
	for _, u := range j.byPart(units) {
		if u < 0 || u >= len(j.Plan.Units) {
			return fmt.Errorf("unit %d of %d", u, len(j.Plan.Units))
		}
		if each.Err() != nil {
			break
		}
		g.Go(func() error { return j.unit(each, u) })
	}
	err := g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = j.flush(ctx) // a task that says it is done may be on another machine than merge
	}
	return why(ctx, err)
}

// why replaces the bare news that ctx was cancelled by the cause.
func why(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// unit does one unit: its shards in order, each published before the next.
func (j *Job) unit(ctx context.Context, u int) error {
	defer j.left.Add(-1)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := j.worker(ctx)
	w.post = j.posts.open()
	defer j.posts.close(w.post)
	spans, release, err := w.todo(ctx, u)
	if err != nil || len(spans) == 0 {
		return err
	}
	defer release()
	defer w.abort()
	err = j.ahead(ctx, spans, w.use)
	if err != nil {
		return err
	}
	if len(w.shards) > 0 {
		return fmt.Errorf("unit %d: %d shards left without samples", u, len(w.shards))
	}
	return nil
}

// worker is the state of one unit.
type worker struct {
	j      *Job
	shards []int // to do, in order
	shard  int   // being written, or -1
	left   int   // its spans still to come
	sink   shardify.Sink
	rec    Receipt
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

// open begins the next shard.
func (w *worker) open() error {
	p := w.j.Plan
	i := w.shards[0]
	s := p.Shards[i]
	if w.run != nil {
		return w.begin()
	}
	sink, err := w.j.Sink.New(w.j.Store, shardify.ShardSpec{
		Name: p.ShardName(i), Schema: p.Schema, Samples: s.Samples, Exact: p.OnError != OnErrorSkip,
		Keyed: p.Keyed, Options: p.OutputOptions,
	})
	if err != nil {
		return err
	}
	w.shards, w.shard, w.left, w.sink = w.shards[1:], i, s.Hi-s.Lo, sink
	w.rec = Receipt{Plan: p.Digest(), Index: i}
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
func (w *worker) receipt() *Receipt {
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
	for _, half := range []shardify.Span{sub(r.span, r.span.Lo, mid), sub(r.span, mid, r.span.Hi)} {
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
	return w.j.Plan.OnError == OnErrorSkip && (errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported))
}

// skipped records samples that are left out.
func (w *worker) skipped(s shardify.Span, err error) error {
	rec := index.Skip{Input: w.j.Plan.inputName(s.Input), Lo: s.Lo, Hi: s.Hi, Reason: reason(err)}
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

// reason is the cause of an error without the places, which may be absolute
// paths and have no business in a manifest.
func reason(err error) string {
	var e *shardify.Error
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

func (p *Plan) inputName(i uint32) string {
	if int(i) < p.Table.Len() {
		return p.Table.Name(int(i))
	}
	if i == 0 && p.FirstInput != "" {
		return p.FirstInput
	}
	return fmt.Sprintf("input %d", i)
}
