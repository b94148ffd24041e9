package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/store"
)

const receiptsDir = store.Private + "/receipts"

// loadPlan takes schema and names from the plan where there is one. A damaged
// plan is a problem, but receipts go without it.
func (s *set) loadPlan() error {
	p, err := convert.LoadPlan(s.store)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !damage(err):
		return err
	case err != nil:
		s.addError(LevelManifest, convert.PlanName, err)
		return nil
	}
	s.plan = p
	s.from, s.format, s.keyed, s.schema = convert.PlanName, p.Output, p.Keyed, p.Schema
	s.c.report.Format = p.Output
	return nil
}

// fromReceipts lists the shards of a set without a (usable) manifest: those with
// a receipt, and those that the plan names and that are there without one. It
// reports whether there was a plan or any receipt.
func (s *set) fromReceipts(sizes map[string]int64) (found bool, err error) {
	receipts, err := s.receipts()
	if err != nil {
		return false, err
	}
	if s.plan == nil {
		return len(receipts) > 0, s.withoutPlan(receipts)
	}
	var first int64
	for i := range s.plan.Shards {
		r := receipts[i]
		switch name := s.plan.ShardName(i); {
		case r != nil && r.Shard.Samples == 0: // done, and there is no file
		case r != nil:
			s.vouched(r, first)
			first = after(first, r.Shard.Samples)
		default:
			s.unvouched(i, name, first, sizes)
			first = -1
		}
	}
	return true, nil
}

func after(first, samples int64) int64 {
	if first < 0 {
		return -1
	}
	return first + samples
}

func (s *set) withoutPlan(receipts map[int]*convert.Receipt) error {
	order := make([]int, 0, len(receipts))
	for i := range receipts {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		if receipts[i].Shard.Samples > 0 {
			s.vouched(receipts[i], -1)
		}
	}
	return nil
}

func (s *set) vouched(r *convert.Receipt, first int64) {
	s.shards = append(s.shards, expected{Shard: r.Shard, from: s.receiptName(r.Shard.Name), number: r.Index, first: first, vouched: true})
	s.own(len(s.shards)-1, &s.shards[len(s.shards)-1])
}

// unvouched notes a planned shard without a receipt. Its file may be there: it
// is published first, and the next run publishes the same bytes again.
func (s *set) unvouched(i int, name string, first int64, sizes map[string]int64) {
	if _, ok := sizes[name]; !ok {
		s.c.report.Unmade++
		return
	}
	e := expected{Shard: shardify.Shard{Name: name, Samples: -1, Bytes: -1}, from: convert.PlanName, number: i, first: first}
	if s.plan.OnError != convert.OnErrorSkip {
		e.Samples = s.plan.Shards[i].Samples
	}
	s.shards = append(s.shards, e)
	p := simple(LevelFiles, KindUnacknowledged, name, "has no receipt: the conversion stopped between the two and will publish it again")
	p.Note = true
	s.add(p)
}

// receiptName is where the receipt of a shard stands.
func (s *set) receiptName(shard string) string {
	if i := strings.LastIndexByte(shard, '.'); i > strings.LastIndexByte(shard, '/') {
		shard = shard[:i]
	}
	return receiptsDir + "/" + shard + ".json"
}

// receipts reads all receipts, by number of the shard.
func (s *set) receipts() (map[int]*convert.Receipt, error) {
	all := map[int]*convert.Receipt{}
	for f, err := range s.store.List(receiptsDir) {
		if err != nil {
			return nil, err
		}
		r, err := s.receipt(f.Name)
		switch {
		case err != nil:
			s.addError(LevelManifest, f.Name, err)
		case s.plan != nil && r.Plan != s.plan.Digest():
			p := simple(LevelManifest, KindMismatch, f.Name, "belongs to another plan")
			p.Want, p.Got = &Side{convert.PlanName, s.plan.Digest()}, &Side{f.Name, r.Plan}
			s.add(p)
		case all[r.Index] != nil:
			s.add(simple(LevelManifest, KindMismatch, f.Name, fmt.Sprintf("a second receipt of shard %d", r.Index)))
		default:
			all[r.Index] = r
		}
	}
	return all, nil
}

// receipt reads one receipt and checks what its text alone can tell.
func (s *set) receipt(name string) (*convert.Receipt, error) {
	b, err := s.text(name)
	if err != nil {
		return nil, err
	}
	var r convert.Receipt
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, shardify.Corrupt(-1, "%v", err)
	}
	if r.Shard.Samples == 0 {
		return &r, nil
	}
	files := append([]shardify.File{{Name: r.Shard.Name, Bytes: r.Shard.Bytes, Digest: r.Shard.Digest}}, r.Shard.Files...)
	for _, f := range files {
		if err := index.SafeName(f.Name); err != nil {
			return nil, err
		}
		if f.Bytes < 0 || !index.ValidDigest(f.Digest) {
			return nil, shardify.Corrupt(-1, "file %q of %d bytes with digest %q", f.Name, f.Bytes, f.Digest)
		}
	}
	switch {
	case s.receiptName(r.Shard.Name) != name:
		return nil, shardify.Corrupt(-1, "it names shard %q", r.Shard.Name)
	case r.Index < 0 || s.plan != nil && (r.Index >= len(s.plan.Shards) || s.plan.ShardName(r.Index) != r.Shard.Name):
		return nil, shardify.Corrupt(-1, "shard %d is not %q", r.Index, r.Shard.Name)
	case r.Shard.Samples < 0:
		return nil, shardify.Corrupt(-1, "%d samples", r.Shard.Samples)
	}
	return &r, nil
}
