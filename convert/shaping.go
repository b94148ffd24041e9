package convert

import (
	"context"
	"errors"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/internal/shuffle"
)

// bind makes the plan's flow, once.
func (j *Job) bind() error {
	if j.Pool == nil {
		j.Pool = shardify.NewPool(defaultPool)
	}
	if j.flow != nil || !j.Plan.shaped() {
		return nil
	}
	var err error
	if j.flow, err = j.Plan.bind(j.Compile); err != nil {
		return err
	}
	if j.Plan.Shuffle != "" {
		// Half of the memory for what is read, half for what is kept to be put in order.
		keep := j.Pool.Limit() / 2
		j.Pool = shardify.NewPool(j.Pool.Limit() - keep)
		j.shuffle = &shuffle.Shuffle{
			Layout: j.flow.layout(), Keyer: j.Plan.keyer(), Scratch: j.scratch(), Pool: j.Pool,
			Keep: max(keep/int64(3*j.jobs()), 256<<10),
		}
	}
	return nil
}

// share is the memory that one unit may have beside the batches that are read.
func (j *Job) share() int64 { return max(j.Pool.Limit()/int64(2*j.jobs()), 1<<20) }

// beside is what a span's grant allows for operations. A span that would take more is
// cut into parts that do not.
func (j *Job) beside(s shardify.Span) int64 {
	if j.flow == nil {
		return 0
	}
	return min(j.flow.cost.of(int(s.Samples()), s.Bytes), j.share())
}

// shaping is what a worker has where samples do not simply pass through.
type shaping struct {
	run  *runner
	ctx  context.Context // of the unit
	out  outlet          // the shard in work
	emit func(split int, b *shardify.Batch, mem *shardify.Arena) error
	sum  tally
}

func (j *Job) worker(ctx context.Context) *worker {
	w := &worker{j: j, shard: -1}
	if j.flow != nil {
		w.ctx = ctx
		w.run = j.flow.runner(j.Pool, j.share(), w.skippable)
		w.emit = func(split int, b *shardify.Batch, mem *shardify.Arena) error { return w.out.write(split, b, mem) }
	}
	return w
}

// begin opens the outlet of the next shard.
func (w *worker) begin() error {
	i := w.shards[0]
	s := w.j.Plan.Shards[i]
	w.shards, w.shard, w.left, w.out = w.shards[1:], i, s.Hi-s.Lo, w.j.outlet(i)
	w.rec = Receipt{Plan: w.j.Plan.Digest(), Index: i}
	w.sum = tally{written: make([]int64, len(w.j.flow.splits))}
	return nil
}

// outlet is where the samples of portion i of the plan go.
func (j *Job) outlet(i int) outlet {
	switch j.Plan.Shuffle {
	case ShuffleGlobal:
		return j.newScatter(i)
	case ShuffleBlock:
		return j.newBlock(i)
	}
	return j.newSinks(i)
}

// shape takes a batch through the operations to the outlet.
func (w *worker) shape(b *shardify.Batch) error {
	w.proofs.add(b.Proofs...)
	t, err := w.run.run(w.ctx, owned(w.j.Source, b), w.emit)
	if err != nil {
		return err
	}
	w.sum.add(&t)
	for _, s := range t.skipped {
		w.j.Progress.Skipped.Add(s.Hi - s.Lo)
	}
	return nil
}

// owned gives samples the identities that follow from the inputs they are known by.
func owned(src shardify.Source, b *shardify.Batch) *shardify.Batch {
	o, ok := src.(shardify.Owner)
	if !ok {
		return b
	}
	out := *b
	out.IDs = make([]shardify.ID, b.Samples)
	for i := range out.IDs {
		id := b.ID(i)
		out.IDs[i] = shardify.ID{Input: o.Owner(id.Input, id.Sample), Copy: id.Copy}
	}
	return &out
}

// complete publishes what the portion gave, and its receipt.
func (w *worker) complete(ctx context.Context) error {
	r := &w.rec
	r.Copied, r.Dropped, r.Counts = w.sum.copied, w.sum.dropped, w.sum.counts
	r.Skipped = append(r.Skipped, w.sum.skipped...)
	if w.j.Plan.Split != nil || w.j.Plan.Shuffle == ShuffleGlobal {
		r.Written = w.sum.written
	}
	if err := w.out.commit(ctx, r); err != nil {
		return err
	}
	if err := r.wrote(w.sum.written); err != nil {
		return err
	}
	if err := w.j.publishPortion(ctx, w.receipt()); err != nil {
		return err
	}
	w.out = nil
	w.done()
	return nil
}

// publishPortion publishes the receipt of a portion. Of two workers at one portion of
// a global shuffle the first to publish counts: their fragments may differ in how they
// are laid out.
func (j *Job) publishPortion(ctx context.Context, r *Receipt) error {
	if j.Plan.Shuffle != ShuffleGlobal {
		return j.publish(ctx, r)
	}
	for {
		err := j.publishAs(ctx, r, j.Plan.scatterName(r.Index))
		if !errors.Is(err, shardify.ErrExists) {
			return err
		}
		gone, err := j.checkOther(r)
		if err == nil && gone {
			err = j.Store.Remove(j.Plan.scatterName(r.Index))
			if err == nil {
				continue
			}
		}
		return errors.Join(j.scratch().Remove(r.Fragment.Name), err)
	}
}
