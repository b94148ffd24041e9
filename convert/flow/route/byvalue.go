package route

import (
	"fmt"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/plan/splits/column"
)

// conditionRouter gives a sample to the first part whose condition holds.
type conditionRouter struct {
	rule  *splits.Rule
	conds []Condition
	marks sync.Pool // of *[]byte
}

// Bind implements Router.
func (r *conditionRouter) Bind(in []shardify.Field) error {
	if want := len(r.rule.Tests()); len(r.conds) != want {
		return fmt.Errorf("%d conditions for %d splits", len(r.conds), want)
	}
	if i := shardify.FieldIndex(in, r.rule.Over); r.rule.Gap != "" && i >= 0 && in[i].Media != "" {
		return shardify.Misuse("--split: gap=%s: field %s is no number or time", r.rule.Gap, r.rule.Over)
	}
	for i, c := range r.conds {
		if c == nil {
			continue
		}
		if err := c.Bind(in); err != nil {
			name := "gap=" + r.rule.Gap
			if i < len(r.rule.Parts) {
				name = r.rule.Parts[i].Name
			}
			return shardify.Misused(fmt.Errorf("--split %s: %w", name, err))
		}
	}
	if r.rule.GroupBy != "" {
		return has(in, r.rule.GroupBy)
	}
	return nil
}

// Route implements Router.
func (r *conditionRouter) Route(b *shardify.Batch, to []uint16) error {
	keep, _ := r.marks.Get().(*[]byte)
	if keep == nil {
		keep = new([]byte)
	}
	defer r.marks.Put(keep)
	*keep = slices.Grow((*keep)[:0], b.Samples)[:b.Samples]
	other := uint16(splits.Nowhere)
	for i := range to {
		to[i] = splits.Nowhere
	}
	for k, c := range r.conds[:len(r.rule.Parts)] {
		if c == nil {
			other = uint16(k)
			continue
		}
		if err := c.Keep(b, *keep); err != nil {
			return err
		}
		for i, x := range *keep {
			if x != 0 && to[i] == splits.Nowhere {
				to[i] = uint16(k)
			}
		}
	}
	for i := range to {
		if to[i] == splits.Nowhere {
			to[i] = other
		}
	}
	if r.rule.Gap == "" {
		return nil
	}
	return r.leave(b, to, other, *keep)
}

// leave leaves out what is within the gap. keep is memory.
func (r *conditionRouter) leave(b *shardify.Batch, to []uint16, rest uint16, keep []byte) error {
	conds := r.conds[len(r.rule.Parts):]
	part := slices.Clone(to)
	for k, n := range r.rule.Near {
		if err := conds[k].Keep(b, keep); err != nil {
			return err
		}
		for i, x := range keep {
			if x != 0 && part[i] != splits.Nowhere && part[i] != uint16(n.Part) && (!n.Rest || part[i] == rest) {
				to[i] = splits.InGap
			}
		}
	}
	if err := conds[len(r.rule.Near)].Keep(b, keep); err != nil {
		return err
	}
	for i, x := range keep {
		if x == 0 && part[i] != splits.Nowhere {
			to[i] = splits.Unplaced
		}
	}
	return nil
}

// columnRouter gives a sample to the part that a field names.
type columnRouter struct {
	plan  *plan.Plan
	parts map[string]uint16
}

func newColumnRouter(p *plan.Plan) *columnRouter {
	r := &columnRouter{plan: p, parts: map[string]uint16{}}
	for i, x := range p.Splits.Rule.Parts {
		r.parts[x.Name] = uint16(i)
	}
	return r
}

// Bind implements Router.
func (r *columnRouter) Bind(in []shardify.Field) error {
	rule := r.plan.Splits.Rule
	if err := has(in, rule.Needs()...); err != nil {
		return err
	}
	return column.Check(&in[shardify.FieldIndex(in, rule.Column)])
}

// Route implements Router.
func (r *columnRouter) Route(b *shardify.Batch, to []uint16) error {
	c, err := Column(b, r.plan.Splits.Rule.Column)
	if err != nil {
		return err
	}
	names := column.New(c)
	for i := range to {
		name, ok := names.At(i)
		if !ok {
			id := b.ID(i)
			return shardify.Unsupported("sample %d of %s has no split: its %s is missing", id.Sample, r.plan.In.Name(id.Input), c.Name)
		}
		if to[i], ok = r.parts[string(name)]; !ok {
			id := b.ID(i)
			return shardify.Mismatch("sample %d of %s has split %q in %s, which no sample had when the plan was made", id.Sample, r.plan.In.Name(id.Input), name, c.Name)
		}
	}
	return nil
}
