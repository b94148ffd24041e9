package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sort"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

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
}

func (p *Plan) receiptName(i int) string { return receiptsDir + "/" + p.stem(i) + ".json" }

// balance is law: every sample read, and every further copy, is written, dropped or
// skipped.
func (r *Receipt) balance() error {
	var skipped int64
	for _, s := range r.Skipped {
		skipped += s.Hi - s.Lo
	}
	if r.Read+r.Copied != r.written()+r.Dropped+skipped {
		return fmt.Errorf("shard %d: read %d samples, copied %d, wrote %d, dropped %d, skipped %d", r.Index, r.Read, r.Copied, r.written(), r.Dropped, skipped)
	}
	return nil
}

// written is the samples in shards or fragments.
func (r *Receipt) written() int64 {
	n := r.Shard.Samples
	if r.Written != nil {
		n = 0
		for _, w := range r.Written {
			n += w
		}
	}
	return n
}

// wrote compares the shards with the samples that were handed to them.
func (r *Receipt) wrote(samples []int64) error {
	shards := r.Splits
	if shards == nil {
		shards = []shardify.Shard{r.Shard}
	}
	if r.Fragment != nil {
		return nil // it has checked
	}
	for i, s := range shards {
		if s.Samples != samples[i] {
			return fmt.Errorf("%s: sink wrote %d samples of %d", s.Name, s.Samples, samples[i])
		}
	}
	return nil
}

// shards is the shard of each split, or the one there is.
func (r *Receipt) shards() []shardify.Shard {
	if r.Splits != nil {
		return r.Splits
	}
	return []shardify.Shard{r.Shard}
}

// publish writes the receipt.
func (j *Job) publish(ctx context.Context, r *Receipt) error {
	return j.publishAs(ctx, r, j.Plan.receiptName(r.Index))
}

func (j *Job) publishAs(ctx context.Context, r *Receipt, name string) error {
	if err := r.balance(); err != nil {
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
func (j *Job) receipt(i int) (*Receipt, error) {
	return j.receiptAt(i, j.Plan.receiptName(i))
}

func (j *Job) receiptAt(i int, name string) (*Receipt, error) {
	b, err := readAll(j.Store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, ok := j.Plan.decode(b, i)
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

// decode parses a receipt and tells whether it is that of entry i of this plan.
func (p *Plan) decode(b []byte, i int) (*Receipt, bool) {
	var r Receipt
	if json.Unmarshal(b, &r) != nil || r.Plan != p.Digest() || r.Index != i || r.balance() != nil {
		return nil, false
	}
	parts := len(p.SplitNames())
	switch {
	case r.Fragment != nil:
		return &r, p.Shuffle == ShuffleGlobal && len(r.Written) == max(parts, 1)
	case len(r.Splits) != parts || len(r.Written) != parts:
		return nil, false
	}
	for i, s := range r.Splits {
		if s.Samples != r.Written[i] || s.Samples > 0 && !strings.HasPrefix(s.Name, p.Split.Parts[i].Name+"/") {
			return nil, false
		}
	}
	return &r, true
}

// told is the receipt of a portion whether or not its fragment is still there.
func (j *Job) told(i int) (*Receipt, error) { return j.Plan.ScatterReceipt(j.Store, i) }

// presentAll is present for all that a receipt names.
func (j *Job) presentAll(r *Receipt) (bool, error) {
	if r.Fragment != nil {
		return j.scattered(r)
	}
	return j.Plan.present(j.Store, r)
}

// present tells whether the files of a shard are there in the sizes of its
// record. That one cannot be looked at is an error, not an absence.
func present(store storage.Store, s shardify.Shard) (bool, error) {
	if s.Samples == 0 {
		return true, nil
	}
	if ok, err := there(store, shardify.File{Name: s.Name, Bytes: s.Bytes}); err != nil || !ok {
		return false, err
	}
	for _, f := range s.Files {
		if ok, err := there(store, f); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

// proofs collects checksums of parts of input objects and joins neighbours.
type proofs struct {
	list []shardify.Proof
	full int // when to join them
}

// tooMany is when the list is worth joining before its end, at least.
const tooMany = 1 << 12

func (p *proofs) add(list ...shardify.Proof) {
	p.list = append(p.list, list...)
	if len(p.list) > max(p.full, tooMany) {
		p.merge()
		p.full = 2 * len(p.list)
	}
}

// merge sorts the parts and joins those that adjoin.
func (p *proofs) merge() {
	sort.Slice(p.list, func(i, k int) bool {
		a, b := p.list[i], p.list[k]
		if a.Input != b.Input {
			return a.Input < b.Input
		}
		if a.Object != b.Object {
			return a.Object < b.Object
		}
		return a.Lo < b.Lo
	})
	out := p.list[:0]
	for _, x := range p.list {
		if n := len(out); n > 0 && adjoins(out[n-1], x) {
			last := &out[n-1]
			last.Sum = index.CombineCRC32(polynomial(x), last.Sum, x.Sum, x.Hi-x.Lo)
			last.Hi = x.Hi
			continue
		}
		out = append(out, x)
	}
	p.list = out
}

func adjoins(a, b shardify.Proof) bool {
	return a.Input == b.Input && a.Object == b.Object && a.Hi == b.Lo && a.Total == b.Total && a.Want == b.Want && a.Castagnoli == b.Castagnoli
}

func polynomial(p shardify.Proof) uint32 {
	if p.Castagnoli {
		return crc32.Castagnoli
	}
	return crc32.IEEE
}

// complete tells whether a proof is of the whole object.
func complete(p shardify.Proof) bool { return p.Lo == 0 && p.Hi == p.Total }

// check joins the parts and compares what is complete with what the input says.
func (p *proofs) check(src shardify.Source, t *shardify.Table) error {
	p.merge()
	for _, x := range p.list {
		if complete(x) && x.Sum != x.Want {
			kind := "crc32"
			if x.Castagnoli {
				kind = "crc32c"
			}
			e := shardify.Corrupt(-1, "%s of its %d bytes is %08x, stored %08x", kind, x.Total, x.Sum, x.Want)
			e.Op = "read"
			if int(x.Input) < t.Len() {
				e.File = t.Path(int(x.Input))
			}
			if n, ok := src.(shardify.ObjectNamer); ok {
				e.Object = n.ObjectName(x.Input, x.Object)
			}
			return e
		}
	}
	return nil
}
