package plan

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// Fragments lists the fragments of a global shuffle, those that its shards need and
// those that nobody does: of portions that were done twice, or of a data set that is
// complete. One that is stray may belong to a worker that is about to say so.
func (p *Plan) Fragments(ctx context.Context, set, scratch storage.Store, complete bool) (needed, stray []storage.FileInfo, err error) {
	known := map[string]bool{}
	if !complete {
		d, err := p.Done(ctx, set)
		if err != nil {
			return nil, nil, err
		}
		err = EachReceipt(ctx, len(d.Portions), func(i int) (*Receipt, error) {
			if !d.Portions[i] {
				return nil, nil
			}
			r, err := p.ScatterReceipt(set, i)
			if errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
				return nil, nil // it will be scattered anew, under another name
			}
			return r, err
		}, func(_ int, r *Receipt) error {
			if r != nil {
				known[r.Fragment.Name] = true
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for f, err := range scratch.List("") {
		switch {
		case err != nil:
			return nil, nil, err
		case !strings.HasSuffix(f.Name, FragmentSuffix):
		case known[f.Name]:
			needed = append(needed, f)
		default:
			stray = append(stray, f)
		}
	}
	return needed, stray, nil
}

// ScratchStore is where the fragments of a data set are if no other place is named.
func ScratchStore(set storage.Store) storage.Store { return storage.Below(set, ScratchDir) }
