package gpuload

import (
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/cost"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
)

// packing is what Config.Budget asks for, with the lengths of all samples.
func (d *Dataset) packing(c *Config) (*order.Packing, error) {
	p := &order.Packing{Padded: c.Padded, Batch: int64(c.Batch), Window: c.BudgetWindow, Oversize: c.Oversize}
	schema := d.Schema()
	for _, limit := range c.Budget {
		what, err := cost.Parse(schema, limit.Field)
		if err != nil {
			return nil, err
		}
		for i := range what.Fields {
			if _, err := d.project([]string{dataset.GlobOf(what.Fields[i].Name)}); err != nil {
				return nil, err
			}
		}
		l := &order.Lengths{}
		if err := load.ReadLengths(d.sets(), what, func(list []int64) { l.Append(list...) }); err != nil {
			return nil, err
		}
		p.Budgets = append(p.Budgets, order.Budget{Name: limit.Field, Most: limit.Most, Lengths: l})
	}
	return p, nil
}
