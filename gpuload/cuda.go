//go:build cuda && linux

package gpuload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/index"
)

// cudaDevice delivers batches in the memory of an NVIDIA GPU.
type cudaDevice struct {
	gpu *cuda.Device

	mu      sync.Mutex
	slots   int // attached
	closing bool
	err     error // the first of giving back
}

// cudaSlot is the device's part of a slot.
type cudaSlot struct {
	*cuda.Slot
	moves []cuda.Move
	// By tensor: the device gathers it.
	gathered []bool
	none     []int64 // numbers of rows that are zeros
}

// cudaTable is, by tensor, a table's copy on the device, or nil.
type cudaTable struct {
	windows []*cuda.Window
	bytes   int64
}

// speeds is what the first Loader on a device measured, by ordinal: a second one, for
// validation say, need not.
var speeds sync.Map

func openCUDA(name string) (device, error) {
	n := 0
	if s, ok := strings.CutPrefix(name, "cuda:"); ok {
		var err error
		if n, err = strconv.Atoi(s); err != nil || n < 0 {
			return nil, fmt.Errorf("device %q: want cuda:N", name)
		}
	} else if name != "cuda" {
		return nil, fmt.Errorf("device %q: want host, cuda:N or auto", name)
	}
	o := cuda.Options{Device: n}
	if v, ok := speeds.Load(n); ok {
		o.Speed = v.(*cuda.Speed)
	}
	gpu, err := cuda.Open(o)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, asOurs(err))
	}
	speed := gpu.Speed()
	speeds.Store(n, &speed)
	return &cudaDevice{gpu: gpu}, nil
}

