package route

import (
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
)

// Hasher gives samples the hashes that splits go by.
type Hasher struct {
	table  *format.Table
	seed   uint64
	fields []string // empty: the sample's place
}

// NewHasher makes the hasher of a plan.
func NewHasher(p *plan.Plan) Hasher {
	h := Hasher{table: p.In.Table, seed: shardify.Mix(shardify.Mix(p.Seed) + plan.SeedSplit), fields: p.Splits.Rule.Identity}
	if p.Splits.Rule.GroupBy != "" {
		h.fields = []string{p.Splits.Rule.GroupBy}
	}
	return h
}

// Hashes appends the hashes of a batch.
func (h *Hasher) Hashes(dst []uint64, b *shardify.Batch) ([]uint64, error) {
	from := len(dst)
	if len(h.fields) == 0 {
		dst = h.table.Identity(dst, b)
	} else {
		for range b.Samples {
			dst = append(dst, 0)
		}
		for _, name := range h.fields {
			c, err := Column(b, name)
			if err != nil {
				return nil, err
			}
			for i := range b.Samples {
				dst[from+i] = shardify.Mix(dst[from+i] + Hash(c, i))
			}
		}
	}
	for i := from; i < len(dst); i++ {
		dst[i] = shardify.SampleSeed(h.seed, dst[i], 0)
	}
	return dst, nil
}

// hashRouter routes by the sample's hash, within its class if there are classes.
type hashRouter struct {
	Hasher
	cuts    *splits.Cuts
	field   string
	classes map[uint64]*splits.Cuts
}

func (r *hashRouter) Bind(in []shardify.Field) error {
	if r.field != "" {
		return has(in, append([]string{r.field}, r.fields...)...)
	}
	return has(in, r.fields...)
}

func (r *hashRouter) Route(b *shardify.Batch, to []uint16) error {
	hashes, err := r.Hashes(make([]uint64, 0, b.Samples), b)
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
	c, err := Column(b, r.field)
	if err != nil {
		return err
	}
	for i, h := range hashes {
		k := r.classes[Hash(c, i)]
		if k == nil {
			return shardify.Mismatch("sample %d has a value of %s that no sample had when the plan was made", b.ID(i).Sample, r.field)
		}
		to[i] = k.Part(h)
	}
	return nil
}

// nameRouter routes by the input's name.
type nameRouter struct{ p *plan.Plan }

func (*nameRouter) Bind([]shardify.Field) error { return nil }

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
