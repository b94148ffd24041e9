package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/verify/problem"
)

const (
	receiptsDir = storage.Private + "/receipts"
	scatterDir  = receiptsDir + "/scatter/"
)

// loadPlan takes schema and names from the plan where there is one. A damaged
// plan is a problem, but receipts go without it.
func (s *set) loadPlan() error {
	p, err := loadPlan(s.top().store)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		bad := problem.Of(problem.LevelManifest, plan.FileName, err)
		if bad.Kind == problem.KindUnreadable {
			return err
		}
		s.add(bad)
		return nil
	}
	s.plan = p
	s.from, s.format, s.keyed, s.schema = plan.FileName, p.Out.Format, p.Sample.Keyed, p.Sample.Schema
	s.c.report.Format = p.Out.Format
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
	for i := range s.plan.Outputs() {
		r := receipts[i]
		for k, name := range s.planned(i) {
			switch {
			case r == nil:
				s.unvouched(i, name, first, sizes)
				first = -1
			case s.made(r)[k].Samples > 0: // else it is done, and there is no file
				s.vouched(r, s.made(r)[k], first)
				first = after(first, s.made(r)[k].Samples)
			}
		}
	}
	return true, nil
}

// top is the set whose folder has the plan: of a split the set that it is a part of.
func (s *set) top() *set {
	if s.root != nil {
		return s.root
	}
	return s
}

// planned names shard i of the plan, below this set's folder: one name, or one of each
// split.
func (s *set) planned(i int) []string {
	splits := s.plan.Splits.Names()
	if len(splits) == 0 || s.root != nil {
		return []string{s.plan.Names().Shard(i)}
	}
	var out []string
	for k := range splits {
		out = append(out, s.plan.Names().InSplit(k, i))
	}
	return out
}

// made is the shards of a receipt, as planned names them.
func (s *set) made(r *plan.Receipt) []shardify.Shard {
	if len(r.Splits) == 0 {
		return []shardify.Shard{r.Shard}
	}
	if s.root == nil {
		return r.Splits
	}
	k := slices.Index(s.plan.Splits.Names(), strings.TrimSuffix(s.prefix, "/"))
	if k < 0 || k >= len(r.Splits) {
		return []shardify.Shard{{}}
	}
	x := r.Splits[k]
	x.Name = strings.TrimPrefix(x.Name, s.prefix)
	x.Files = slices.Clone(x.Files)
	for i := range x.Files {
		x.Files[i].Name = strings.TrimPrefix(x.Files[i].Name, s.prefix)
	}
	return []shardify.Shard{x}
}

func after(first, samples int64) int64 {
	if first < 0 {
		return -1
	}
	return first + samples
}

func (s *set) withoutPlan(receipts map[int]*plan.Receipt) error {
	order := make([]int, 0, len(receipts))
	for i := range receipts {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		r := receipts[i]
		for _, x := range append([]shardify.Shard{r.Shard}, r.Splits...) {
			if x.Samples > 0 {
				s.vouched(r, x, -1)
			}
		}
	}
	return nil
}

func (s *set) vouched(r *plan.Receipt, x shardify.Shard, first int64) {
	s.shards = append(s.shards, expected{Shard: x, from: s.receiptName(x.Name, len(r.Splits) > 0 && s.root == nil), number: r.Index, first: first, vouched: true})
	s.own(len(s.shards)-1, &s.shards[len(s.shards)-1])
}

// unvouched notes a planned shard without a receipt. Its file may be there: it
// is published first, and the next run publishes the same bytes again.
func (s *set) unvouched(i int, name string, first int64, sizes map[string]int64) {
	if _, ok := sizes[name]; !ok {
		s.c.report.Unmade++
		return
	}
	e := expected{Shard: shardify.Shard{Name: name, Samples: -1, Bytes: -1}, from: plan.FileName, number: i, first: first}
	if s.plan.OnError != plan.OnErrorSkip && s.plan.Sample.Source == nil {
		e.Samples = s.plan.Pack.Shards[i].Samples
	}
	s.shards = append(s.shards, e)
	p := problem.New(problem.LevelFiles, problem.KindUnacknowledged, name, "has no receipt: the conversion stopped between the two and will publish it again")
	p.Note = true
	s.add(p)
}

