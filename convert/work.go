package convert

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"golang.org/x/sync/errgroup"
)

// Work does the units that have no receipt yet.
func (j *Job) Work(ctx context.Context, units []int) error {
	if err := j.bind(); err != nil {
		return err
	}
	for _, u := range units {
		if u < 0 || u >= len(j.Plan.Pack.Units) {
			return fmt.Errorf("unit %d of %d", u, len(j.Plan.Pack.Units))
		}
	}
	until(ctx, j.Source, j.Plan.In.Table)
	if err := j.bringTogether(ctx, units); err != nil {
		return why(ctx, err)
	}
	g, each := errgroup.WithContext(ctx)
	g.SetLimit(j.jobs())
	until(each, j.Source, j.Plan.In.Table)
	defer until(ctx, j.Source, j.Plan.In.Table)
	j.left.Store(int64(len(units)))
	if j.Sink.Frame != nil && j.flow.Plain {
		j.frame = j.Sink.Frame(j.Plan.Sample.Schema, j.Plan.Out.Options)
	}
	for _, u := range j.byPart(units) {
		if each.Err() != nil {
			break
		}
		g.Go(func() error {
			return untilProven(each, j.Plan.In.Table, func() error { return j.unit(each, u) })
		})
	}
	err := g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = storage.Flush(ctx, j.Store) // a task that says it is done may be on another machine than merge
	}
	return why(ctx, err)
}

// bringTogether has the source bring together what the units still have to do.
func (j *Job) bringTogether(ctx context.Context, units []int) error {
	c, ok := j.Source.(format.Collector)
	if !ok || c.CollectBytes() == 0 {
		return nil
	}
	var spans []shardify.Span
	for _, u := range units {
		for i := j.Plan.Pack.Units[u].Lo; i < j.Plan.Pack.Units[u].Hi; i++ {
			r, err := j.receipts().portion(i)
			if err != nil {
				return err
			}
			if x := j.Plan.Pack.Shards[i]; r == nil {
				spans = append(spans, j.Plan.Pack.Spans[x.Lo:x.Hi]...)
			}
		}
	}
	if len(spans) == 0 {
		return nil
	}
	return c.Collect(ctx, spans, j.Pool, j.jobs(), j.scratch())
}