// asOurs makes the sentinels of package cuda those of this one.
func asOurs(err error) error {
	switch {
	case errors.Is(err, cuda.ErrNoDriver):
		return fmt.Errorf("%w: %w", ErrNoDriver, err)
	case errors.Is(err, cuda.ErrNoDevice):
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	return err
}

func autoDevice() (device, error) {
	d, err := openCUDA("cuda:0")
	if errors.Is(err, ErrNoDriver) || errors.Is(err, ErrNoDevice) {
		return hostDevice{}, nil
	}
	return d, err
}

func (d *cudaDevice) describe(info *DeviceInfo) {
	i, s := d.gpu.Info(), d.gpu.Speed()
	info.Name, info.UUID, info.PCI, info.Library = i.Name, i.UUID, i.PCI, i.Library
	info.Driver, info.NUMA = int(i.Driver), i.NUMA
	info.Capability = [2]int{int(i.Capability[0]), int(i.Capability[1])}
	info.Multiprocessors, info.CopyEngines = int(i.Multiprocessors), int(i.CopyEngines)
	info.Memory, info.PinsReadOnly = int64(i.Memory), i.PinsReadOnly()
	info.Engine, info.Read, info.EngineRow = s.Engine, s.Read, s.EngineRow
	if free, _, err := d.gpu.MemoryInfo(); err == nil {
		info.Free = int64(free)
	}
}

func (d *cudaDevice) String() string { return d.gpu.String() }

func (d *cudaDevice) alloc(n, row int64) ([]byte, error) { return d.gpu.Alloc(n, row) }

func (d *cudaDevice) free(b []byte) { d.keep(d.gpu.Free(b)) }

// keep remembers the first error of calls that have none to return.
func (d *cudaDevice) keep(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err == nil {
		d.err = err
	}
}

func (d *cudaDevice) attach(s *deviceSlot) error {
	t := s.table
	o := cuda.SlotOptions{Tensors: make([]int64, len(t.data)), Casts: make([]*cuda.Cast, len(t.data)), Rows: t.rows}
	for i := range t.data {
		o.Tensors[i] = int64(len(t.data[i]))
		if k := t.caster(i); k != nil && onDevice(k) {
			o.Casts[i] = &cuda.Cast{From: k.from, To: k.to, Scale: k.scale, Shift: k.shift, Inner: int64(k.inner)}
		}
	}
	c, err := d.gpu.NewSlot(o)
	if err != nil {
		return err
	}
	s.state = &cudaSlot{Slot: c, gathered: make([]bool, len(t.data)), none: slices.Repeat([]int64{-1}, int(t.rows))}
	d.mu.Lock()
	d.slots++
	d.mu.Unlock()
	return nil
}

func (d *cudaDevice) reuse(ctx context.Context, s *deviceSlot) error {
	c := s.state.(*cudaSlot)
	clear(c.gathered)
	c.moves = c.moves[:0]
	return c.Reuse(ctx)
}

// gather leaves to the device the fields of fixed size: their rows are taken from
// the tables' copies there, or from host memory.
func (d *cudaDevice) gather(crew *crew, s *deviceSlot, rows int64, from, host []segment) error {
	t, c := s.table, s.state.(*cudaSlot)
	if err := layOutBatch(t, rows, host); err != nil {
		return err
	}
	n := int64(0)
	for i := range from {
		n += int64(len(from[i].rows))
	}
	for i := range t.layout.Tensors {
		spec := &t.layout.Tensors[i]
		if len(from) == 0 || !d.holds(spec, t.caster(i)) {
			continue
		}
		c.gathered[i] = true
		for j := range from {
			c.moves = append(c.moves, cuda.Move{Tensor: i, At: from[j].at, IDs: from[j].rows, From: tableSource(from[j].from, i)})
		}
		if n < rows {
			c.moves = append(c.moves, cuda.Move{Tensor: i, At: n, IDs: c.none[:rows-n], From: tableSource(from[0].from, i)})
		}
	}
	return copyBatch(crew, t, host, c.gathered)
}

// onDevice tells whether a kernel casts so. The others are cast on the host.
func onDevice(k *caster) bool { return cuda.Casts(k.from, k.to) && k.inner <= math.MaxInt32 }

// tableSource is the rows of tensor i of a table.
func tableSource(t *table, i int) cuda.Source {
	src := cuda.Source{Rows: t.counts[i], Row: t.layout.Tensors[i].Row}
	if c, ok := t.device.(*cudaTable); ok && c.windows[i] != nil {
		src.Window = c.windows[i]
	} else {
		src.Host = t.data[i]
	}
	return src
}

func (d *cudaDevice) send(s *deviceSlot, epoch int, step int64) error {
	t, c := s.table, s.state.(*cudaSlot)
	for i := range t.data {
		if !c.gathered[i] {
			c.moves = append(c.moves, cuda.Move{Tensor: i, Send: t.bytes(i)})
		}
	}
	return c.Fill(fmt.Sprintf("batch of epoch %d, step %d", epoch, step), c.moves)
}

func (d *cudaDevice) ready(s *deviceSlot, stream Stream) error {
	return s.state.(*cudaSlot).Ready(uintptr(stream))
}

func (d *cudaDevice) release(s *deviceSlot, stream Stream) error {
	return s.state.(*cudaSlot).Release(uintptr(stream))
}

func (d *cudaDevice) tensor(s *deviceSlot, i int) uintptr { return uintptr(s.state.(*cudaSlot).Ptr(i)) }

func (d *cudaDevice) detach(s *deviceSlot) {
	c, ok := s.state.(*cudaSlot)
	if !ok {
		return
	}
	s.state = nil
	d.keep(c.Close())
	d.mu.Lock()
	d.slots--
	d.mu.Unlock()
	d.end()
}

// close closes the device with the last slot: a consumer may still hold batches.
func (d *cudaDevice) close() error {
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

func (d *cudaDevice) end() {
	d.mu.Lock()
	last := d.closing && d.slots == 0
	d.mu.Unlock()
	if last {
		d.keep(d.gpu.Close())
	}
}

// holds: fields of fixed size, unless only the host casts them so.
func (d *cudaDevice) holds(spec *index.TensorSpec, k *caster) bool {
	return spec.Lead == index.LeadSamples && spec.Row > 0 && (k == nil || onDevice(k))
}

// filled copies the fields of fixed size of a table that is mirrored to the device.
// Batches then come from there at the rate of the device's memory, and all that
// crosses the link are these copies, at its best rate.
func (d *cudaDevice) filled(t *table) error {
	if !t.mirrored {
		return nil
	}
	c, ok := t.device.(*cudaTable)
	if !ok {
		var err error
		if c, err = d.newWindows(t, func(i int) int64 { return int64(len(t.data[i])) }); err != nil {
			return err
		}
	}
	for i, w := range c.windows {
		if w == nil {
			continue
		}
		if err := w.Load(0, t.bytes(i)); err != nil {
			return err
		}
	}
	return nil
}

// newWindows gives a table memory on the device: size bytes for each tensor.
func (d *cudaDevice) newWindows(t *table, size func(i int) int64) (*cudaTable, error) {
	c := &cudaTable{windows: make([]*cuda.Window, len(t.data))}
	for i := range t.data {
		n := size(i)
		if t.layout.Tensors[i].Lead != index.LeadSamples || n == 0 {
			continue
		}
		w, err := d.gpu.NewWindow(n)
		if err != nil {
			d.dropWindows(c)
			return nil, fmt.Errorf("%s of %s on %s: %w", shardify.FormatSize(n), t.layout.Tensors[i].Name, d, err)
		}
		c.windows[i] = w
		c.bytes += n
	}
	t.device = c
	if t.used != nil {
		t.used.device.Add(c.bytes)
	}
	return c, nil
}

func (d *cudaDevice) reserve(t *table) error {
	_, err := d.newWindows(t, func(i int) int64 {
		if !t.absent[i] {
			return 0
		}
		return t.counts[i] * t.layout.Tensors[i].Row
	})
	return err
}

func (d *cudaDevice) store(t, from *table, rows []copyRun) error {
	for i, w := range t.device.(*cudaTable).windows {
		if w == nil {
			continue
		}
		row := t.layout.Tensors[i].Row
		pieces := make([]cuda.Piece, len(rows))
		for k, r := range rows {
			pieces[k] = cuda.Piece{At: r.row * row, From: from.part(i, r.lo, r.hi)}
		}
		if err := w.LoadPieces(pieces); err != nil {
			return err
		}
	}
	return nil
}

func (d *cudaDevice) stored(ctx context.Context, t *table) error {
	for _, w := range t.device.(*cudaTable).windows {
		if w == nil {
			continue
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// refill waits until the table's memory may be written: until it was copied, or
// until what is gathered from it was.
func (d *cudaDevice) refill(ctx context.Context, t *table) error {
	if _, ok := t.device.(*cudaTable); ok {
		return d.stored(ctx, t)
	}
	return d.gpu.Drain(ctx)
}

func (d *cudaDevice) drop(t *table) {
	if c, ok := t.device.(*cudaTable); ok {
		d.dropWindows(c)
		if t.used != nil {
			t.used.device.Add(-c.bytes)
		}
	}
	t.device = nil
}

func (d *cudaDevice) dropWindows(c *cudaTable) {
	for _, w := range c.windows {
		if w != nil {
			d.keep(w.Close())
		}
	}
}
