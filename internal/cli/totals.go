package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/shape"
	"github.com/shardify/shardify/internal/shape/expr"
)

// sumSpan is how many bytes of another table are read at a time.
const sumSpan = 4 << 20

// sumsOf returns what adds up a field of another table of the inputs, for each of them.
func sumsOf(ctx context.Context, p *Prepared, src shardify.SourceFormat, table *shardify.Table) func(shape.Total) ([]shape.Sum, error) {
	known := map[shape.Total][]shape.Sum{}
	return func(t shape.Total) ([]shape.Sum, error) {
		if s := known[t]; s != nil {
			return s, nil
		}
		if !slices.ContainsFunc(src.Options, func(o shardify.Option) bool { return o.Name == "object" }) {
			return nil, Usage("%s: %s inputs have no tables beside their samples", t, src.Name)
		}
		source, err := src.Open(ctx, shardify.OpenArgs{Table: table, Columns: []string{t.Field}, Options: shardify.Options{"object": t.Object}, Jobs: p.Jobs})
		if err != nil {
			return nil, err
		}
		defer source.Close()
		sums, err := addUp(ctx, source, shardify.NewPool(poolLimit(p.Memory)), table.Len())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		known[t] = sums
		return sums, nil
	}
}

// addUp adds the values of the only field of a source, input by input.
func addUp(ctx context.Context, source shardify.Source, pool *shardify.Pool, inputs int) ([]shape.Sum, error) {
	fields := source.Schema()
	if len(fields) != 1 {
		return nil, fmt.Errorf("want one field, not %d", len(fields))
	}
	if f := &fields[0]; f.Levels > 0 || f.Elem() != 1 || f.Media != "" {
		return nil, fmt.Errorf("%s is not one number an entry", f.Name)
	}
	e, err := expr.Parse(expr.Quote(fields[0].Name))
	if err != nil {
		return nil, err
	}
	values, err := e.Bind(fields, nil) // as i64 or f64
	if err != nil {
		return nil, err
	}
	sums := make([]shape.Sum, inputs)
	for i := range sums {
		sums[i].IsInt = !fields[0].DType.IsFloat()
	}
	var r runReader
	defer r.Close()
	for sp, err := range source.Spans(ctx, sumSpan) {
		if err == nil {
			err = r.add(ctx, source, sp, pool, values, &sums[sp.Input])
		}
		if err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// runReader is the reader of the run that was read last.
type runReader struct {
	shardify.Reader
	run uint32
}

// Close closes it, if there is one.
func (r *runReader) Close() {
	if r.Reader != nil {
		r.Reader.Close()
	}
}

// add reads a span and adds its values.
func (r *runReader) add(ctx context.Context, source shardify.Source, sp shardify.Span, pool *shardify.Pool, values *expr.Program, sum *shape.Sum) error {
	if r.Reader == nil || r.run != sp.Run {
		r.Close()
		var err error
		if r.Reader, err = source.Reader(sp.Run); err != nil {
			r.Reader = nil
			return err
		}
		r.run = sp.Run
	}
	mem, err := pool.Grant(ctx, sp.Bytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	b, err := r.Read(ctx, sp, mem)
	if err != nil {
		return err
	}
	c, err := values.Column(b, "", mem)
	if err == nil && slices.Contains(c.Valid, 0) {
		err = errors.New("a value is missing")
	}
	if err != nil {
		return err
	}
	return sumInto(sum, &c)
}

// sumInto adds the values of a column in their order.
func sumInto(sum *shape.Sum, c *shardify.Column) error {
	switch c.DType {
	case shardify.Bool:
		for _, x := range c.Data {
			sum.Int += int64(x)
		}
	case shardify.I64:
		for _, x := range shardify.View[int64](c.Data) {
			if s := sum.Int + x; (s > sum.Int) == (x > 0) || x == 0 {
				sum.Int = s
				continue
			}
			return errors.New("the sum leaves the range of i64")
		}
	default:
		for _, x := range shardify.View[float64](c.Data) {
			sum.Float += x
		}
	}
	return nil
}
