// Package route decides which split a sample goes to: by hash, class, input, condition, or a column of names.
package route

import (
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
)

// Router decides which split each sample goes to, by identity or values alone.
type Router interface {
	// Route sets to[i] to the split of sample i, an index into the parts of the rule, or to
	// splits.Nowhere.
	Route(b *shardify.Batch, to []uint16) error
	// Bind is called with the fields of the samples, before Route. It refuses them if those that Route looks at are missing.
	Bind(in []shardify.Field) error
}

// Condition says which samples a split takes. It may be used from several goroutines at once.
type Condition interface {
	// Bind is called with the fields of the samples, before Keep.
	Bind(in []shardify.Field) error
	// Keep sets keep[i] to 1 if the condition holds for sample i, else to 0.
	Keep(b *shardify.Batch, keep []byte) error
}

// New makes the router of a plan with a split.
func New(p *plan.Plan, conds []Condition) (Router, error) {
	s := p.Splits.Rule
	switch {
	case s.Column != "":
		return newColumnRouter(p), nil
	case s.Conditions() != nil:
		return &conditionRouter{rule: s, conds: conds}, nil
	case s.Named():
		return &nameRouter{p: p}, nil
	case s.Stratify != "":
		r := &hashRouter{Hasher: NewHasher(p), field: s.Stratify, classes: map[uint64]*splits.Cuts{}}
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
		r := &hashRouter{Hasher: NewHasher(p)}
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
	return &hashRouter{Hasher: NewHasher(p), cuts: c}, nil
}
