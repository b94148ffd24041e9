package gpuload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/internal/tier"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/stage"
	"github.com/shardify/shardify/storage/storages"
)

// Loader delivers one rank's batches, epoch after epoch. Its methods may be called
// concurrently; each call of Next gets the next batch in order.
type Loader struct {
	set     *Dataset
	cfg     Config
	order   *order.Order
	steps   order.Steps
	layout  *index.Layout  // of what is read
	out     *index.Layout  // of what is delivered
	rows    *index.Layout  // of a window's rows as they are delivered
	window  *window        // nil: each row is a sample
	stream  *stream        // of Config.Tokens; else nil
	view    *load.View     // of window
	casts   []*load.Caster // by tensor; may be nil
	shards  *load.Shards
	crew    *load.Crew
	dev     device.Device
	onHost  bool // dev is the host
	tier    Tier
	workers int
	makers  int
	pinned  *tier.Pinned
	kept    [2]int64 // samples that the device keeps, where it has no room for all
	stage   *stage.Shared
	staged  bool // the shards are read from there
	mapped  *tier.Mapped
	scrub   *load.Scrubber
	windows *tier.Windows
	advisor *tier.Advisor
	trace   *tracer
	notes   []string
	columns []string

	slots  []*slot
	spares *load.Spares
	absent []bool // by tensor of a slot: a device gathers it, and it has no memory on the host
	listed bool   // a device has the numbers of samples from the host
	helps  bool   // the consumer makes batches too
	small  bool   // batches are
	wakeAt int    // free slots from which another goroutine is woken

	// use is held by the calls that consume, mu by those and by others for a moment.
	use    sync.Mutex
	failed error

	closing   chan struct{} // closed by Close, to end a Next that waits
	closeOnce sync.Once

	mu       sync.Mutex
	pipeline *pipeline // changed under use too
	free     []*slot
	epoch    int
	position int64
	closed   bool
	stats    counters
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
	l := &Loader{set: d, cfg: cfg, epoch: cfg.Epoch, closing: make(chan struct{})}
	if err := l.plan(); err != nil {
		return nil, err
	}
	var err error
	if l.dev, err = device.Open(cfg.Device); err != nil {
		return nil, err
	}
	if _, l.onHost = l.dev.(device.Host); !l.onHost {
		l.near()
	}
	l.steps.Together = l.together()
	if err := l.prepare(); err != nil {
		l.freeMemory()
		l.dev.Close()
		return nil, err
	}
	return l, nil
}

// maxTogether bounds the steps of a batch, however small their rows are.
const maxTogether = 64

// together is how many steps fit into Config.Group.
func (l *Loader) together() int64 {
	for i := range l.out.Tensors {
		if l.out.Tensors[i].Lead != index.LeadSamples {
			return 1
		}
	}
	fit := l.cfg.Group / (l.steps.Batch * max(deviceRow(l.out), 1))
	return max(min(fit, maxTogether, l.steps.Count(0)), 1)
}

// fits refuses batches that take more memory than the machine has, as many as there are at a time.
func (l *Loader) fits() error {
	m := host.Probe(func(string) string { return "" })
	batch := l.steps.Most()
	row := deviceRow(l.out) + 8 // and its number
	n := int64(l.cfg.Depth) + 1
	if m.Memory <= 0 || batch <= m.Memory/n/row {
		return nil
	}
	return fmt.Errorf("a batch of %s samples takes %s, and %s are in memory at a time: more than the %s of this machine; a smaller batch or depth fits, and an epoch has %s samples",
		printable.Count(batch), shardify.FormatSize(batch*row), printable.Count(n), shardify.FormatSize(m.Memory), printable.Count(l.steps.Length))
}

// prepare does what depends on the device.
func (l *Loader) prepare() error {
	if err := l.fits(); err != nil {
		return err
	}
	if err := l.planTier(); err != nil {
		return err
	}
	l.noteOrder()
	return l.allocate()
}