// receiptName is the name of the receipt of a shard. split: its name begins with that of a split.
func (s *set) receiptName(shard string, split bool) string {
	if _, rest, ok := strings.Cut(shard, "/"); ok && split {
		shard = rest
	}
	if i := strings.LastIndexByte(shard, '.'); i > strings.LastIndexByte(shard, '/') {
		shard = shard[:i]
	}
	return receiptsDir + "/" + shard + ".json"
}

// receipts reads all receipts, by number of the shard.
func (s *set) receipts() (map[int]*plan.Receipt, error) {
	all := map[int]*plan.Receipt{}
	for f, err := range s.top().store.List(receiptsDir) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(f.Name, scatterDir) {
			continue // of fragments
		}
		r, err := s.receipt(f.Name)
		switch {
		case err != nil:
			s.addError(problem.LevelManifest, f.Name, err)
		case s.plan != nil && r.Plan != s.plan.Digest():
			p := problem.New(problem.LevelManifest, problem.KindMismatch, f.Name, "belongs to another plan")
			p.Want, p.Got = problem.Says(plan.FileName, s.plan.Digest()), problem.Says(f.Name, r.Plan)
			s.add(p)
		case all[r.Index] != nil:
			s.add(problem.New(problem.LevelManifest, problem.KindMismatch, f.Name, fmt.Sprintf("a second receipt of shard %d", r.Index)))
		default:
			all[r.Index] = r
		}
	}
	return all, nil
}

// receipt reads one receipt and checks what its text alone shows.
func (s *set) receipt(name string) (*plan.Receipt, error) {
	b, err := s.top().text(name, nil)
	if err != nil {
		return nil, err
	}
	var r plan.Receipt
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, shardify.Corrupt(-1, "%v", err)
	}
	if s.plan != nil && len(r.Splits) != len(s.plan.Splits.Names()) {
		return nil, shardify.Corrupt(-1, "%d splits, the plan has %d", len(r.Splits), len(s.plan.Splits.Names()))
	}
	if err := s.receiptShard(name, &r, &r.Shard, -1); err != nil {
		return nil, err
	}
	for k := range r.Splits {
		if err := s.receiptShard(name, &r, &r.Splits[k], k); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// receiptShard checks a shard that a receipt names; split is -1 without splits.
func (s *set) receiptShard(name string, r *plan.Receipt, x *shardify.Shard, split int) error {
	if x.Samples == 0 {
		return nil
	}
	files := append([]shardify.File{{Name: x.Name, Bytes: x.Bytes, Digest: x.Digest}}, x.Files...)
	for _, f := range files {
		if err := index.SafeName(f.Name); err != nil {
			return err
		}
		if f.Bytes < 0 || !index.ValidDigest(f.Digest) {
			return shardify.Corrupt(-1, "file %q of %d bytes with digest %q", f.Name, f.Bytes, f.Digest)
		}
	}
	want := ""
	if s.plan != nil && r.Index >= 0 && r.Index < s.plan.Outputs() {
		want = s.plan.Names().InSplit(max(split, 0), r.Index)
	}
	switch {
	case s.receiptName(x.Name, split >= 0) != name:
		return shardify.Corrupt(-1, "it names shard %q", x.Name)
	case r.Index < 0 || s.plan != nil && want != x.Name:
		return shardify.Corrupt(-1, "shard %d is not %q", r.Index, x.Name)
	case x.Samples < 0:
		return shardify.Corrupt(-1, "%d samples", x.Samples)
	}
	return nil
}
