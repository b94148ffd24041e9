package convert

import (
	"context"
	"errors"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
)

// Convert publishes the plan, does every unit that is not done yet, and merges.
func (j *Job) Convert(ctx context.Context) (*index.Manifest, error) {
	if err := plan.Publish(ctx, j.Plan, j.Store); err != nil {
		return nil, why(ctx, err)
	}
	if err := j.Task(ctx, 0, 1); err != nil {
		return nil, err
	}
	activity := j.activities.open()
	defer j.activities.close(activity)
	activity.at(atMerging, 0)
	m, err := j.Merge(ctx)
	return m, why(ctx, err)
}

// Task does what task i of n has left to do.
func (j *Job) Task(ctx context.Context, i, n int) error {
	return j.Share(ctx, j.Plan.Pack.Task(i, n), j.Plan.Order.GatherTask(i, n))
}

// Share does units, and of a global shuffle, as soon as all workers' units are done, its
// shards; until then the error is Waiting.
func (j *Job) Share(ctx context.Context, units, shards []int) error {
	if j.Plan.Order.Shuffle != plan.ShuffleGlobal {
		return j.Work(ctx, units)
	}
	done, err := j.gathered(ctx, shards)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		if done {
			// Merge asks for the receipts of the portions too.
			if all, err := j.receipts().allScattered(units); err != nil || all {
				return err
			}
		}
		if err = j.Work(ctx, units); err == nil {
			err = j.Gather(ctx, shards)
		}
		if err == nil || ctx.Err() != nil || try == maxTries {
			return err
		}
		// Something may be missing because another worker completed the set and removed it,
		// or took a fragment for one that is no longer needed.
		var w *Waiting
		if all, e := j.receipts().allGathered(); e == nil && all {
			done = true
		} else if !errors.As(err, &w) || !j.Plan.Pack.Covers(units, w.Portions) {
			return err
		}
	}
}

// maxTries is how often a task begins again after another worker has removed what it
// needs.
const maxTries = 3

// allScattered reports whether the portions of all units have receipts.
func (s receipts) allScattered(units []int) (bool, error) {
	for _, u := range units {
		for i := s.plan.Pack.Units[u].Lo; i < s.plan.Pack.Units[u].Hi; i++ {
			_, err := s.scatter(i)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, shardify.ErrCorrupt) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// gathered reports whether all shards are there.
func (j *Job) gathered(ctx context.Context, shards []int) (bool, error) {
	for _, i := range shards {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if r, err := j.receipts().receipt(i); err != nil || r == nil {
			return false, err
		}
	}
	j.Progress.Gathers.Add(int64(len(shards)))
	return len(shards) > 0, nil
}
