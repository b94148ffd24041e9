package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Device is one GPU. Its methods may be called from several goroutines; those
// of one Slot or Window never at once.
type Device struct {
	drv   *driver
	info  Info
	node  int // NUMA node of the GPU, or -1
	nodes func(pci string) int
	chunk int64
	dev   int32
	ctx   uintptr // 0: not retained

	// order is held from one call of the driver to the next where they belong together: see
	// visit. It guards what follows.
	order   sync.Mutex
	ended   bool
	drained [2]event // of Drain
	module  *module
	kernels map[string]uintptr
	copies  uintptr // stream of the copy engine
	gathers uintptr // stream of the kernels
	// Records in it: how many there were, the event of the newest, and those that the host
	// knows to be reached.
	gathered, reached uint64
	newest            *event
	batch             bool // several copies by one call
	flight            [4]string
	at                int
	lost              error
	live              map[closer]struct{} // what Close gives back
	speed             Speed
	grid              uint32 // blocks of kernels that read host memory
	wide              uint32 // and of those that read device memory

	mu     sync.RWMutex
	pinned []*pinned // by address
	closed bool
}

// closer is something of a Device that Close gives back.
type closer interface{ destroy() error }

// Open makes a GPU ready: its context, streams, kernels, and figures of its speed.
// Without a driver or such a GPU the error is ErrNoDriver or ErrNoDevice.
func Open(o Options) (*Device, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	drv, err := load(o.Library)
	if err != nil {
		return nil, err
	}
	d := &Device{drv: drv, chunk: o.Chunk, node: -1, nodes: o.Node, live: map[closer]struct{}{}}
	if err = d.open(int32(o.Device)); err == nil {
		err = d.do(d.prepare)
	}
	switch {
	case err != nil || o.NoCalibration:
	case o.Speed != nil:
		d.speed, d.batch = *o.Speed, o.Speed.Batch && d.batch
	default:
		err = d.calibrate()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Device) open(ordinal int32) error {
	if err := d.drv.init(); err != nil {
		return err
	}
	n, err := d.drv.deviceCount()
	if err != nil {
		return err
	}
	if n == 0 || ordinal >= n {
		return fmt.Errorf("%w: cuda:%d of %d", ErrNoDevice, ordinal, n)
	}
	if d.dev, err = d.drv.device(ordinal); err != nil {
		return err
	}
	if err := d.describe(ordinal); err != nil {
		return err
	}
	if d.info.Capability[0] < 7 {
		return fmt.Errorf("%w: cuda:%d (%s) has compute capability %d.%d, want 7.0", ErrNoDevice, ordinal, d.info.Name, d.info.Capability[0], d.info.Capability[1])
	}
	d.ctx, err = d.drv.primaryRetain(d.dev)
	return err
}

// prepare makes the streams and loads the kernels.
func (d *Device) prepare() error {
	_, greatest, err := d.drv.priorityRange()
	if err != nil {
		return err
	}
	// Small kernels that a training step's large ones would otherwise delay.
	if d.copies, err = d.drv.streamCreate(streamNonBlocking, greatest); err != nil {
		return err
	}
	if d.gathers, err = d.drv.streamCreate(streamNonBlocking, greatest); err != nil {
		return err
	}
	for i := range d.drained {
		if d.drained[i], err = d.newEvent(eventDisableTiming | eventBlockingSync); err != nil {
			return err
		}
	}
	if d.module, err = d.loadModule(); err != nil {
		return err
	}
	d.kernels = d.module.kernels
	// A few multiprocessors saturate the link; training keeps the others.
	d.grid = uint32(min(max(d.info.Multiprocessors/5, 4), 24))
	if d.wide, err = d.resident(); err != nil {
		return err
	}
	d.batch = d.drv.hasBatch()
	return nil
}

// resident is how many blocks of a gather the device runs at a time.
func (d *Device) resident() (uint32, error) {
	each := int32(1)
	if d.drv.cuOccupancyMaxActiveBlocksPerMultiprocessor != 0 {
		n, err := d.drv.occupancy(d.kernels["batch"], blockThreads)
		if err != nil {
			return 0, err
		}
		each = max(n, 1)
	}
	return uint32(max(d.info.Multiprocessors, 1) * each), nil
}

func (d *Device) describe(ordinal int32) (err error) {
	i := &d.info
	i.Ordinal, i.Library = int(ordinal), d.drv.path
	if i.Driver, err = d.drv.version(); err != nil {
		return err
	}
	if i.Name, err = d.drv.deviceName(d.dev); err != nil {
		return err
	}
	if i.PCI, err = d.drv.pciBusID(d.dev); err != nil {
		return err
	}
	if i.Memory, err = d.drv.totalMemory(d.dev); err != nil {
		return err
	}
	if d.drv.cuDeviceGetUuid != 0 {
		id, err := d.drv.uuid(d.dev)
		if err != nil {
			return err
		}
		i.UUID = fmt.Sprintf("GPU-%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	}
	if d.nodes != nil {
		d.node = d.nodes(i.PCI)
	}
	i.NUMA = d.node
	for _, a := range []struct {
		attr int32
		to   *int32
	}{
		{attrMajor, &i.Capability[0]}, {attrMinor, &i.Capability[1]}, {attrMultiprocessors, &i.Multiprocessors},
		{attrAsyncEngines, &i.CopyEngines}, {attrUnified, &i.unified}, {attrCanMapHost, &i.mapsHost},
		{attrHostRegister, &i.registers}, {attrReadOnlyRegister, &i.readOnly},
	} {
		if *a.to, err = d.drv.attribute(a.attr, d.dev); err != nil {
			// Newer attributes are unknown to older drivers.
			if code(err) != codeInvalidValue {
				return err
			}
			*a.to, err = 0, nil
		}
	}
	return err
}

// Info is what the driver says about the device.
func (d *Device) Info() Info { return d.info }

// Speed is what Open measured.
func (d *Device) Speed() Speed { return d.speed }

func (d *Device) String() string { return fmt.Sprintf("cuda:%d", d.info.Ordinal) }

// noted remembers an error after which the context is of no use, and says what was
// on its way when it was seen.
func (d *Device) noted(err error) error {
	var e *Error
	if d.lost == nil && errors.As(err, &e) && sticky(e.Code) {
		e.While = d.inFlight()
		d.lost = err
	}
	return err
}

func (d *Device) inFlight() string {
	var list []string
	for i := range d.flight {
		if s := d.flight[(d.at+i)%len(d.flight)]; s != "" {
			list = append(list, s)
		}
	}
	return strings.Join(list, ", ")
}

// began notes the name of work that was given to the device.
func (d *Device) began(name string) {
	d.flight[d.at] = name
	d.at = (d.at + 1) % len(d.flight)
}

// MemoryInfo is the free and total bytes of device memory.
func (d *Device) MemoryInfo() (free, total uint64, err error) {
	err = d.do(func() (err error) {
		free, total, err = d.drv.memInfo()
		return err
	})
	return free, total, err
}

// Drain waits until the device's own streams have done all work given to them.
func (d *Device) Drain(ctx context.Context) error {
	err := d.do(func() error {
		return errors.Join(d.record(&d.drained[0], d.copies), d.record(&d.drained[1], d.gathers))
	})
	if err != nil {
		return err
	}
	return d.await(ctx, &d.drained[0], &d.drained[1])
}

// Close waits for the device's streams and gives everything back: slots, windows,
// pinned memory that is still out, streams, kernels, the context. Batches must not be
// in use any more. Closing twice does nothing.
func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	d.order.Lock()
	defer d.order.Unlock()
	d.ended = true
	var all []error
	if d.ctx != 0 {
		all = append(all, d.bracket(d.destroy), d.given(d.drv.primaryRelease(d.dev)))
	}
	return errors.Join(all...)
}

// given is an error of giving back that is worth telling. At the end of a process the
// driver may be gone before us. A lost context was reported already, and each of its
// calls fails in the same way.
func (d *Device) given(err error) error {
	if n := code(err); n == codeDeinitialized || d.lost != nil && sticky(n) {
		return nil
	}
	return err
}

// destroy continues after errors, and gives back what it can.
func (d *Device) destroy() error {
	var all []error
	try := func(err error) { all = append(all, d.given(err)) }
	for _, s := range []uintptr{d.copies, d.gathers} {
		if s != 0 {
			try(d.drv.streamSynchronize(s))
		}
	}
	for c := range d.live {
		try(c.destroy())
	}
	d.mu.Lock()
	left := d.pinned
	d.pinned = nil
	d.mu.Unlock()
	for _, p := range left {
		try(p.destroy(d))
	}
	for _, s := range []uintptr{d.copies, d.gathers} {
		if s != 0 {
			try(d.drv.streamDestroy(s))
		}
	}
	try(d.destroyEvents(&d.drained[0], &d.drained[1]))
	try(d.dropModule())
	return errors.Join(all...)
}
