package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

const (
	// Receipts are read many at once, since a parallel file system answers many
	// requests in the time of one, and kept for as long as an earlier one is awaited.
	receiptReaders = 32
	receiptWindow  = 2048
)

// EachReceipt reads n receipts and hands them on in order.
func EachReceipt(ctx context.Context, n int, read func(i int) (*Receipt, error), each func(i int, r *Receipt) error) error {
	var got [receiptWindow]*Receipt
	for lo := 0; lo < n; lo += receiptWindow {
		hi := min(lo+receiptWindow, n)
		var next atomic.Int64
		next.Store(int64(lo))
		g, in := errgroup.WithContext(ctx)
		for range min(receiptReaders, hi-lo) {
			g.Go(func() (err error) {
				for i := int(next.Add(1)) - 1; i < hi && err == nil; i = int(next.Add(1)) - 1 {
					if in.Err() != nil {
						return context.Cause(in)
					}
					got[i-lo], err = read(i)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for i := lo; i < hi; i++ {
			if err := each(i, got[i-lo]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Receipt proves that a shard is done. It is published after the shard.
type Receipt struct {
	Plan    string           `json:"plan"`
	Index   int              `json:"index"`
	Shard   shardify.Shard   `json:"shard"` // Samples 0: there is no file
	Read    int64            `json:"read"`
	Copied  int64            `json:"copied,omitempty"` // samples that are further copies
	Dropped int64            `json:"dropped"`
	Skipped []index.Skip     `json:"skipped,omitempty"`
	Proofs  []shardify.Proof `json:"proofs,omitempty"`
	Counts  []shardify.Count `json:"counts,omitempty"`
	// With splits: the samples of each, and its shard; Shard is then empty.
	Written []int64          `json:"written,omitempty"`
	Splits  []shardify.Shard `json:"splits,omitempty"`
	// Fragment holds the samples until a global shuffle has them all; there are no
	// shards yet then.
	Fragment *shardify.File `json:"fragment,omitempty"`
	// Documents are the samples that sequences were made of, by split: they count, and not the
	// samples of the shards.
	Documents []int64 `json:"documents,omitempty"`
}

// Balance is law: every sample read, and every further copy, is written, dropped or
// skipped.
func (r *Receipt) Balance() error {
	var skipped int64
	for _, s := range r.Skipped {
		skipped += s.Hi - s.Lo
	}
	if r.Read+r.Copied != r.Samples()+r.Dropped+skipped {
		return fmt.Errorf("shard %d: read %d samples, copied %d, wrote %d, dropped %d, skipped %d", r.Index, r.Read, r.Copied, r.Samples(), r.Dropped, skipped)
	}
	return nil
}

// Samples is how many samples are in shards or fragments.
func (r *Receipt) Samples() int64 {
	written := r.Written
	if r.Documents != nil {
		written = r.Documents
	}
	if written == nil {
		return r.Shard.Samples
	}
	n := int64(0)
	for _, w := range written {
		n += w
	}
	return n
}

// Wrote compares the shards with the samples that were handed to them.
func (r *Receipt) Wrote(samples []int64) error {
	shards := r.Splits
	if shards == nil {
		shards = []shardify.Shard{r.Shard}
	}
	if r.Fragment != nil {
		return nil // it has checked
	}
	if r.Documents != nil {
		if !slices.Equal(r.Documents, samples) {
			return fmt.Errorf("shard %d: %d documents for sequences, of %d", r.Index, r.Documents, samples)
		}
		return nil
	}
	for i, s := range shards {
		if s.Samples != samples[i] {
			return fmt.Errorf("%s: sink wrote %d samples of %d", s.Name, s.Samples, samples[i])
		}
	}
	return nil
}

// Shards is the shard of each split, or the one there is.
func (r *Receipt) Shards() []shardify.Shard {
	if r.Splits != nil {
		return r.Splits
	}
	return []shardify.Shard{r.Shard}
}

// DecodeReceipt parses a receipt and reports whether it is that of entry i of a plan.
func DecodeReceipt(p *Plan, b []byte, i int) (*Receipt, bool) {
	var r Receipt
	if json.Unmarshal(b, &r) != nil || r.Plan != p.Digest() || r.Index != i || r.Balance() != nil {
		return nil, false
	}
	parts := len(p.Splits.Names())
	switch {
	case r.Fragment != nil:
		return &r, p.Order.Shuffle == ShuffleGlobal && len(r.Written) == max(parts, 1)
	case len(r.Splits) != parts || len(r.Written) != parts:
		return nil, false
	case (p.Sample.Documents != nil) != (r.Documents != nil) || r.Documents != nil && len(r.Documents) != max(parts, 1):
		return nil, false
	}
	for i, s := range r.Splits {
		if r.Documents == nil && s.Samples != r.Written[i] || s.Samples > 0 && !strings.HasPrefix(s.Name, p.Splits.Rule.Parts[i].Name+"/") {
			return nil, false
		}
	}
	return &r, true
}

// present reports whether the files of a shard are there in the sizes of its
// record. That one cannot be looked at is an error, not an absence.
func present(store storage.Store, s shardify.Shard) (bool, error) {
	if s.Samples == 0 {
		return true, nil
	}
	if ok, err := Exists(store, shardify.File{Name: s.Name, Bytes: s.Bytes}); err != nil || !ok {
		return false, err
	}
	for _, f := range s.Files {
		if ok, err := Exists(store, f); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// Done is which receipts a data set's folder has, by their names alone.
type Done struct {
	Shards   []bool // by shard
	Portions []bool // of a global shuffle: by portion
}

// ReadDone lists the receipts of a plan. It opens none and changes nothing.
func ReadDone(ctx context.Context, p *Plan, s storage.Store) (*Done, error) {
	d := &Done{Shards: make([]bool, p.Outputs())}
	if p.Order.Shuffle == ShuffleGlobal {
		d.Portions = make([]bool, len(p.Pack.Shards))
	}
	names, n := p.Names(), 0
	for name, err := range storage.Names(s, receiptsDir) {
		if n++; n&1023 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		i, ok := receiptNumber(name)
		switch {
		case !ok || i < 0:
		case i < len(d.Shards) && name == names.Receipt(i):
			d.Shards[i] = true
		case i < len(d.Portions) && name == ScatterName(i):
			d.Portions[i] = true
		}
	}
	return d, nil
}

// receiptNumber is the number that a receipt's name ends with.
func receiptNumber(name string) (int, bool) {
	name, ok := strings.CutSuffix(name, ".json")
	i, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return i, ok && err == nil
}

// ReadReceipt reads the receipt of shard i without regard to whether its files are there. The
// error is fs.ErrNotExist without a receipt, and ErrCorrupt if it is damaged or another
// plan's.
func ReadReceipt(p *Plan, s storage.Store, i int) (*Receipt, error) {
	return readReceipt(p, s, i, p.Names().Receipt(i))
}

// ReadScatter is ReadReceipt for portion i of a global shuffle.
func ReadScatter(p *Plan, s storage.Store, i int) (*Receipt, error) {
	r, err := readReceipt(p, s, i, ScatterName(i))
	if err == nil && r.Fragment == nil {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "it names no fragment"), "read", ScatterName(i), "")
	}
	return r, err
}

func readReceipt(p *Plan, s storage.Store, i int, name string) (*Receipt, error) {
	b, err := ReadFile(s, name)
	if err != nil {
		return nil, err
	}
	r, ok := DecodeReceipt(p, b, i)
	if !ok {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "it is damaged, or belongs to another plan"), "read", name, "")
	}
	return r, nil
}

// Exists reports whether a published file is there with its size. A file that cannot be
// looked at is an error, not absent.
func Exists(s storage.Store, f shardify.File) (bool, error) {
	n, err := storage.Size(s, f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && n == f.Bytes, err
}

// Present reports whether the files of a receipt's shards are there in full size.
func Present(s storage.Store, r *Receipt) (bool, error) {
	if r.Fragment != nil {
		return true, nil // scratch space may be where only the work is done
	}
	for _, x := range r.Shards() {
		if ok, err := present(s, x); err != nil || !ok {
			return ok, err
		}
	}
	return true, nil
}
