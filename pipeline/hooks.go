package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/plan"
)

// Hooks are called while work goes on; all may be nil.
type Hooks struct {
	// Chosen is called when the memory is known, before inputs and tables are read.
	Chosen func(memory int64)
	// Planned is called when the plan is known and nothing is written yet.
	Planned func(p *Prepared)
	// Begin is called before the first sample is read, with the units to do, and what it
	// returns when the work has ended.
	Begin func(p *Prepared, units []int) (end func())
	// Progress is called at once and then again and again, from one goroutine.
	Progress func(Progress)
	Every    time.Duration // between calls of Progress; a second if 0
	// Stalled is called when nothing was read or written for the time Stall. What hangs in the
	// kernel cannot be called back; nothing half is ever published, so a process may just end.
	Stalled func(err error)
	Stall   time.Duration // 0 waits for ever
}

type hooksKey struct{}

// WithHooks is a context whose conversions call hooks.
func WithHooks(ctx context.Context, h Hooks) context.Context {
	return context.WithValue(ctx, hooksKey{}, h)
}

func hooksOf(ctx context.Context) Hooks {
	h, _ := ctx.Value(hooksKey{}).(Hooks)
	return h
}

// watcher looks whether something moves, until stop.
type watcher func(after time.Duration, moved func() bool, stalled func(*stall.Stalled)) (stop func())

// watch has the hook called when nothing moves, until stop.
func (h *Hooks) watch(w watcher) (stop func()) {
	if h.Stall <= 0 || h.Stalled == nil {
		return func() {}
	}
	return w(h.Stall, new(host.Activity).Moved, func(s *stall.Stalled) { h.Stalled(s) })
}

// Progress reports how far work is; what earlier runs have done counts.
type Progress struct {
	Samples    int64   `json:"samples"`
	AllSamples int64   `json:"total_samples"`
	Bytes      int64   `json:"bytes"` // decoded
	AllBytes   int64   `json:"total_bytes"`
	Shards     int64   `json:"shards"`
	AllShards  int64   `json:"total_shards"`
	Seconds    float64 `json:"seconds"`

	// Of a global shuffle: the samples that are in their shards, and the portions of the inputs
	// that are scattered.
	Gathered, Portions, AllPortions int64 `json:"-"`
}

// follow calls Progress until stop.
func (h *Hooks) follow(look func() Progress) (stop func()) {
	if h.Progress == nil {
		return func() {}
	}
	every := h.Every
	if every <= 0 {
		every = time.Second
	}
	start, done := time.Now(), make(chan struct{})
	tell := func() {
		x := look()
		x.Seconds = time.Since(start).Seconds()
		h.Progress(x)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(every)
		defer t.Stop()
		tell()
		for {
			select {
			case <-t.C:
				tell()
			case <-done:
				return
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// begin calls the hooks until end, for units and shards of a global shuffle.
func (p *Prepared) begin(units []int, gathers int) (end func()) {
	ended, unfollow := func() {}, func() {}
	if p.hooks.Begin != nil {
		ended = p.hooks.Begin(p, units)
	}
	unwatch := p.hooks.watch(p.Job.WatchStall)
	if all := total(p.Plan, units, gathers); all.AllSamples > 0 || gathers > 0 {
		splits := int64(max(len(p.Plan.Splits.Names()), 1))
		unfollow = p.hooks.follow(func() Progress {
			x, c := all, &p.Job.Progress
			x.Samples, x.Bytes, x.Gathered, x.Shards = c.Samples.Load(), c.Bytes.Load(), c.Gathered.Load(), c.Shards.Load()
			if p.Plan.Order.Shuffle == plan.ShuffleGlobal {
				x.Portions, x.Shards = x.Shards, c.Gathers.Load()
			}
			x.Shards *= splits
			return x
		})
	}
	return func() {
		unfollow()
		unwatch()
		ended()
	}
}

// total is what there is to do, that of earlier runs included. Each split gets a shard of
// its own.
func total(p *plan.Plan, units []int, gathers int) (t Progress) {
	for _, u := range units {
		t.AllBytes += p.Pack.UnitBytes(u)
		x := p.Pack.Units[u]
		t.AllShards += int64(x.Hi - x.Lo)
		for _, s := range p.Pack.Shards[x.Lo:x.Hi] {
			t.AllSamples += s.Samples
		}
	}
	if p.Order.Shuffle == plan.ShuffleGlobal {
		t.AllShards, t.AllPortions = int64(gathers), t.AllShards
	}
	t.AllShards *= int64(max(len(p.Splits.Names()), 1))
	return t
}
