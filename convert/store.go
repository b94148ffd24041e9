package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// receipts is the receipts of a plan in a store, and the files that they name.
type receipts struct {
	plan           *plan.Plan
	store, scratch storage.Store
}

func (j *Job) receipts() receipts { return receipts{j.Plan, j.Store, j.scratch()} }

// listed is a store with the sizes that a list of it has given.
type listed struct {
	storage.Store
	sizes map[string]int64
}

// Size asks the store for what the list lacks.
func (l listed) Size(name string) (int64, error) {
	if n, ok := l.sizes[name]; ok {
		return n, nil
	}
	return storage.Size(l.Store, name)
}

// Unwrap keeps the abilities of the store.
func (l listed) Unwrap() any { return l.Store }

// sizes is a store to look for files of many shards in. Where a list has sizes at no cost, it takes
// the place of a request for each file.
func sizes(ctx context.Context, s storage.Store, shards int) (storage.Store, error) {
	if _, ok := storage.As[storage.Namer](s); ok || shards < 100 { // few are looked at one by one
		return s, nil
	}
	l := listed{s, make(map[string]int64, shards)}
	for f, err := range s.List("") {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(f.Name, storage.Private+"/") {
			l.sizes[f.Name] = f.Size
		}
	}
	return l, nil
}

// scratch is where fragments are.
func (j *Job) scratch() storage.Store {
	if j.Scratch != nil {
		return j.Scratch
	}
	return storage.Below(j.Store, plan.ScratchDir)
}

// publish writes the receipt.
func (s receipts) publish(ctx context.Context, r *plan.Receipt) error {
	return s.publishAs(ctx, r, s.plan.Names().Receipt(r.Index))
}

func (s receipts) publishAs(ctx context.Context, r *plan.Receipt, name string) error {
	if err := r.Balance(); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, s.store, name, append(b, '\n'))
}

// receipt returns the receipt of shard i if there is one and the files that it
// names are there in full size; nil means the shard is to be made.
func (s receipts) receipt(i int) (*plan.Receipt, error) {
	return s.receiptAt(i, s.plan.Names().Receipt(i))
}

func (s receipts) receiptAt(i int, name string) (*plan.Receipt, error) {
	b, err := plan.ReadFile(s.store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, ok := plan.DecodeReceipt(s.plan, b, i)
	if ok {
		if ok, err = s.presentAll(r); err != nil {
			return nil, err
		}
		if !ok && r.Fragment != nil {
			return nil, nil // it stays until there is another
		}
	}
	if !ok {
		// Published whole, so it was damaged later: rebuild the shard.
		return nil, s.store.Remove(name)
	}
	return r, nil
}

// scatter is the receipt of a portion whether or not its fragment is still there.
func (s receipts) scatter(i int) (*plan.Receipt, error) { return plan.ReadScatter(s.plan, s.store, i) }

// presentAll is present for all that a receipt names.
func (s receipts) presentAll(r *plan.Receipt) (bool, error) {
	if r.Fragment != nil {
		return s.scattered(r)
	}
	return plan.Present(s.store, r)
}

// publishPortion publishes the receipt of a portion. Of two workers at one portion of
// a global shuffle the first to publish counts: their fragments may differ in how they
// are laid out.
func (s receipts) publishPortion(ctx context.Context, r *plan.Receipt) error {
	if s.plan.Order.Shuffle != plan.ShuffleGlobal {
		return s.publish(ctx, r)
	}
	for {
		err := s.publishAs(ctx, r, plan.ScatterName(r.Index))
		if !errors.Is(err, shardify.ErrExists) {
			return err
		}
		gone, err := s.checkOther(r)
		if err == nil && gone {
			err = s.store.Remove(plan.ScatterName(r.Index))
			if err == nil {
				continue
			}
		}
		return errors.Join(s.scratch.Remove(r.Fragment.Name), err)
	}
}

// portion is the receipt of the spans that plan entry i has.
func (s receipts) portion(i int) (*plan.Receipt, error) {
	if s.plan.Order.Shuffle == plan.ShuffleGlobal {
		return s.receiptAt(i, plan.ScatterName(i))
	}
	return s.receipt(i)
}

// scattered reports whether the fragment of a receipt exists, or is no longer needed.
func (s receipts) scattered(r *plan.Receipt) (bool, error) {
	if ok, err := plan.Exists(s.scratch, *r.Fragment); ok || err != nil {
		return ok, err
	}
	return s.allGathered()
}

// allGathered reports whether every shard exists. Another worker may then have removed the
// fragments.
func (s receipts) allGathered() (bool, error) {
	for i := range s.plan.Order.Gathers {
		if r, err := s.receipt(i); err != nil || r == nil {
			return false, err
		}
	}
	return true, nil
}

// checkOther is for a receipt that another worker has published first. gone: its
// fragment is not there any more.
func (s receipts) checkOther(r *plan.Receipt) (gone bool, err error) {
	o, err := s.portion(r.Index)
	if err == nil && o != nil && o.Samples() != r.Samples() {
		err = fmt.Errorf("portion %d has been done differently meanwhile", r.Index)
	}
	return err == nil && o == nil, err
}

// Tidy removes the fragments of a finished shuffle.
func (j *Job) Tidy() error {
	if !j.Plan.Scatters() {
		return nil
	}
	return clearScratch(j.scratch())
}

func clearScratch(s storage.Store) error {
	var ours []string
	for f, err := range s.List("") {
		if err != nil {
			return err
		}
		if strings.HasSuffix(f.Name, plan.FragmentSuffix) {
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

// scatterOrWaiting is the receipt of a portion; a missing one is Waiting.
func (s receipts) scatterOrWaiting(i int) (*plan.Receipt, error) {
	r, err := s.scatter(i)
	if errors.Is(err, fs.ErrNotExist) {
		err = &Waiting{Portions: []int{i}}
	}
	return r, err
}

// Folder is the Store of a folder on a local or shared file system, which need not be
// there yet. Each file is durable before it has its name.
func Folder(dir string) storage.Store { return local.NewDir(dir, local.SyncShard) }
