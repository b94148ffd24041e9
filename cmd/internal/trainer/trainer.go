package trainer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/internal/printable"
	"golang.org/x/sync/errgroup"
)

// Progress may be read while Run works.
type Progress struct{ Steps, Bytes atomic.Int64 }

// ErrShort: the set has not one batch for every rank.
var ErrShort = errors.New("no whole batch for every rank")

// Run trains and reports.
func Run(ctx context.Context, set *gpuload.Dataset, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	file := newTraceFile(o.Trace)
	before := usageNow()
	ranks, err := train(ctx, set, &o, file)
	if e := file.close(); err == nil && e != nil {
		err = fmt.Errorf("trace: %w", e)
	}
	if err != nil {
		return nil, err
	}
	r := report(set, &o, ranks, before)
	if o.Bound > 0 && !o.Load.Synthetic {
		if err := r.bound(ctx, set, o); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// train runs all ranks side by side.
func train(ctx context.Context, set *gpuload.Dataset, o *Options, file *traceFile) ([]*rank, error) {
	ranks := make([]*rank, o.Ranks)
	defer func() {
		for _, r := range ranks {
			if r != nil && r.loader != nil {
				r.loader.Close()
			}
		}
	}()
	for i := range ranks {
		r, err := open(set, o, i, file)
		if err != nil {
			return nil, err
		}
		ranks[i] = r
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, r := range ranks {
		g.Go(func() error { return r.run(ctx) })
	}
	err := g.Wait()
	for _, r := range ranks {
		r.stats, r.device = r.loader.Stats(), r.loader.Device()
		if e := r.loader.Close(); err == nil { // also ends the trace
			err = e
		}
	}
	return ranks, err
}

// open makes a rank's loader.
func open(set *gpuload.Dataset, o *Options, number int, file *traceFile) (*rank, error) {
	c := o.Load
	c.Rank, c.World, c.LocalRanks = number, o.Ranks, o.Ranks
	if c.Last == "" {
		c.Last = gpuload.Drop // equal batches are what is measured
	}
	if c.Workers == 0 && o.Ranks > 1 {
		c.Workers = max(runtime.GOMAXPROCS(0)/o.Ranks, 1)
	}
	r := &rank{o: o, number: number}
	if file != nil || o.Detail {
		r.events = newRecorder(number, file, o.Detail)
		c.Trace = r.events
	}
	var err error
	if r.loader, err = set.Loader(c); err != nil {
		return nil, err
	}
	if r.loader.Steps() == 0 {
		r.loader.Close()
		return nil, fmt.Errorf("%w: %d samples, batch %d, %s", ErrShort, set.Len(), c.Batch, printable.Of(int64(o.Ranks), "rank"))
	}
	return r, nil
}

// bound measures the same trainer on batches that are made once.
func (r *Report) bound(ctx context.Context, set *gpuload.Dataset, o Options) error {
	o.Time = min(max(time.Duration(r.Seconds/4*1e9), 200*time.Millisecond), o.Bound)
	o.Load.Synthetic, o.Trace, o.Detail, o.Bound = true, nil, false, 0
	o.Progress, o.Epochs, o.Steps = nil, 0, 0
	if o.Load.Tier == gpuload.TierStaged { // which would copy the shards again
		o.Load.Tier = gpuload.TierStream
	}
	b, err := Run(ctx, set, o)
	if err != nil {
		return fmt.Errorf("synthetic run: %w", err)
	}
	if b.SamplesPerSecond > 0 {
		r.Bound = &Bound{SamplesPerSecond: b.SamplesPerSecond, BytesPerSecond: b.BytesPerSecond, Seconds: b.Seconds, Reached: r.SamplesPerSecond / b.SamplesPerSecond}
	}
	return nil
}
