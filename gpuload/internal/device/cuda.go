//go:build cuda && linux

package device

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
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
)

// CUDA delivers batches in the memory of an NVIDIA GPU.
type CUDA struct {
	Driver *cuda.Device

	mu      sync.Mutex
	slots   int // attached
	closing bool
	Err     error // the first of giving back
}

var _ GPU = (*CUDA)(nil) // one that lacked a method would be used as the host is

// CUDASlot is the device's part of a slot.
type CUDASlot struct {
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

func openCUDA(name string) (Device, error) {
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
	return &CUDA{Driver: gpu}, nil
}

// asOurs makes the sentinels of package cuda those of this one.
func asOurs(err error) error {
	switch {
	case errors.Is(err, cuda.ErrNoDriver):
		return fmt.Errorf("%w: %w", ErrNoDriver, err)
	case errors.Is(err, cuda.ErrNoDevice):
		return fmt.Errorf("%w: %w", ErrNoDevice, err)
	case errors.Is(err, cuda.ErrCapture):
		return fmt.Errorf("%w: %w", ErrCapture, err)
	}
	return err
}

func autoDevice() (Device, error) {
	d, err := openCUDA("cuda:0")
	if errors.Is(err, ErrNoDriver) || errors.Is(err, ErrNoDevice) {
		return Host{}, nil
	}
	return d, err
}

func (d *CUDA) Describe(info *Info) {
	i, s := d.Driver.Info(), d.Driver.Speed()
	info.Name, info.UUID, info.PCI, info.Library = i.Name, i.UUID, i.PCI, i.Library
	info.Driver, info.NUMA = int(i.Driver), i.NUMA
	info.Capability = [2]int{int(i.Capability[0]), int(i.Capability[1])}
	info.Multiprocessors, info.CopyEngines = int(i.Multiprocessors), int(i.CopyEngines)
	info.Memory, info.PinsReadOnly = int64(i.Memory), i.PinsReadOnly()
	info.Engine, info.Read, info.EngineRow = s.Engine, s.Read, s.EngineRow
	if free, _, err := d.Driver.MemoryInfo(); err == nil {
		info.Free = int64(free)
	}
}

func (d *CUDA) String() string { return d.Driver.String() }

func (d *CUDA) Alloc(n, row int64) ([]byte, error) { return d.Driver.Alloc(n, row) }

func (d *CUDA) Free(b []byte) { d.keep(d.Driver.Free(b)) }

// keep remembers the first error of calls that have none to return.
func (d *CUDA) keep(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Err == nil {
		d.Err = err
	}
}

func (d *CUDA) Attach(s *Slot) error {
	t := s.Table
	o := cuda.SlotOptions{Tensors: make([]int64, len(t.Data)), Casts: make([]*cuda.Cast, len(t.Data)), Rows: t.Rows}
	for i := range t.Data {
		o.Tensors[i] = int64(len(t.Data[i]))
		if k := t.Caster(i); k != nil && onDevice(k) {
			o.Casts[i] = &cuda.Cast{From: k.From, To: k.To, Scale: k.Scale, Shift: k.Shift, Inner: int64(k.Inner)}
		}
	}
	c, err := d.Driver.NewSlot(o)
	if err != nil {
		return err
	}
	s.State = &CUDASlot{Slot: c, gathered: make([]bool, len(t.Data)), none: slices.Repeat([]int64{-1}, int(t.Rows))}
	d.mu.Lock()
	d.slots++
	d.mu.Unlock()
	return nil
}

func (d *CUDA) Reuse(ctx context.Context, s *Slot) error {
	c := s.State.(*CUDASlot)
	clear(c.gathered)
	c.moves = c.moves[:0]
	return c.Reuse(ctx)
}

// Gather leaves to the device the fields of fixed size: their rows are taken from
// the tables' copies there, or from host memory.
func (d *CUDA) Gather(crew *load.Crew, s *Slot, rows int64, from, host []load.Segment) error {
	t, c := s.Table, s.State.(*CUDASlot)
	if err := load.LayOutBatch(t, rows, host); err != nil {
		return err
	}
	n := int64(0)
	for i := range from {
		n += int64(len(from[i].Rows))
	}
	for i := range t.Layout.Tensors {
		spec := &t.Layout.Tensors[i]
		if len(from) == 0 || !d.Holds(spec, t.Caster(i)) {
			continue
		}
		c.gathered[i] = true
		for j := range from {
			c.moves = append(c.moves, cuda.Move{Tensor: i, At: from[j].At, IDs: from[j].Rows, From: tableSource(from[j].From, i)})
		}
		if n < rows {
			c.moves = append(c.moves, cuda.Move{Tensor: i, At: n, IDs: c.none[:rows-n], From: tableSource(from[0].From, i)})
		}
	}
	return load.CopyBatch(crew, t, host, c.gathered)
}

// onDevice tells whether a kernel casts so. The others are cast on the host.
func onDevice(k *load.Caster) bool { return cuda.Casts(k.From, k.To) && k.Inner <= math.MaxInt32 }

// tableSource is the rows of tensor i of a table.
func tableSource(t *load.Table, i int) cuda.Source {
	src := cuda.Source{Rows: t.Counts[i], Row: t.Layout.Tensors[i].Row}
	if c, ok := t.Device.(*cudaTable); ok && c.windows[i] != nil {
		src.Window = c.windows[i]
	} else {
		src.Host = t.Data[i]
	}
	return src
}

func (d *CUDA) Send(s *Slot, epoch int, step int64) error {
	t, c := s.Table, s.State.(*CUDASlot)
	for i := range t.Data {
		if !c.gathered[i] {
			c.moves = append(c.moves, cuda.Move{Tensor: i, Send: t.Bytes(i)})
		}
	}
	return c.Fill(fmt.Sprintf("batch of epoch %d, step %d", epoch, step), c.moves)
}

func (d *CUDA) Ready(s *Slot, stream Stream) error {
	return asOurs(s.State.(*CUDASlot).Ready(uintptr(stream)))
}

func (d *CUDA) Use(s *Slot, stream Stream) error {
	return s.State.(*CUDASlot).Use(uintptr(stream))
}

func (d *CUDA) Leave(s *Slot, stream Stream) error {
	return asOurs(s.State.(*CUDASlot).Leave(uintptr(stream)))
}

func (d *CUDA) CopyOut(s *Slot, stream Stream, list []Out) error {
	all := make([]cuda.Out, len(list))
	for i, o := range list {
		all[i] = cuda.Out{Tensor: o.Tensor, To: uint64(o.To), Bytes: o.Bytes}
	}
	return asOurs(s.State.(*CUDASlot).CopyOut(uintptr(stream), all))
}

func (d *CUDA) Place(at uintptr) error { return d.Driver.Place(uint64(at)) }

func (d *CUDA) Release(s *Slot, streams ...Stream) error {
	list := make([]uintptr, len(streams))
	for i := range streams {
		list[i] = uintptr(streams[i])
	}
	return asOurs(s.State.(*CUDASlot).Release(list...))
}

func (d *CUDA) Tensor(s *Slot, i int) uintptr { return uintptr(s.State.(*CUDASlot).Ptr(i)) }

func (d *CUDA) Detach(s *Slot) {
	c, ok := s.State.(*CUDASlot)
	if !ok {
		return
	}
	s.State = nil
	d.keep(c.Close())
	d.mu.Lock()
	d.slots--
	d.mu.Unlock()
	d.end()
}

// Close closes the device with the last slot: a consumer may still hold batches.
func (d *CUDA) Close() error {
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Err
}

func (d *CUDA) end() {
	d.mu.Lock()
	last := d.closing && d.slots == 0
	d.mu.Unlock()
	if last {
		d.keep(d.Driver.Close())
	}
}

// Holds: fields of fixed size, unless only the host casts them so.
func (d *CUDA) Holds(spec *index.TensorSpec, k *load.Caster) bool {
	return spec.Lead == index.LeadSamples && spec.Row > 0 && (k == nil || onDevice(k))
}

// Filled copies the fields of fixed size of a table that is mirrored to the device.
// Batches then come from there at the rate of the device's memory, and all that
// crosses the link are these copies, at its best rate.
func (d *CUDA) Filled(t *load.Table) error {
	if !t.Mirrored {
		return nil
	}
	c, ok := t.Device.(*cudaTable)
	if !ok {
		var err error
		if c, err = d.newWindows(t, func(i int) int64 { return int64(len(t.Data[i])) }); err != nil {
			return err
		}
	}
	for i, w := range c.windows {
		if w == nil {
			continue
		}
		if err := w.Load(0, t.Bytes(i)); err != nil {
			return err
		}
	}
	return nil
}

// newWindows gives a table memory on the device: size bytes for each tensor.
func (d *CUDA) newWindows(t *load.Table, size func(i int) int64) (*cudaTable, error) {
	c := &cudaTable{windows: make([]*cuda.Window, len(t.Data))}
	for i := range t.Data {
		n := size(i)
		if t.Layout.Tensors[i].Lead != index.LeadSamples || n == 0 {
			continue
		}
		w, err := d.Driver.NewWindow(n)
		if err != nil {
			d.dropWindows(c)
			return nil, fmt.Errorf("%s of %s on %s: %w", shardify.FormatSize(n), t.Layout.Tensors[i].Name, d, err)
		}
		c.windows[i] = w
		c.bytes += n
	}
	t.Device = c
	if t.Used != nil {
		t.Used.Device.Add(c.bytes)
	}
	return c, nil
}

func (d *CUDA) Reserve(t *load.Table) error {
	_, err := d.newWindows(t, func(i int) int64 {
		if !t.Absent[i] {
			return 0
		}
		return t.Counts[i] * t.Layout.Tensors[i].Row
	})
	return err
}

func (d *CUDA) Store(t, from *load.Table, rows []CopyRun) error {
	for i, w := range t.Device.(*cudaTable).windows {
		if w == nil {
			continue
		}
		row := t.Layout.Tensors[i].Row
		pieces := make([]cuda.Piece, len(rows))
		for k, r := range rows {
			pieces[k] = cuda.Piece{At: r.Row * row, From: from.Part(i, r.Lo, r.Hi)}
		}
		if err := w.LoadPieces(pieces); err != nil {
			return err
		}
	}
	return nil
}

func (d *CUDA) Stored(ctx context.Context, t *load.Table) error {
	for _, w := range t.Device.(*cudaTable).windows {
		if w == nil {
			continue
		}
		if err := w.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Refill waits until the table's memory may be written: until it was copied, or
// until what is gathered from it was.
func (d *CUDA) Refill(ctx context.Context, t *load.Table) error {
	if _, ok := t.Device.(*cudaTable); ok {
		return d.Stored(ctx, t)
	}
	return d.Driver.Drain(ctx)
}

func (d *CUDA) Drop(t *load.Table) {
	if c, ok := t.Device.(*cudaTable); ok {
		d.dropWindows(c)
		if t.Used != nil {
			t.Used.Device.Add(-c.bytes)
		}
	}
	t.Device = nil
}

func (d *CUDA) dropWindows(c *cudaTable) {
	for _, w := range c.windows {
		if w != nil {
			d.keep(w.Close())
		}
	}
}
