package cluster

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// unusedFragments lists the fragments of a global shuffle that no shard needs: of portions
// that were done twice, or of a data set that is complete. One of them may belong to a
// worker that is about to publish its receipt.
func unusedFragments(ctx context.Context, p *plan.Plan, set, scratch storage.Store, complete bool) (unused []storage.FileInfo, err error) {
	known := map[string]bool{}
	if !complete {
		d, err := plan.ReadDone(ctx, p, set)
		if err != nil {
			return nil, err
		}
		err = plan.EachReceipt(ctx, len(d.Portions), func(i int) (*plan.Receipt, error) {
			if !d.Portions[i] {
				return nil, nil
			}
			r, err := plan.ReadScatter(p, set, i)
			if errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
				return nil, nil // it will be scattered again, under another name
			}
			return r, err
		}, func(_ int, r *plan.Receipt) error {
			if r != nil {
				known[r.Fragment.Name] = true
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for f, err := range scratch.List("") {
		switch {
		case err != nil:
			return nil, err
		case strings.HasSuffix(f.Name, plan.FragmentSuffix) && !known[f.Name]:
			unused = append(unused, f)
		}
	}
	return unused, nil
}
