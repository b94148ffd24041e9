package gpuload

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/trace"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/storage/storages"
)

// Loader delivers one rank's batches, epoch after epoch. Its methods may be called
// concurrently; each call of Next gets the next batch in order.
type Loader struct {
	want  *samples // what is delivered
	dev   *target  // where
	from  *sources // from what
	slots *slots
	queue *queue
	meter *meter
	notes *noteList
	place place

	// use is held by the calls that consume.
	use      sync.Mutex
	pipeline *pipeline // nil until the first Next
	failed   error

	closeOnce sync.Once
}

// Loader starts reading nothing yet: that begins with the first Next.
func (d *Dataset) Loader(cfg Config) (*Loader, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Cache != "" {
		if err := storages.UseCache(cfg.Cache, cfg.CacheSize); err != nil {
			return nil, folder("cache", cfg.Cache, err)
		}
	}
	l := &Loader{notes: &noteList{}, place: place{epoch: cfg.Epoch}, meter: &meter{trace: trace.New(cfg.Trace, cfg.Rank)}}
	var err error
	if l.want, err = d.want(&cfg, l.notes); err != nil {
		return nil, err
	}
	if l.dev, err = openTarget(cfg.Device, l.want.View != nil); err != nil {
		return nil, err
	}
	if err := l.allocate(&cfg); err != nil {
		l.freeMemory()
		l.dev.Dev.Close()
		return nil, err
	}
	return l, nil
}

// allocate chooses the tier, and makes what it needs and the slots.
func (l *Loader) allocate(cfg *Config) (err error) {
	if l.from, err = newSources(cfg, l.want, l.dev, l.meter, l.notes); err != nil {
		return err
	}
	if err := l.want.fits(); err != nil {
		return err
	}
	if err := l.from.plan(); err != nil {
		return err
	}
	l.queue = newQueue(cfg, l.want, l.from)
	l.slots = &slots{
		Want: l.want, Dev: l.dev, From: l.from, cfg: cfg, usage: &l.meter.Usage, queue: l.queue,
		Spares: load.NewSpares(len(l.want.Out.Tensors), cfg.Depth+2),
	}
	for range cfg.Depth + 1 {
		if err := l.slots.add(); err != nil {
			return err
		}
	}
	return nil
}

// Grow makes room for one batch more than Config.Depth and one, for consumers that hold
// batches as long as they like. It is given back by Close.
func (l *Loader) Grow() error {
	l.use.Lock()
	defer l.use.Unlock()
	if l.queue.isClosed() {
		return ErrClosed
	}
	return l.slots.add()
}

// Next returns the next batch, io.EOF at the end of an epoch. After that it continues
// with the next epoch. While the consumer holds all slots it waits, at most
// Config.Patience. An error of reading is final until SetEpoch or Restore; that of ctx
// and ErrHeld are not.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	l.use.Lock()
	defer l.use.Unlock()
	if l.failed != nil {
		return nil, l.failed
	}
	entered := trace.Nanos()
	if epoch, _ := l.place.at(); !l.want.Order.Known(epoch) {
		return nil, order.ErrUnknown
	}
	if l.pipeline == nil {
		if l.queue.isClosed() {
			return nil, ErrClosed
		}
		epoch, position := l.place.at()
		l.pipeline = startPipeline(l.queue, l.from, l.newMaker, epoch, position)
	}
	t, err := l.pipeline.take(ctx)
	if err != nil {
		return nil, err
	}
	if t.Err != nil {
		l.failed = t.Err
		return nil, t.Err
	}
	if t.Slot == nil {
		l.place.set(t.Epoch+1, 0)
		return nil, io.EOF
	}
	l.place.set(t.Slot.Epoch, l.want.Steps.End(&t.Slot.Step))
	l.meter.consumed(t.Slot, entered)
	return newBatch(l.slots, t.Slot), nil
}

func (l *Loader) newMaker(ctx context.Context) *maker {
	return newMaker(ctx, l.queue, l.want, l.dev, l.from, l.meter)
}

// Bind keeps the calling goroutine on its thread, made ready for the device, until the returned
// function is called there. What the loop calls in between costs the driver less: without, each
// call of Ready and Release makes the device's context current and gives the thread its own
// back. A context of another device that becomes current meanwhile is to be popped again.
func (l *Loader) Bind() (unbind func()) { return l.dev.bind() }

// halt ends the pipeline.
func (l *Loader) halt() {
	if l.pipeline != nil {
		l.pipeline.stop()
	}
	l.pipeline, l.failed = nil, nil
}

// SetOrder says which samples an epoch has, with Config.PerEpoch.
func (l *Loader) SetOrder(epoch int, list []int64) error {
	l.use.Lock()
	defer l.use.Unlock()
	if err := l.want.checkAnchors(list); err != nil {
		return err
	}
	l.halt()
	at, _ := l.place.at()
	return l.want.Order.Give(epoch, list, at)
}

// Close ends all goroutines and gives memory and files back, that of batches not
// yet released when they are. A Next that waits returns ErrClosed.
func (l *Loader) Close() error {
	l.closeOnce.Do(l.queue.end)
	l.use.Lock()
	defer l.use.Unlock()
	if l.queue.isClosed() {
		return nil
	}
	l.halt()
	l.freeMemory()
	err := errors.Join(l.meter.close(), l.from.close())
	if e := l.dev.Dev.Close(); err == nil {
		err = e
	}
	return err
}

func (l *Loader) freeMemory() {
	if l.slots != nil {
		l.slots.close()
	}
	if l.from != nil {
		l.from.free()
	}
}
