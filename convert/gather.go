package convert

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/shuffle"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// Gather does the shards of a global shuffle that have no receipt yet. Every portion
// must have been scattered.
func (j *Job) Gather(ctx context.Context, shards []int) error {
	if err := j.bind(); err != nil {
		return err
	}
	j.shuffle.Drop()
	todo, err := j.ungathered(ctx, shards)
	if err != nil || len(todo) == 0 {
		return err
	}
	set := j.shuffle.Open(buckets(j.Plan.Order.BucketsOf(&j.Plan.Splits)), j.Plan.Order.Gathers, j.Plan.Order.PerShard)
	err = j.fragments(ctx, set)
	if err == nil {
		err = j.gatherAll(ctx, set, todo)
	}
	return why(ctx, errors.Join(err, set.Close()))
}

// gatherAll makes shards of a set that is whole.
func (j *Job) gatherAll(ctx context.Context, set *shuffle.Set, todo []int) error {
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(j.jobs())
	for _, i := range todo {
		if each.Err() != nil {
			break
		}
		g.Go(func() error { return j.gather(each, set, i) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return storage.Flush(ctx, j.Store)
}

// ungathered are the shards without a receipt.
func (j *Job) ungathered(ctx context.Context, shards []int) (todo []int, err error) {
	for _, i := range shards {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := j.receipts().receipt(i)
		if err != nil {
			return nil, err
		}
		if r == nil {
			todo = append(todo, i)
			continue
		}
		j.Progress.Gathers.Add(1)
	}
	return todo, nil
}

// Waiting is the error of a task of a global shuffle that cannot go on before others
// have scattered their samples.
type Waiting struct{ Portions []int }

func (w *Waiting) Error() string {
	what := "portions are"
	if len(w.Portions) == 1 {
		what = "portion is"
	}
	return fmt.Sprintf("%d %s not scattered yet: %s: %s", len(w.Portions), what, plan.Ranges(w.Portions), ErrIncomplete.Error())
}

// Unwrap is ErrIncomplete.
func (w *Waiting) Unwrap() error { return ErrIncomplete }

// fragments opens all fragments, or reports which are missing.
func (j *Job) fragments(ctx context.Context, set *shuffle.Set) error {
	var missing []int
	for i := range j.Plan.Pack.Shards {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, err := j.receipts().portion(i)
		if err != nil {
			return err
		}
		if r == nil {
			missing = append(missing, i)
			continue
		}
		if err := set.Add(r.Fragment.Name); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return &Waiting{missing}
	}
	return set.Count()
}

// gather makes one shard of each split.
func (j *Job) gather(ctx context.Context, set *shuffle.Set, shard int) error {
	out := j.newSinks(shard)
	defer out.abort()
	activity := j.activities.open()
	defer j.activities.close(activity)
	activity.at(atGathering, shard)
	cuts, err := set.Cuts(shard)
	if err != nil {
		return err
	}
	for _, c := range cuts {
		out.samples = append(out.samples, c.Samples)
	}
	written := make([]int64, len(cuts))
	err = set.Gather(ctx, cuts, func(split int, b *shardify.Batch, mem *shardify.Arena) error {
		written[split] += int64(b.Samples)
		j.Progress.Gathered.Add(int64(b.Samples))
		activity.at(atWriting, shard)
		defer activity.at(atGathering, shard)
		return out.write(split, b, mem)
	})
	if err != nil {
		return err
	}
	r := &plan.Receipt{Plan: j.Plan.Digest(), Index: shard}
	if j.Plan.Splits.Rule != nil {
		r.Written = written
	}
	activity.at(atPublishing, shard)
	if err := out.commit(ctx, r); err != nil {
		return err
	}
	if err := r.Wrote(written); err != nil {
		return err
	}
	r.Read = r.Samples()
	if err := j.receipts().publish(ctx, r); err != nil {
		return err
	}
	j.Progress.Gathers.Add(1)
	j.Progress.Made.Add(1)
	return nil
}