// allocate makes the slots and what the tier needs.
func (l *Loader) allocate() error {
	if err := l.sources(); err != nil {
		return err
	}
	if gpu, ok := l.gathers(); ok && (l.pinned != nil || l.windows != nil) {
		if err := l.placeOrder(gpu); err != nil {
			return err
		}
		l.absent = l.held(gpu)
	}
	if l.cfg.Numbers && !l.onHost && l.absent == nil {
		return shardify.Unsupported("numbers of samples on %s with tier %s: want tier pinned or device, or a Block shuffle, where it gathers the batches", l.dev, l.tier)
	}
	l.planMakers()
	l.helps = l.onHost && (l.pinned != nil || l.windows != nil || l.mapped != nil)
	l.small = l.steps.Most()*deviceRow(l.out) < helpBytes
	if l.wakeAt = 1; l.helps {
		l.wakeAt = (l.cfg.Depth + 1) / 2
	}
	l.spares = load.NewSpares(len(l.out.Tensors), l.cfg.Depth+2)
	for range l.cfg.Depth + 1 {
		if err := l.addSlot(); err != nil {
			return err
		}
	}
	return nil
}

// addSlot makes another slot. The caller holds mu, once there is a pipeline.
func (l *Loader) addSlot() error {
	s := &slot{table: load.NewTable(l.out, l.dev, &l.stats.usage), keep: l.cfg.Synthetic, ids: make([]int64, l.steps.Most())}
	if s.table.Casts = l.casts; l.view != nil {
		s.table.Casts = nil // its sides have them
		for i := range l.view.Sides {
			s.sides = append(s.sides, l.view.Sides[i].Table(s.table, l.casts))
		}
	}
	s.table.Absent, s.on.Table, s.on.Listed = l.absent, s.table, l.listed
	s.on.Numbers = l.cfg.Numbers && l.absent != nil
	if l.onHost {
		s.table.Spares = l.spares
	}
	err := s.table.Reset(l.steps.Most())
	if err == nil {
		err = l.dev.Attach(&s.on)
	}
	if err != nil {
		s.table.Close()
		return err
	}
	l.slots = append(l.slots, s)
	if l.pipeline != nil {
		l.pipeline.released(s)
	} else {
		l.free = append(l.free, s)
	}
	return nil
}

