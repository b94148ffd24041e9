package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// publish writes the receipt.
func (j *Job) publish(ctx context.Context, r *plan.Receipt) error {
	return j.publishAs(ctx, r, j.Plan.ReceiptName(r.Index))
}

func (j *Job) publishAs(ctx context.Context, r *plan.Receipt, name string) error {
	if err := r.Balance(); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return publish(ctx, j.Store, name, append(b, '\n'))
}

func publish(ctx context.Context, s storage.Store, name string, b []byte) error {
	f, err := s.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return errors.Join(err, f.Abort())
	}
	if err := f.Commit(ctx); err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}

// receipt returns the receipt of shard i if there is one and the files that it
// names are there in full size; nil means the shard is to be made.
func (j *Job) receipt(i int) (*plan.Receipt, error) {
	return j.receiptAt(i, j.Plan.ReceiptName(i))
}

func (j *Job) receiptAt(i int, name string) (*plan.Receipt, error) {
	b, err := plan.ReadFile(j.Store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, ok := j.Plan.DecodeReceipt(b, i)
	if ok {
		if ok, err = j.presentAll(r); err != nil {
			return nil, err
		}
		if !ok && r.Fragment != nil {
			return nil, nil // it stays until there is another
		}
	}
	if !ok {
		// Published whole, so it was damaged later: make the shard anew.
		return nil, j.Store.Remove(name)
	}
	return r, nil
}

// told is the receipt of a portion whether or not its fragment is still there.
func (j *Job) told(i int) (*plan.Receipt, error) { return j.Plan.ScatterReceipt(j.Store, i) }

// presentAll is present for all that a receipt names.
func (j *Job) presentAll(r *plan.Receipt) (bool, error) {
	if r.Fragment != nil {
		return j.scattered(r)
	}
	return j.Plan.Present(j.Store, r)
}

// publishPortion publishes the receipt of a portion. Of two workers at one portion of
// a global shuffle the first to publish counts: their fragments may differ in how they
// are laid out.
func (j *Job) publishPortion(ctx context.Context, r *plan.Receipt) error {
	if j.Plan.Shuffle != plan.ShuffleGlobal {
		return j.publish(ctx, r)
	}
	for {
		err := j.publishAs(ctx, r, j.Plan.ScatterName(r.Index))
		if !errors.Is(err, shardify.ErrExists) {
			return err
		}
		gone, err := j.checkOther(r)
		if err == nil && gone {
			err = j.Store.Remove(j.Plan.ScatterName(r.Index))
			if err == nil {
				continue
			}
		}
		return errors.Join(j.scratch().Remove(r.Fragment.Name), err)
	}
}

// scratch is where fragments are.
func (j *Job) scratch() storage.Store {
	if j.Scratch != nil {
		return j.Scratch
	}
	return storage.Below(j.Store, plan.ScratchDir)
}

// portion is the receipt of the spans that plan entry i has.
func (j *Job) portion(i int) (*plan.Receipt, error) {
	if j.Plan.Shuffle == plan.ShuffleGlobal {
		return j.receiptAt(i, j.Plan.ScatterName(i))
	}
	return j.receipt(i)
}

// scattered tells whether the fragment of a receipt is there, or needed no more.
func (j *Job) scattered(r *plan.Receipt) (bool, error) {
	if ok, err := plan.Exists(j.scratch(), *r.Fragment); ok || err != nil {
		return ok, err
	}
	return j.allGathered()
}

// allGathered tells whether every shard is there. Another worker may then have removed
// the fragments.
func (j *Job) allGathered() (bool, error) {
	for i := range j.Plan.Gathers {
		if r, err := j.receipt(i); err != nil || r == nil {
			return false, err
		}
	}
	return true, nil
}

// checkOther is for a receipt that another worker has published first. gone: its
// fragment is not there any more.
func (j *Job) checkOther(r *plan.Receipt) (gone bool, err error) {
	o, err := j.portion(r.Index)
	if err == nil && o != nil && o.Samples() != r.Samples() {
		err = fmt.Errorf("portion %d has been done differently meanwhile", r.Index)
	}
	return err == nil && o == nil, err
}
