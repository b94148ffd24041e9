package rows

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// Sorted passes on the rows of a table by rising key: directly if they are in that order, else
// through scratch files in the store. A key may occur again, but not so often that its rows take
// much memory.
func Sorted(ctx context.Context, rows shardify.Source, table *format.Table, fields []string, env Env, store storage.Store, do func(b *shardify.Batch) error) error {
	s := &Source{Around: format.Around{Rows: rows}, table: table, opts: plan.Grouping{Keys: fields}, keys: keys{names: fields}, in: rows.Schema(), out: rows.Schema()}
	defer s.spool.close()
	if err := s.named(); err != nil {
		return err
	}
	for sp, err := range rows.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return err
		}
		if sp.Samples() > 0 {
			s.units = append(s.units, unit{span: sp})
		}
	}
	c := s.scanner(env)
	all, err := c.look(ctx)
	if err != nil {
		return err
	}
	c.src = s.Rows
	if proven, _ := s.join(all); proven {
		for lo := 0; lo < len(s.units); {
			hi := c.runFrom(lo)
			if err := c.chunk(ctx, lo, hi, func(_ int, b *shardify.Batch, _ *shardify.Arena) error { return do(b) }); err != nil {
				return err
			}
			lo = hi
		}
		return nil
	}
	if err := c.many(all); err != nil {
		return err
	}
	p := c.parts(all)
	if err := s.spool.collect(ctx, &c, p, s.in, store, func(b *shardify.Batch) *shardify.Batch { return b }, nil); err != nil {
		return err
	}
	var v view
	for i := range p.list {
		if err := func() error {
			mem := c.pool.Overdraft()
			defer mem.Release()
			b, err := s.spool.read(ctx, i, mem)
			if err == nil {
				_, err = s.keys.look(&v, b, mem)
			}
			if err != nil || b.Samples == 0 {
				return err
			}
			order := v.order(b.IDs)
			for len(order) > 0 && err == nil {
				n := min(len(order), max(int(int64(b.Samples)*plan.SpanBytes/max(b.Bytes(), 1)), 1))
				err = func() error {
					part := c.pool.Overdraft()
					defer part.Release()
					b, err := b.Take(order[:n], part)
					if err != nil {
						return err
					}
					return do(b)
				}()
				order = order[n:]
			}
			return err
		}(); err != nil {
			return err
		}
	}
	return nil
}

// manyKeys is how often a key may be among those that were sampled.
const manyKeys = 8

// many refuses a key of so many rows that they may not fit in memory, where they are read at once.
func (c *scanner) many(all []found) error {
	type sample struct {
		key string
		row int64
	}
	var list []sample
	step, start := c.s.step(), int64(0)
	for k := range all {
		row := (start + step - 1) / step * step
		for i, key := range all[k].sample {
			list = append(list, sample{key, row + int64(i)*step})
		}
		start += c.s.units[k].span.Samples()
	}
	slices.SortFunc(list, func(a, b sample) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row)) })
	for i := manyKeys; i < len(list); i++ {
		if a, b := list[i-manyKeys], list[i-manyKeys+1]; a.key == list[i].key {
			return shardify.Mismatch("%s is the same in rows %d and %d, and in many others: a key must have one row", strings.Join(c.s.opts.Keys, ","), a.row, b.row)
		}
	}
	return nil
}

// Numbers are the numbers of rows over all inputs.
func Numbers(ctx context.Context, rows shardify.Source) (func(shardify.ID) int64, error) {
	var base []int64
	n := int64(0)
	for sp, err := range rows.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return nil, err
		}
		for int(sp.Input) >= len(base) {
			base = append(base, n)
		}
		n += sp.Samples()
	}
	base = slices.Clip(base)
	return func(id shardify.ID) int64 { return base[id.Input] + id.Sample }, nil
}
