package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow/route"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/plan/splits"
)

// maxGroups bounds what --group-by keeps in memory where values decide the split.
const maxGroups = 1 << 21

// groups says which split each group is in. Samples of one group in two splits are a clash.
type groups struct {
	f     *Flow
	in    map[uint64]uint16 // by the hash of the group's value
	clash *clash
	find  *uint64 // second pass: the group whose value is wanted
	value string
	to    []uint16
}

// clash is a group in two splits.
type clash struct {
	group uint64
	a, b  uint16
}

func (g *groups) Collect(_ int, b *shardify.Batch) error {
	if g.clash != nil || g.value != "" {
		return nil
	}
	c, err := route.Column(b, g.f.plan.Splits.Rule.GroupBy)
	if err != nil {
		return err
	}
	if g.find != nil {
		for i := range b.Samples {
			if route.Hash(c, i) == *g.find {
				g.value = valueText(c, i)
				return nil
			}
		}
		return nil
	}
	g.to = slices.Grow(g.to[:0], b.Samples)[:b.Samples]
	if err := g.f.router.Route(b, g.to); err != nil {
		return err
	}
	for i, s := range g.to {
		if err := g.put(route.Hash(c, i), s); err != nil {
			return err
		}
	}
	return nil
}

// put notes a sample of a group.
func (g *groups) put(group uint64, split uint16) error {
	if split >= splits.Unplaced {
		split = splits.Nowhere // whatever the reason
	}
	s, ok := g.in[group]
	switch {
	case !ok && len(g.in) == maxGroups:
		return shardify.Unsupported("more than %d values of %s: --group-by keeps one split for each in memory", maxGroups, g.f.plan.Splits.Rule.GroupBy)
	case !ok:
		g.in[group] = split
	case s != split && g.clash == nil:
		g.clash = &clash{group, s, split}
	}
	return nil
}

func (g *groups) Combine(next Gathering) error {
	n := next.(*groups)
	if g.value == "" {
		g.value = n.value
	}
	if g.clash != nil {
		return nil
	}
	// Of several clashes the smallest hash counts, whichever comes first in a map.
	var first *clash
	for group, split := range n.in {
		s, ok := g.in[group]
		if ok && s != split && (first == nil || group < first.group) {
			first = &clash{group, s, split}
		}
		if !ok {
			if err := g.put(group, split); err != nil {
				return err
			}
		}
	}
	if g.clash = first; first == nil {
		g.clash = n.clash
	}
	return nil
}

// wholeGroups refuses groups whose samples are in several splits.
func wholeGroups(ctx context.Context, f *Flow, pass scan) error {
	rule := f.plan.Splits.Rule
	look := func(find *uint64) (*groups, error) {
		got, err := pass(ctx, len(f.before), false, func() Gathering { return &groups{f: f, in: map[uint64]uint16{}, find: find} })
		if err != nil {
			return nil, err
		}
		return got.(*groups), nil
	}
	g, err := look(nil)
	if err != nil || g.clash == nil {
		return err
	}
	second, err := look(&g.clash.group)
	if err != nil {
		return err
	}
	name := func(split uint16) string {
		if split == splits.Nowhere {
			return "in no split"
		}
		return "in split " + rule.Parts[split].Name
	}
	err = shardify.Misuse("--group-by %s: samples with %s %s are %s and %s", rule.GroupBy, rule.GroupBy, second.value, name(g.clash.a), name(g.clash.b))
	return shardify.Hint(err, "conditions on "+rule.GroupBy+" itself keep its samples together; --where leaves samples out before the split")
}

// valueText is a value for people.
func valueText(c *shardify.Column, i int) string {
	if c.Valid != nil && c.Valid[i] == 0 {
		return "missing"
	}
	lo, hi := c.Range(i, i+1)
	if c.Media != "" {
		return fmt.Sprintf("%.60q", c.Data[lo:hi])
	}
	switch {
	case c.Levels > 0 || c.Elem() != 1:
		return fmt.Sprintf("%x", c.Data[lo:min(hi, lo+32)])
	case c.DType.IsInt():
		var x [1]int64
		numeric.Convert(shardify.Bytes(x[:]), shardify.I64, c.Data[lo:hi], c.DType)
		return fmt.Sprint(x[0])
	}
	var x [1]float64
	numeric.Convert(shardify.Bytes(x[:]), shardify.F64, c.Data[lo:hi], c.DType)
	return fmt.Sprint(x[0])
}
