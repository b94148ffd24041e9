package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/store"
)

// Receipt proves that a shard is done. It is published after the shard.
type Receipt struct {
	Plan    string           `json:"plan"`
	Index   int              `json:"index"`
	Shard   shardify.Shard   `json:"shard"` // Samples 0: there is no file
	Read    int64            `json:"read"`
	Dropped int64            `json:"dropped"`
	Skipped []index.Skip     `json:"skipped,omitempty"`
	Proofs  []shardify.Proof `json:"proofs,omitempty"`
}

func (p *Plan) receiptName(i int) string { return store.Private + "/receipts/" + p.stem(i) + ".json" }

// balance is law: every sample read is written, dropped or skipped.
func (r *Receipt) balance() error {
	var skipped int64
	for _, s := range r.Skipped {
		skipped += s.Hi - s.Lo
	}
	if r.Read != r.Shard.Samples+r.Dropped+skipped {
		return fmt.Errorf("shard %d: read %d samples, wrote %d, dropped %d, skipped %d", r.Index, r.Read, r.Shard.Samples, r.Dropped, skipped)
	}
	return nil
}

// publish writes the receipt.
func (j *Job) publish(ctx context.Context, r *Receipt) error {
	if err := r.balance(); err != nil {
		return err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return publish(ctx, j.Store, j.Plan.receiptName(r.Index), append(b, '\n'))
}

func publish(ctx context.Context, s shardify.Store, name string, b []byte) error {
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
	name := j.Plan.receiptName(i)
	b, err := readAll(j.Store, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r Receipt
	bad := json.Unmarshal(b, &r)
	if bad == nil && (r.Plan != j.Plan.Digest() || r.Index != i || r.balance() != nil) {
		bad = errors.New("it belongs to another plan")
	}
	ok := bad == nil
	if ok {
		if ok, err = j.present(r.Shard); err != nil {
			return nil, err
		}
	}
	if !ok {
		// Published whole, so it was damaged later: make the shard anew.
		return nil, j.Store.Remove(name)
	}
	return &r, nil
}

// present tells whether the files of a shard are there in the sizes of its
// record. That one cannot be looked at is an error, not an absence.
func (j *Job) present(s shardify.Shard) (bool, error) {
	if s.Samples == 0 {
		return true, nil
	}
	files := append([]shardify.File{{Name: s.Name, Bytes: s.Bytes}}, s.Files...)
	for _, f := range files {
		b, err := j.Store.Open(f.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		size := b.Size()
		b.Close()
		if size != f.Bytes {
			return false, nil
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
