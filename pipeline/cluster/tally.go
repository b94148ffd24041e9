package cluster

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// tally is what receipts say together.
type tally struct {
	Samples, Bytes int64 // in shards
	Skipped        int64
	Dropped        int64
	// Damaged is the shards, or portions, whose receipts are damaged or name files that
	// are not there.
	Damaged []int
}

// readTally reads the receipts that d lists. Those that turn out to be damaged, or gone, are
// no longer done. With files it looks at the files of the shards too.
func readTally(ctx context.Context, p *plan.Plan, s storage.Store, d *plan.Done, files bool) (*tally, error) {
	t := &tally{}
	read := func(list []bool, at func(i int) (*plan.Receipt, error)) error {
		return plan.EachReceipt(ctx, len(list), func(i int) (*plan.Receipt, error) {
			if !list[i] {
				return nil, nil
			}
			r, err := at(i)
			if errors.Is(err, shardify.ErrCorrupt) {
				return &plan.Receipt{Index: -1}, nil
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			if err == nil && files {
				var ok bool
				if ok, err = plan.Present(s, r); err == nil && !ok {
					return &plan.Receipt{Index: -1}, nil
				}
			}
			return r, err
		}, func(i int, r *plan.Receipt) error {
			switch {
			case r == nil:
				list[i] = false
			case r.Index < 0:
				list[i] = false
				t.Damaged = append(t.Damaged, i)
			default:
				t.add(r)
			}
			return nil
		})
	}
	if err := read(d.Shards, func(i int) (*plan.Receipt, error) { return plan.ReadReceipt(p, s, i) }); err != nil {
		return nil, err
	}
	if err := read(d.Portions, func(i int) (*plan.Receipt, error) { return plan.ReadScatter(p, s, i) }); err != nil {
		return nil, err
	}
	slices.Sort(t.Damaged)
	t.Damaged = slices.Compact(t.Damaged)
	return t, nil
}

func (t *tally) add(r *plan.Receipt) {
	for _, s := range r.Skipped {
		t.Skipped += s.Hi - s.Lo
	}
	t.Dropped += r.Dropped
	if r.Fragment != nil {
		return
	}
	for _, s := range r.Shards() {
		t.Samples += s.Samples
		t.Bytes += s.Bytes
		for _, f := range s.Files {
			t.Bytes += f.Bytes
		}
	}
}
