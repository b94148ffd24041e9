package plan

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Tally is what receipts say together.
type Tally struct {
	Samples, Bytes int64 // in shards
	Skipped        int64
	// Damaged is the shards, or portions, whose receipts are damaged or name files that
	// are not there.
	Damaged []int
}

// Tally reads the receipts that d lists. Those that turn out to be damaged, or gone, are
// no longer done. With files it looks at the files of the shards too.
func (p *Plan) Tally(ctx context.Context, s storage.Store, d *Done, files bool) (*Tally, error) {
	t := &Tally{}
	read := func(list []bool, at func(i int) (*Receipt, error)) error {
		return EachReceipt(ctx, len(list), func(i int) (*Receipt, error) {
			if !list[i] {
				return nil, nil
			}
			r, err := at(i)
			if errors.Is(err, shardify.ErrCorrupt) {
				return &Receipt{Index: -1}, nil
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil, nil
			}
			if err == nil && files {
				var ok bool
				if ok, err = p.Present(s, r); err == nil && !ok {
					return &Receipt{Index: -1}, nil
				}
			}
			return r, err
		}, func(i int, r *Receipt) error {
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
	if err := read(d.Shards, func(i int) (*Receipt, error) { return p.Receipt(s, i) }); err != nil {
		return nil, err
	}
	if err := read(d.Portions, func(i int) (*Receipt, error) { return p.ScatterReceipt(s, i) }); err != nil {
		return nil, err
	}
	slices.Sort(t.Damaged)
	t.Damaged = slices.Compact(t.Damaged)
	return t, nil
}

func (t *Tally) add(r *Receipt) {
	for _, s := range r.Skipped {
		t.Skipped += s.Hi - s.Lo
	}
	if r.Fragment != nil {
		return
	}
	for _, s := range r.shards() {
		t.Samples += s.Samples
		t.Bytes += s.Bytes
		for _, f := range s.Files {
			t.Bytes += f.Bytes
		}
	}
}
