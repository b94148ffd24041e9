package convert

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

var errNotExist = fs.ErrNotExist

// Convert publishes the plan, does every unit that is not done yet, and merges.
func (j *Job) Convert(ctx context.Context) (*index.Manifest, error) {
	if err := j.Plan.Publish(ctx, j.Store); err != nil {
		return nil, why(ctx, err)
	}
	if err := j.Task(ctx, 0, 1); err != nil {
		return nil, err
	}
	post := j.posts.open()
	defer j.posts.close(post)
	post.at(atMerging, 0)
	m, err := j.Merge(ctx)
	return m, why(ctx, err)
}

// Task does what task i of n has left to do.
func (j *Job) Task(ctx context.Context, i, n int) error {
	return j.Share(ctx, j.Plan.Task(i, n), j.Plan.GatherTask(i, n))
}

// Share does units, and of a global shuffle, as soon as everybody's units are done, its
// shards; until then the error is Waiting.
func (j *Job) Share(ctx context.Context, units, shards []int) error {
	if j.Plan.Shuffle != ShuffleGlobal {
		return j.Work(ctx, units)
	}
	done, err := j.gathered(ctx, shards)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		if done {
			// Merge asks for the receipts of the portions too.
			if all, err := j.allTold(units); err != nil || all {
				return err
			}
		}
		if err = j.Work(ctx, units); err == nil {
			err = j.Gather(ctx, shards)
		}
		if err == nil || ctx.Err() != nil || try == maxTries {
			return err
		}
		// It may lack what another worker has removed, since it has completed the set, or
		// since it took a fragment for one that nobody needs.
		var w *Waiting
		if all, e := j.allGathered(); e == nil && all {
			done = true
		} else if !errors.As(err, &w) || !j.Plan.covers(units, w.Portions) {
			return err
		}
	}
}

// maxTries is how often a task begins again after another worker has removed what it
// needs.
const maxTries = 3

// allTold tells whether the portions of all units have receipts.
func (j *Job) allTold(units []int) (bool, error) {
	for _, u := range units {
		for i := j.Plan.Units[u].Lo; i < j.Plan.Units[u].Hi; i++ {
			_, err := j.told(i)
			if errors.Is(err, errNotExist) || errors.Is(err, shardify.ErrCorrupt) {
				return false, nil
			}
			if err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// covers tells whether portions are all of the given units.
func (p *Plan) covers(units, portions []int) bool {
	mine := map[int]bool{}
	for _, u := range units {
		for i := p.Units[u].Lo; i < p.Units[u].Hi; i++ {
			mine[i] = true
		}
	}
	return !slices.ContainsFunc(portions, func(i int) bool { return !mine[i] })
}

// gathered tells whether all shards are there.
func (j *Job) gathered(ctx context.Context, shards []int) (bool, error) {
	for _, i := range shards {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if r, err := j.receipt(i); err != nil || r == nil {
			return false, err
		}
	}
	j.Progress.Shards.Add(int64(len(shards)))
	return len(shards) > 0, nil
}

// GatherTask is the shards of a global shuffle that task i of n makes.
func (p *Plan) GatherTask(i, n int) (shards []int) {
	for k := i; k < p.Gathers; k += max(n, 1) {
		shards = append(shards, k)
	}
	return shards
}

// tidy removes the fragments of a finished shuffle.
func (j *Job) tidy() error {
	if j.Plan.Shuffle == "" {
		return nil
	}
	return clearScratch(j.scratch())
}

// Tidy removes what scratch space still holds of a data set that is complete.
func (j *Job) Tidy() error { return j.tidy() }

func clearScratch(s storage.Store) error {
	var ours []string
	for f, err := range s.List("") {
		if err != nil {
			return err
		}
		if strings.HasSuffix(f.Name, fragmentSuffix) {
			ours = append(ours, f.Name)
		}
	}
	for _, n := range ours {
		if err := s.Remove(n); err != nil {
			return err
		}
	}
	return nil
}

// fragmentSuffix ends the names of fragments.
const fragmentSuffix = ".fragment"

// Clear removes what a conversion with this plan may have published, manifest
// first and plan last, and nothing else. output is the plan's. It returns the folders of
// published files, which may be empty now, the innermost first.
func (p *Plan) Clear(s storage.Store, output *shardify.SinkFormat) (folders []string, err error) {
	if err := s.Remove(index.ManifestName); err != nil {
		return nil, err
	}
	var ours []string
	for f, err := range s.List("") {
		if err != nil {
			return nil, err
		}
		if p.owns(f.Name, output) {
			ours = append(ours, f.Name)
		}
	}
	for _, n := range ours {
		if err := s.Remove(n); err != nil {
			return nil, err
		}
		for dir := path.Dir(n); dir != "." && !strings.HasPrefix(n, storage.Private+"/"); dir = path.Dir(dir) {
			folders = append(folders, dir)
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return strings.Compare(b, a) })
	return slices.Compact(folders), s.Remove(PlanName)
}

// owns tells whether a published file is this conversion's.
func (p *Plan) owns(name string, output *shardify.SinkFormat) bool {
	if name == PlanName {
		return false // removed last
	}
	if strings.HasPrefix(name, storage.Private+"/") {
		return true
	}
	for _, split := range p.SplitNames() {
		if rest, ok := strings.CutPrefix(name, split+"/"); ok {
			return rest == index.ManifestName || p.ownsInSet(rest, output)
		}
	}
	return p.ownsInSet(name, output)
}

// Makes tells whether a file of the output folder is one that this conversion makes before
// its manifest: a shard or what belongs to it, or in the private folder.
func (p *Plan) Makes(name string, output *shardify.SinkFormat) bool {
	if strings.HasPrefix(name, storage.Private+"/") {
		return true
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(path.Base(name), "shard-"), ".")
	i, err := strconv.Atoi(digits)
	n := len(p.Shards)
	if p.Shuffle == ShuffleGlobal {
		n = p.Gathers
	}
	return p.owns(name, output) && err == nil && i < n
}

// ownsInSet is owns for a name below the folder of one data set.
func (p *Plan) ownsInSet(name string, output *shardify.SinkFormat) bool {
	if p.Provenance && name == InputsName || output.Owns != nil && output.Owns(name) {
		return true
	}
	return strings.HasPrefix(path.Base(name), "shard-") && strings.HasSuffix(name, p.Ext)
}
