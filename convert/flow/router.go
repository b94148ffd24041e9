package flow

import (
	"fmt"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/zeebo/xxh3"
)

func newRouter(p *plan.Plan) (Router, error) {
	s := p.Splits.Rule
	switch {
	case s.Named():
		return &nameRouter{p: p}, nil
	case s.Stratify != "":
		r := &hashRouter{hasher: newHasher(p), field: s.Stratify, classes: map[uint64]*splits.Cuts{}}
		for i := range p.Splits.Cuts {
			if p.Splits.Cuts[i].Class == "" {
				continue // no samples, and so no classes
			}
			var h uint64
			if _, err := fmt.Sscanf(p.Splits.Cuts[i].Class, "%x", &h); err != nil {
				return nil, shardify.Corrupt(-1, "class %q: %v", p.Splits.Cuts[i].Class, err)
			}
			r.classes[h] = &p.Splits.Cuts[i]
		}
		return r, nil
	case s.Counted():
		r := &hashRouter{hasher: newHasher(p)}
		if len(p.Splits.Cuts) > 0 {
			r.cuts = &p.Splits.Cuts[0]
		}
		return r, nil
	}
	cum, order := s.Shares()
	c := &splits.Cuts{Order: order}
	for _, f := range cum {
		c.Below = append(c.Below, splits.CutAt(f))
	}
	return &hashRouter{hasher: newHasher(p), cuts: c}, nil
}

// hasher gives samples the hashes that splits go by.
type hasher struct {
	table  *format.Table
	seed   uint64
	fields []string // empty: the sample's place
}

func newHasher(p *plan.Plan) hasher {
	h := hasher{table: p.In.Table, seed: shardify.Mix(shardify.Mix(p.Seed) + plan.SeedSplit), fields: p.Splits.Rule.Identity}
	if p.Splits.Rule.GroupBy != "" {
		h.fields = []string{p.Splits.Rule.GroupBy}
	}
	return h
}

// hash appends the hashes of a batch.
func (h *hasher) hash(dst []uint64, b *shardify.Batch) ([]uint64, error) {
	from := len(dst)
	if len(h.fields) == 0 {
		dst = h.table.Identity(dst, b)
	} else {
		for range b.Samples {
			dst = append(dst, 0)
		}
		for _, name := range h.fields {
			c, err := column(b, name)
			if err != nil {
				return nil, err
			}
			for i := range b.Samples {
				dst[from+i] = shardify.Mix(dst[from+i] + valueHash(c, i))
			}
		}
	}
	for i := from; i < len(dst); i++ {
		dst[i] = shardify.SampleSeed(h.seed, dst[i], 0)
	}
	return dst, nil
}

func column(b *shardify.Batch, name string) (*shardify.Column, error) {
	for i := range b.Columns {
		if b.Columns[i].Name == name {
			return &b.Columns[i], nil
		}
	}
	return nil, shardify.Misuse("the split uses field %q, which does not exist", name)
}

// valueHash is a hash of the value of sample i; a missing one has its own.
func valueHash(c *shardify.Column, i int) uint64 {
	if c.Valid != nil && c.Valid[i] == 0 {
		return 0x5bd1e995
	}
	lo, hi := c.Range(i, i+1)
	return xxh3.Hash(c.Data[lo:hi])
}

// hashRouter routes by the sample's hash, within its class if there are classes.
type hashRouter struct {
	hasher
	cuts    *splits.Cuts
	field   string
	classes map[uint64]*splits.Cuts
}

func (r *hashRouter) Needs() []string {
	if r.field != "" {
		return append([]string{r.field}, r.fields...)
	}
	return r.fields
}

func (r *hashRouter) Route(b *shardify.Batch, to []uint16) error {
	hashes, err := r.hash(make([]uint64, 0, b.Samples), b)
	if err != nil {
		return err
	}
	if r.field == "" {
		if r.cuts == nil {
			return shardify.Mismatch("the samples have not been counted for the split")
		}
		for i, h := range hashes {
			to[i] = r.cuts.Part(h)
		}
		return nil
	}
	c, err := column(b, r.field)
	if err != nil {
		return err
	}
	for i, h := range hashes {
		k := r.classes[valueHash(c, i)]
		if k == nil {
			return shardify.Mismatch("sample %d has a value of %s that no sample had when the plan was made", b.ID(i).Sample, r.field)
		}
		to[i] = k.Part(h)
	}
	return nil
}

// nameRouter routes by the input's name.
type nameRouter struct{ p *plan.Plan }

func (*nameRouter) Needs() []string { return nil }

func (r *nameRouter) Route(b *shardify.Batch, to []uint16) error {
	in, k := r.p.Splits.Rule.Inputs, 0
	for i := range b.Samples {
		id := b.ID(i)
		if i > 0 && in[k].Holds(id) && (k == 0 || !in[k-1].Holds(id)) {
			to[i] = to[i-1]
			continue
		}
		if k = sort.Search(len(in), func(k int) bool { return in[k].Holds(id) }); k == len(in) {
			return shardify.Mismatch("input %s belongs to no split", r.p.In.Name(id.Input))
		}
		to[i] = uint16(in[k].Part)
	}
	return nil
}
