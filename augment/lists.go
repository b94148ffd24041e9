package augment

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// group is the lists whose elements go together.
type group struct {
	target string
	cols   []int
	n      int
}

// Needs names the target; it may be a counter, which is not a field.
func (g *group) Needs() []string { return nil }

// find collects the fields of the target.
func (g *group) find(in []shardify.Field) error {
	g.n, g.cols = len(in), nil
	counter := ""
	for i := range in {
		f := &in[i]
		if f.Name == g.target && f.Levels > 0 {
			if f.Ragged || f.Media != "" && f.Levels == 1 {
				return shardify.Mismatch("field %s holds %s, no list of elements", f.Name, op.Holds(f))
			}
			counter = f.Counter
			g.cols = append(g.cols, i)
		}
	}
	for i := range in {
		f := &in[i]
		counted := op.IsCounter(f.Counter, g.target) || f.Counter != "" && f.Counter == counter
		if f.Levels > 0 && counted && f.Name != g.target {
			g.cols = append(g.cols, i)
		}
	}
	if len(g.cols) == 0 {
		return fmt.Errorf("there is no list and no counter %s: %w", g.target, shardify.ErrSchema)
	}
	return nil
}

// check refuses lists that do not have the same lengths.
func (g *group) check(b *shardify.Batch) error {
	if err := op.Match(b, g.n); err != nil {
		return err
	}
	first := &b.Columns[g.cols[0]]
	for _, k := range g.cols[1:] {
		c := &b.Columns[k]
		for i, o := range c.Offsets[0] {
			if o != first.Offsets[0][i] {
				return shardify.Mismatch("fields %s and %s have lists of other lengths", first.Name, c.Name)
			}
		}
	}
	return nil
}

// pick rebuilds the columns of the group: element k of the result is element order[k]
// of b, and ends are the offsets of the result.
func (g *group) pick(b *shardify.Batch, order []int32, ends []int64, mem *shardify.Arena) (*shardify.Batch, error) {
	out := op.Fork(b)
	for _, k := range g.cols {
		src := &b.Columns[k]
		// Elements of the lists are the samples of a smaller batch.
		inner := shardify.Column{Field: src.Field, Data: src.Data, Offsets: src.Offsets[1:]}
		inner.Levels--
		elements := shardify.Batch{Samples: int(src.Offsets[0][b.Samples]), Columns: []shardify.Column{inner}}
		taken, err := elements.Take(order, mem)
		if err != nil {
			return nil, err
		}
		dst := &out.Columns[k]
		dst.Data = taken.Columns[0].Data
		dst.Offsets = append([][]int64{ends}, taken.Columns[0].Offsets...)
	}
	return out, nil
}

// drop leaves elements out.
type drop struct {
	group
	dice dice
	p    float64
	min  int
}

func newDrop(a *args, env Env) (shardify.Transform, error) {
	d := &drop{group: group{target: a.text("")}, dice: dice{table: env.Table}}
	var err error
	if d.p, err = a.number("p", 0, 1); err == nil {
		d.min, err = a.whole("min", 0, 1<<30)
	}
	return d, err
}

// Schema finds the lists.
func (d *drop) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, d.find(in) }

// Cost is a copy of the lists and their order.
func (d *drop) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 2, Sample: 24} }

// Apply draws for every element; those that min keeps are the first.
func (d *drop) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := d.check(b); err != nil {
		return nil, err
	}
	o := b.Columns[d.cols[0]].Offsets[0]
	ends := mem.Int64s(b.Samples + 1)
	ends[0] = 0
	order := shardify.View[int32](mem.Alloc(4 * int(o[b.Samples])))[:0]
	d.dice.roll(b, seed, func(i int, r *source) {
		n := int(o[i+1] - o[i])
		for k := range n {
			lost := r.float() < d.p
			kept := len(order) - int(ends[i])
			if !lost || kept+n-k <= d.min {
				order = append(order, int32(o[i])+int32(k))
			}
		}
		ends[i+1] = int64(len(order))
	})
	out, err := d.pick(b, order, ends, mem)
	if err == nil {
		op.Count(out, o[b.Samples]-int64(len(order)), "augment drop %s: elements left out", d.target)
	}
	return out, err
}

// permute shuffles elements.
type permute struct {
	group
	dice dice
}

func newPermute(a *args, env Env) (shardify.Transform, error) {
	return &permute{group: group{target: a.text("")}, dice: dice{table: env.Table}}, nil
}

// Schema finds the lists.
func (p *permute) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, p.find(in) }

// Cost is a copy of the lists and their order.
func (p *permute) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 2, Sample: 24} }

// Apply shuffles the elements of each sample.
func (p *permute) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := p.check(b); err != nil {
		return nil, err
	}
	o := b.Columns[p.cols[0]].Offsets[0]
	order := shardify.View[int32](mem.Alloc(4 * int(o[b.Samples])))
	p.dice.roll(b, seed, func(i int, r *source) {
		one := order[o[i]:o[i+1]]
		for k := range one {
			one[k] = int32(o[i]) + int32(k)
			j := r.below(k + 1)
			one[k], one[j] = one[j], one[k]
		}
	})
	return p.pick(b, order, o, mem)
}
