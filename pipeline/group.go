package pipeline

import (
	"cmp"
	"context"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/group"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
)

// parseGrouping is how rows become samples; nil if they do not.
func (s *Settings) parseGrouping() (*plan.Grouping, error) {
	if s.GroupRows == "" {
		if s.GroupRowsPerFile || s.GroupOrder != "" && s.GroupOrder != plan.OrderAuto || len(s.Once) > 0 {
			return nil, shardify.Usage("--group-rows-per-file, --group-order and --once go with --group-rows")
		}
		return nil, nil
	}
	name, keys, named := strings.Cut(s.GroupRows, "=")
	if !named {
		name, keys = "rows", name
	}
	g := &plan.Grouping{Name: strings.TrimSpace(name), Keys: value.Trimmed(strings.Split(keys, ",")), Once: value.Trimmed(s.Once), PerFile: s.GroupRowsPerFile, Order: cmp.Or(s.GroupOrder, plan.OrderAuto)}
	if len(g.Keys) == 0 || shardify.ValidName(g.Name) != nil {
		return nil, shardify.Usage("--group-rows %q: want fields whose values tell the samples apart, as in --group-rows event_id", s.GroupRows)
	}
	if s.split != nil && s.split.Objects {
		return nil, shardify.Usage("--group-rows and --split-from objects exclude each other")
	}
	return g, nil
}

// keyFields are the fields that grouping looks at.
func (s *Settings) keyFields() []string {
	if s.grouping == nil {
		return nil
	}
	return s.grouping.Keys
}

// group makes samples of the rows that were opened.
func (s *Settings) group(ctx context.Context, p *Prepared, src format.Input, o *readers.Opened) error {
	if s.grouping == nil {
		return nil
	}
	env := group.Env{Pool: shardify.NewPool(poolLimit(p.Memory)), Jobs: p.Jobs}
	if _, ok := o.Source.(format.Ranger); ok {
		a := o.Args
		a.Columns = s.grouping.Keys
		keys, err := src.Open(ctx, a)
		if err != nil {
			return a.Table.Locate(err)
		}
		defer keys.Close()
		env.Keys = keys
	}
	x, err := group.New(ctx, o.Source, o.Args.Table, *s.grouping, group.Fills(o.Args.Options), nil, env)
	if err == nil {
		o.Source = x
	}
	return err
}