// Grow makes room for one batch more than Config.Depth and one, for consumers that hold
// batches as long as they like. It is given back by Close.
func (l *Loader) Grow() error {
	l.use.Lock()
	defer l.use.Unlock()
	if l.isClosed() {
		return ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addSlot()
}

// maxIndices is the most Indices, in bytes, that are copied to a device's memory, which is
// not asked for. More are looked up on the host.
const maxIndices = 64 << 20

// placeOrder decides who computes the samples of a batch: the device, or the host where they
// are drawn from lists.
func (l *Loader) placeOrder(gpu device.GPU) error {
	list := l.order.Indices()
	l.listed = l.windows == nil && (l.order.Drawn() || len(list)*8 > maxIndices)
	if list == nil || l.listed || l.windows != nil {
		return nil
	}
	return gpu.Indices(list)
}

// gathers is the device that gathers batches by itself; windows are gathered on the host.
func (l *Loader) gathers() (device.GPU, bool) {
	g, ok := l.dev.(device.GPU)
	return g, ok && l.view == nil
}

// direct reports that samples of a Block shuffle are read one by one.
func (l *Loader) direct() bool {
	calls := int64(1) // of a sample in a tar
	for _, in := range l.set.inputs {
		if in.Format != index.FormatWDS {
			calls = int64(len(l.layout.Tensors))
		}
	}
	each := l.set.columnBytes(l.layout) / max(l.set.samples, 1)
	if l.window != nil && 2*l.windowedRows()*(each+1) > l.memory() {
		return true // the rows around the anchors take more memory than there is
	}
	return l.order.Block() == 1 || each >= tier.LargeRow*calls
}

// Next returns the next batch, io.EOF at the end of an epoch. After that it continues
// with the next epoch. While the consumer holds all slots it waits, at most
// Config.Patience. An error of reading is final until SetEpoch or Restore; that of ctx
// and ErrHeld are not.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	l.use.Lock()
	defer l.use.Unlock()
	switch {
	case l.isClosed():
		return nil, ErrClosed
	case l.failed != nil:
		return nil, l.failed
	}
	entered := load.Nanos()
	if l.pipeline == nil {
		p := l.startPipeline()
		l.mu.Lock()
		l.pipeline = p
		l.mu.Unlock()
	}
	t, err := l.pipeline.take(ctx)
	if err != nil {
		return nil, err
	}
	if t.err != nil {
		l.failed = t.err
		return nil, t.err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.slot == nil {
		l.epoch, l.position = t.epoch+1, 0
		return nil, io.EOF
	}
	t.slot.held = true
	l.epoch, l.position = t.slot.Epoch, l.steps.End(&t.slot.Step)
	l.account(t.slot, entered)
	return newBatch(l, t.slot), nil
}

// Bind keeps the calling goroutine on its thread, made ready for the device, until the returned
// function is called there. What the loop calls in between costs the driver less: without, each
// call of Ready and Release makes the device's context current and gives the thread its own
// back. A context of another device that becomes current meanwhile is to be popped again.
func (l *Loader) Bind() (unbind func()) {
	if g, ok := l.dev.(device.GPU); ok {
		return g.Bind()
	}
	return func() {}
}

// account notes how long the consumer waited, and what it did before.
func (l *Loader) account(s *slot, entered int64) {
	c, now := &l.stats, load.Nanos()
	if c.batches == 0 {
		c.firstWait = now - entered
	} else {
		c.wait += now - entered
		c.compute += entered - c.returned
		l.trace.span("step", "step", c.returned, entered, s.Number-1, 0)
	}
	l.trace.span("wait", "wait", entered, now, s.Number, 0)
	c.returned = now
	c.batches += s.Steps
	c.samples += int64(s.Rows)
	c.delivered.Add(s.table.Size())
}

func (l *Loader) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// giveBack makes a slot free. A loader that was closed meanwhile has no use for it.
func (l *Loader) giveBack(s *slot, streams []device.Stream) error {
	err := l.dev.Release(&s.on, streams...)
	if errors.Is(err, ErrCapture) {
		return err
	}
	if l.onHost {
		s.poison()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.held = false
	switch {
	case l.closed:
		l.freeSlot(s)
	case l.pipeline != nil:
		l.pipeline.released(s)
	default:
		l.free = append(l.free, s)
	}
	return err
}

// halt ends the pipeline.
func (l *Loader) halt() {
	if l.pipeline != nil {
		l.pipeline.stop()
	}
	l.failed = nil
	l.mu.Lock()
	l.pipeline = nil
	l.mu.Unlock()
}

// Close ends all goroutines and gives memory and files back, that of batches not
// yet released when they are. A Next that waits returns ErrClosed.
func (l *Loader) Close() error {
	l.closeOnce.Do(func() { close(l.closing) })
	l.use.Lock()
	defer l.use.Unlock()
	if l.isClosed() {
		return nil
	}
	l.halt()
	l.mu.Lock()
	l.closed = true
	l.freeMemory()
	l.mu.Unlock()
	l.shards.Close()
	err := l.trace.close()
	if l.stage != nil {
		err = errors.Join(err, l.stage.Close())
	}
	if e := l.dev.Close(); err == nil {
		err = e
	}
	return err
}

func (l *Loader) freeMemory() {
	for _, s := range l.slots {
		if !s.held {
			l.freeSlot(s)
		}
	}
	if l.spares != nil {
		l.spares.Close()
	}
	if l.pinned != nil {
		l.pinned.Table.Close()
	}
	if l.windows != nil {
		l.windows.Close()
	}
	if l.mapped != nil {
		l.mapped.Close()
	}
}

func (l *Loader) freeSlot(s *slot) {
	l.dev.Detach(&s.on)
	s.table.Close()
	for _, t := range s.sides {
		t.Close()
	}
}
